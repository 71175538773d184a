"""Where evidence about a change is found, and what git or GitHub say about that change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from app.domain.evidence import Finding, Holds
from app.domain.report import Marker, body_marker
from worker.attest import bundle
from worker.attest.bundle import Bundle, NotABundle
from worker.attest.canonical import canonical
from worker.local.files import read_file
from worker.local.github import GitHub, Pull
from worker.local.repository import NotFound, Repository


class Place(Protocol):
    """What knows the commits: a repository on this machine, or GitHub."""

    name: str

    def tree_of(self, commit: str) -> str: ...

    def fault(self, commit: str) -> str: ...

    def parents(self, commit: str) -> tuple[str, ...] | None: ...

    def contains(self, commit: str, branch: str) -> bool | None: ...

    def file(self, path: str, commit: str) -> bytes | None: ...

    def last_change(self, path: str, commit: str) -> str: ...

    def parted(self, commit: str, branch: str) -> str: ...


@dataclass(frozen=True)
class Evidence:
    """What somebody shows, not believed yet, and where the truth about it can be looked up.

    `head` is the present head, "" where none is known; `branch` the one that changes go to, `tip`
    where it stood before it took this change ("" where it did not); `repository` is the id and
    full name of a pull request's repository;
    `warning` says what is odd about that; `body` are findings about a pull request's text; `url` is
    where its commits can be fetched, with `token` where one is needed.
    """

    envelopes: tuple[Mapping[str, Any], ...]
    shown: str
    place: Place | None = None
    head: str = ""
    branch: str = ""
    tip: str = ""
    repository: tuple[int, str] | None = None
    warning: str = ""
    bundle: Bundle | None = None
    bundle_sha: str = ""
    marker: Marker | None = None
    body: tuple[Finding, ...] = ()
    url: str = ""
    token: str = field(default="", repr=False)


def of_file(path: Path, repository: Repository | None, branch: str) -> Evidence:
    """A bundle's file. Raises `NotABundle`, `Unreadable`."""
    data = _read(path)
    found = bundle.read(data)
    made = Evidence(
        envelopes=found.envelopes,
        shown=str(path),
        bundle=found,
        bundle_sha=hashlib.sha256(data).hexdigest(),
    )
    return made if repository is None else _in(made, repository, branch)


def of_repository(repository: Repository, branch: str) -> Evidence:
    """What `patchwarrant check` kept about the repository's present head. Raises `NotFound`."""
    path = repository.folder / "patchwarrant" / f"{repository.head()}.json"
    if not path.is_file():
        raise NotFound(
            f"There is no evidence about the present head ({path}): `patchwarrant check` makes "
            "it, or name a bundle's file."
        )
    return of_file(path, repository, branch)


def _read(path: Path) -> bytes:
    cure = (
        "name a bundle's file, a pull request by its address (https://…), or a repository (--repo)"
    )
    return read_file(path, "bundle", cure, bundle.SIZE + 1)


def _in(made: Evidence, repository: Repository, branch: str) -> Evidence:
    try:
        name = f"refs/heads/{branch}" if branch else repository.default_branch()
    except NotFound:
        name = ""
    return replace(made, place=repository, head=repository.head(), branch=name)


def of_pull(hub: GitHub, file: Path | None) -> Evidence:
    """A pull request's check run and body; `file` is the bundle where somebody has it. Raises
    `NotFound`, `Away`, `NotABundle`, `Unreadable`."""
    pull = hub.pull()
    marker, text = body_marker(pull.body)
    lines, attached = hub.evidence(pull.head, pull.base_branch)
    if not lines and marker is not None and marker.commit != pull.head:
        # Somebody pushed since: it is examined all the same, and then called stale.
        lines, attached = hub.evidence(marker.commit, pull.base_branch)
    if not lines:
        raise NotFound(
            f"No check run `patchwarrant/evidence` with signed statements is on {pull.head[:12]}."
        )
    warning = ""
    if pull.base_branch != pull.default_branch:
        warning = (
            f"The pull request goes to {pull.base_branch!r}, which is not the default branch "
            f"{pull.default_branch!r}."
        )
    data = _read(file) if file else bundle.unpacked(attached) if attached else b""
    return Evidence(
        envelopes=tuple(_envelope(line) for line in lines),
        shown=f"pull request {hub.number} of {hub.name}",
        place=hub,
        head=pull.head,
        branch=pull.base_branch,
        tip=_before(hub, pull),
        repository=(pull.repository, pull.full_name),
        warning=warning,
        bundle=bundle.read(data) if data else None,
        bundle_sha=hashlib.sha256(data).hexdigest() if data else "",
        marker=marker,
        body=_body(marker, text),
        url=pull.clone_url,
        token=hub.token_for(pull.clone_url),
    )


def _before(hub: GitHub, pull: Pull) -> str:
    """Where the base branch stood before a merged pull request was merged, "" for an open one."""
    parents = hub.parents(pull.merged_as) if pull.merged_as else None
    return parents[0] if parents else ""


def _envelope(line: str) -> Mapping[str, Any]:
    """One line of the check run, in its one right form. Raises `NotABundle`."""
    try:
        found = json.loads(line)
        right = isinstance(found, dict) and canonical(found) == line.encode()
    except (ValueError, RecursionError):
        right = False
    if not right:
        raise NotABundle("The check run: a signed statement there is not as it was written.")
    return dict(found)


def _body(marker: Marker | None, text: str) -> tuple[Finding, ...]:
    claim = "The pull request's text is as it was written"
    if marker is None:
        said = "Its evidence marker is missing, twice there, or was changed."
        return (Finding(claim, Holds.FAILS, (said,)),)
    if marker.text != text:
        said = "Our part of it was edited since, or its marker was."
        return (Finding(claim, Holds.FAILS, (said,)),)
    return (Finding(claim, Holds.HOLDS),)


def names(evidence: Evidence, tree: str, commit: str) -> Finding | None:
    """Whether the pull request's marker names this very evidence; None where there is no marker."""
    marker = evidence.marker
    if marker is None:
        return None
    envelope = hashlib.sha256(_evidence_line(evidence.envelopes)).hexdigest()
    wanted = {
        "tree": (marker.tree, tree),
        "commit": (marker.commit, commit),
        "envelope": (marker.envelope, envelope),
    }
    if evidence.bundle_sha:
        wanted["bundle"] = (marker.bundle, evidence.bundle_sha)
    faults = [
        f"Its marker names the {what} {said[:64]}, the evidence is {true}."
        for what, (said, true) in wanted.items()
        if said != true
    ]
    claim = "The pull request's text names this evidence"
    return Finding(claim, Holds.FAILS if faults else Holds.HOLDS, tuple(faults))


def _evidence_line(envelopes: Sequence[Mapping[str, Any]]) -> bytes:
    """Our own evidence stands first."""
    return canonical(envelopes[0]) if envelopes else b""
