"""Verifying an envelope offline: the signature first, then only the bytes that it covers."""

from __future__ import annotations

import binascii
import copy
import json
import re
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import FormatError, VerificationError

from worker.attest.signing import PAYLOAD_TYPE, key_id, key_of
from worker.attest.statement import PREDICATE_TYPE, STATEMENT_TYPE

SIGNATURES = 16  # more than anyone adds honestly
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class NotVerified(ValueError):
    """The envelope proves nothing under this key; the text says why."""


def public_key(pem: str) -> Ed25519PublicKey:
    """An Ed25519 public key from its PEM. Raises `NotVerified`."""
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise NotVerified("The key is no PEM public key.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise NotVerified("The key is no Ed25519 key.")
    return key


def verify(
    envelope: Mapping[str, Any], key: Ed25519PublicKey, kind: str = PREDICATE_TYPE
) -> dict[str, Any]:
    """The statement of predicate type `kind` that `key` signed. Raises `NotVerified` for anything
    else.

    Key ids in the envelope are hints: every signature is tried. Nothing but the verified bytes is
    parsed.
    """
    payload = _signed_payload(envelope, key)
    try:
        statement = json.loads(payload, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise NotVerified("What was signed is not JSON with each key once.") from None
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise NotVerified("What was signed is no in-toto statement of version 1.")
    if statement.get("predicateType") != kind:
        raise NotVerified(f"The statement is not of type {kind}.")
    subjects(statement)
    if not isinstance(statement.get("predicate"), dict):
        raise NotVerified("The statement has no predicate.")
    return statement


def subjects(statement: Mapping[str, Any]) -> tuple[str, str]:
    """(git tree, git commit) that a verified statement is about. Raises `NotVerified`."""
    try:
        (subject,) = statement["subject"]
        tree, commit = subject["digest"]["gitTree"], subject["digest"]["gitCommit"]
    except (KeyError, TypeError, ValueError):
        raise NotVerified("The statement does not name one tree and one commit.") from None
    for name in (tree, commit):
        if not isinstance(name, str) or not _OBJECT.fullmatch(name):
            raise NotVerified("The statement's tree or commit is no git object id.")
    return tree, commit


def _signed_payload(envelope: Mapping[str, Any], key: Ed25519PublicKey) -> bytes:
    if envelope.get("payloadType") != PAYLOAD_TYPE:
        raise NotVerified(f"The envelope's payload type is not {PAYLOAD_TYPE}.")
    if not isinstance(envelope.get("payload"), str):
        raise NotVerified("The envelope has no payload.")
    signatures = envelope.get("signatures")
    if not isinstance(signatures, list) or not 1 <= len(signatures) <= SIGNATURES:
        raise NotVerified(f"The envelope has not 1 to {SIGNATURES} signatures.")
    for signature in signatures:
        if not isinstance(signature, dict) or not isinstance(signature.get("sig"), str):
            raise NotVerified("A signature of the envelope has not the right shape.")
        # The library skips a signature whose key id differs from the key's, and it takes one
        # signature a key id: so each is tried alone, under the id of the key that we trust.
        tried = {**envelope, "signatures": [{**signature, "keyid": key_id(key)}]}
        try:
            parsed = Envelope.from_dict(copy.deepcopy(tried))  # it changes what it is given
            parsed.verify([key_of(key)], 1)
        except VerificationError:
            continue
        except (FormatError, KeyError, TypeError, ValueError, binascii.Error):
            raise NotVerified("The envelope is not well formed.") from None
        payload: bytes = parsed.payload
        return payload
    raise NotVerified("No signature of the envelope is by this key.")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different, so that no two readers see two statements."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
