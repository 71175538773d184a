"""The key that evidence is believed under: from a person's file, or from the base's own history.

Never from the pull request, the evidence or the service that made it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.domain.evidence import Finding, Holds
from app.domain.repo_config import CONFIG_PATH, ConfigError
from worker.attest.keys import key_from, key_in
from worker.attest.signing import KEY_CAP, key_id
from worker.attest.statement import PREDICATE_TYPE
from worker.attest.verify import NotVerified
from worker.config_file import load, placed
from worker.local.evidence import Evidence
from worker.local.files import read_file

CLAIM = "There is a key to trust that is not the service's word"
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class NoKey(ValueError):
    """The reader's own file holds no key, which says nothing about the evidence."""


@dataclass(frozen=True)
class Root:
    """The key, and the finding that says where it is from."""

    key: Ed25519PublicKey | None
    finding: Finding


def of_file(path: Path) -> Root:
    """A public key that the reader has. Raises `NoKey`, `Unreadable`."""
    data = read_file(path, "key", "ask who signs for it, or leave --key out", KEY_CAP)
    try:
        key = key_in(data.decode("utf-8", "replace"))
    except NotVerified as wrong:  # the reader's file, not the evidence
        raise NoKey(f"{path}: {wrong}") from None
    return Root(key, Finding(CLAIM, Holds.HOLDS, (f"{key_id(key)}, from {path}.",)))


def of_base(evidence: Evidence) -> Root:
    """The key line of the configuration at the base commit that the evidence claims to stand on.

    The claim is not believed: the commit must lie in the history of the branch that changes go
    to, so that nobody without the right to write there can have chosen the key."""
    base = _claimed_base(evidence.envelopes)
    place = evidence.place
    if place is None or not evidence.branch:
        return _none("Nothing but a file is at hand: name the operator's key with --key FILE.")
    if not base:
        return _none("The evidence names no base commit.")
    inside = place.contains(base, evidence.branch)
    if not inside:
        why = "is not in the history of" if inside is False else "cannot be looked up on"
        return _none(f"The base {base[:12]} {why} {evidence.branch}, so its key line counts not.")
    data = place.file(CONFIG_PATH, base)
    if data is None:
        return _none(f"There is no {CONFIG_PATH} at the base {base[:12]}: use --key FILE.")
    try:
        line = _line(load(data))
        key = key_from(line) if line else None
    except (ConfigError, NotVerified) as wrong:
        where = f"{CONFIG_PATH} at the base {base[:12]}"
        return _none(placed(ConfigError(str(wrong)), where))
    if key is None:
        return _none(
            f"{CONFIG_PATH} at the base {base[:12]} has no line `evidence: {{key: …}}`: "
            "use --key FILE."
        )
    set_by = place.last_change(CONFIG_PATH, base) or "whose author could not be looked up"
    said = [
        f"{key_id(key)}, from {CONFIG_PATH} at base {base[:12]} on {evidence.branch}; "
        f"the file as it is there: {set_by}."
    ]
    if evidence.warning:
        said.append(evidence.warning)
    return Root(key, Finding(CLAIM, Holds.HOLDS, tuple(said)))


def _none(why: str) -> Root:
    return Root(None, Finding(CLAIM, Holds.UNKNOWN, (why,)))


def _line(mapping: Mapping[str, Any]) -> str:
    """The key line alone: the rest of the file may be of another version than this program."""
    found = mapping.get("evidence")
    key = found.get("key") if isinstance(found, Mapping) else None
    return key if isinstance(key, str) else ""


def _claimed_base(envelopes: Sequence[Mapping[str, Any]]) -> str:
    """The base commit as the evidence claims it, before anything is verified; "" without one."""
    for envelope in envelopes:
        try:
            statement = json.loads(base64.b64decode(envelope["payload"]))
            if statement["predicateType"] == PREDICATE_TYPE:
                base = statement["predicate"]["base"]["gitCommit"]
                return base if isinstance(base, str) and _OBJECT.fullmatch(base) else ""
        except (KeyError, TypeError, ValueError, binascii.Error, RecursionError):
            continue
    return ""
