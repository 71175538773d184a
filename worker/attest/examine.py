"""Evidence examined by a stranger: every claim with its standing, and where it stops to hold.

Pure: what git or GitHub say is handed in. Only bytes under a good signature are believed; parts of
a bundle are believed where their digest is in a signed statement. Unknown is never holds.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.domain import chain
from app.domain.evidence import Finding, Holds
from worker.attest.bundle import Bundle
from worker.attest.canonical import digest
from worker.attest.signing import key_id
from worker.attest.statement import PREDICATE_TYPE
from worker.attest.testresult import TEST_RESULT_TYPE
from worker.attest.verify import NotVerified, subjects, verify

JUDGED = ("verify", "recheck", "update")  # kinds whose commits others made, or can build on
# What genuine evidence can say of its change; every other claim is about the evidence itself.
FRESH = "The evidence is about the present head"
PASSED = "The verdict is passed"
SIGNED = "The evidence is signed"
NAMES = {PREDICATE_TYPE: "evidence", TEST_RESULT_TYPE: "test result"}


@dataclass(frozen=True)
class Signed:
    """What two good envelopes say: the tree and commit that both name, and the predicates."""

    tree: str
    commit: str
    evidence: Mapping[str, Any]
    result: Mapping[str, Any]


def unsigned(envelopes: Sequence[Mapping[str, Any]]) -> Finding | None:
    """That nobody vouches for any of the statements; None where a signature is to be looked at."""
    if not envelopes or any(one.get("signatures") != [] for one in envelopes):
        return None
    said = "It carries no signature at all: it was made without a key, or they were taken out."
    return Finding(SIGNED, Holds.FAILS, (said,))


def signatures(
    envelopes: Sequence[Mapping[str, Any]], key: Ed25519PublicKey
) -> tuple[Finding, Signed | None]:
    """Whether there are exactly the two statements, each signed by `key` in its one right form,
    about the same subjects and with the same result."""
    claim = "Both statements are signed by the trusted key"
    if len(envelopes) != len(NAMES):
        said = f"There are {len(envelopes)} signed statements, not {len(NAMES)}."
        return Finding(claim, Holds.FAILS, (said,)), None
    found: dict[str, Mapping[str, Any]] = {}
    faults: list[str] = []
    for kind, name in NAMES.items():
        statement, fault = _one(envelopes, key, kind)
        if statement is None:
            faults.append(f"The statement `{name}`: {fault}")
        else:
            found[kind] = statement
    if faults:
        return Finding(claim, Holds.FAILS, tuple(faults)), None
    evidence, result = found[PREDICATE_TYPE], found[TEST_RESULT_TYPE]
    disagree = _disagree(evidence, result)
    if disagree:
        return Finding(claim, Holds.FAILS, (disagree,)), None
    tree, commit = subjects(evidence)
    signed = Signed(tree, commit, evidence["predicate"], result["predicate"])
    return Finding(claim, Holds.HOLDS, (f"Key {key_id(key)}.",)), signed


def _one(
    envelopes: Sequence[Mapping[str, Any]], key: Ed25519PublicKey, kind: str
) -> tuple[Mapping[str, Any] | None, str]:
    """The statement of one kind, or why there is none."""
    faults = []
    for envelope in envelopes:
        try:
            statement = verify(envelope, key, kind)
            _strict(envelope, key)
        except NotVerified as why:
            faults.append(str(why))
        else:
            return statement, ""
    other = f"The statement is not of type {kind}."
    return None, next((fault for fault in faults if fault != other), other)


def _strict(envelope: Mapping[str, Any], key: Ed25519PublicKey) -> None:
    """Raise `NotVerified` where the envelope could be written in another way and still be good:
    ours has one signature, which names its key, and base64 without loose bits."""
    (signature, *more) = envelope["signatures"]
    if more or envelope.keys() != {"payload", "payloadType", "signatures"}:
        raise NotVerified("The envelope holds more than one signature, or odd keys.")
    if signature.keys() != {"keyid", "sig"} or signature["keyid"] != key_id(key):
        raise NotVerified(f"The signature names another key than {key_id(key)}.")
    for name, text in (("payload", envelope["payload"]), ("signature", signature["sig"])):
        try:
            loose = base64.b64encode(base64.b64decode(text, validate=True)).decode() != text
        except (binascii.Error, ValueError):
            loose = True
        if loose:
            raise NotVerified(f"The {name} is not in the one right form of base64.")


def _disagree(evidence: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    if evidence["subject"] != result["subject"]:
        return "The two statements are about different subjects."
    one, other = evidence["predicate"].get("result"), result["predicate"].get("result")
    if (one == "PASSED") != (other == "PASSED"):
        return f"The evidence says {one}, the test result {other}."
    return ""


def same_tree(signed: Signed, tree: str, where: str) -> Finding:
    """The commit has exactly the tree that was checked; `tree` "" where nobody looked."""
    claim = "The commit's tree is, bit for bit, the tree that was checked"
    if not tree:
        return Finding(claim, Holds.UNKNOWN, (f"The commit was not looked up: {where}.",))
    if tree != signed.tree:
        said = f"The commit {signed.commit} has the tree {tree}; checked was {signed.tree}."
        return Finding(claim, Holds.FAILS, (said,))
    return Finding(claim, Holds.HOLDS, (f"Tree {tree} of commit {signed.commit}, by {where}.",))


def fresh(signed: Signed, head: str, where: str) -> Finding:
    """The evidence is about what is there now; `head` "" where nobody looked."""
    claim = FRESH
    if not head:
        return Finding(claim, Holds.UNKNOWN, (f"The head is not known: {where}.",))
    if head != signed.commit:
        said = f"Stale: the head is {head} now; the evidence is about {signed.commit}."
        return Finding(claim, Holds.FAILS, (said,))
    return Finding(claim, Holds.HOLDS, (f"Head {head}.",))


def made_by_us(signed: Signed) -> bool:
    """Whether the commit was made by the run itself, so that its parent is known."""
    return at(signed.evidence, "run", "kind") not in ("verify", "recheck")


def written_by_us(signed: Signed) -> bool:
    """Whether the pull request's body holds our words about this evidence."""
    return bool(at(signed.evidence, "run", "kind") != "verify")


def based(signed: Signed, parents: Sequence[str] | None) -> Finding:
    """The commit stands on the base that the checks were compared with; a revision's, and one that
    lets workflows run, on the head of the pull request."""
    claim = "The commit stands on the base that the evidence names"
    unheld = at(signed.evidence, "unhold", "parent")
    parent = unheld or at(signed.evidence, "revision", "parent")
    if parent:
        claim = "The commit stands on the head that the evidence names"
    base = str(parent or at(signed.evidence, "base", "gitCommit"))
    if parents is None:
        return Finding(claim, Holds.UNKNOWN, ("The commit was not looked up.",))
    if base not in parents:
        said = f"Its parents are {', '.join(parents) or 'none'}, not {base}."
        return Finding(claim, Holds.FAILS, (said,))
    return Finding(claim, Holds.HOLDS, (f"Base {base}.",))


def ruled(signed: Signed, branch: str, parted: str, inside: bool | None) -> Finding:
    """The rules and checks are those of the branch that the change goes to, not of another one and
    not older ones. `parted` is the commit where the head parted from `branch`, "" where nobody can
    tell; `inside` says whether the base lies in the history of `branch` (None: not known).

    A change of ours begins at a commit of the branch and is not moved; what somebody else made is
    compared with where it parted, so that nobody chooses the rules by naming another branch."""
    claim = "The rules are those of the branch that the change goes to"
    base = str(at(signed.evidence, "base", "gitCommit"))
    named = str(at(signed.evidence, "base", "branch"))
    if not branch:
        return Finding(claim, Holds.UNKNOWN, ("That branch is not known here: name it.",))
    if at(signed.evidence, "run", "kind") not in JUDGED:
        said = f"The base {base[:12]} is not in the history of {branch}: other rules were used."
        if inside is None:
            return Finding(claim, Holds.UNKNOWN, (f"{branch} could not be looked at.",))
        return Finding(claim, Holds.HOLDS if inside else Holds.FAILS, () if inside else (said,))
    if not parted:
        said = f"Where the head parted from {branch} cannot be told here."
        return Finding(claim, Holds.UNKNOWN, (said,))
    if parted != base:
        said = (
            f"It was made under the rules of {base[:12]} ({named!r}), another branch or an older "
            f"base: the head parted from {branch} at {parted[:12]}."
        )
        return Finding(claim, Holds.FAILS, (said,))
    return Finding(claim, Holds.HOLDS, (f"The head parted from {branch} at {parted[:12]}.",))


def belongs(signed: Signed, repository: tuple[int, str], branch: str) -> Finding:
    """The evidence is about a change to this branch of this repository, (id, full name)."""
    claim = "The evidence is about this repository and branch"
    number, name = (at(signed.evidence, "repository", key) for key in ("id", "name"))
    faults = []
    same = str(name).casefold() == repository[1].casefold()
    if number and repository[0]:  # it stays where the name changes
        same = number == repository[0]
    if not same:
        faults.append(f"It is about {name}; this is {repository[1]}.")
    named = at(signed.evidence, "base", "branch")
    if named != branch:
        faults.append(f"It is about a change to {named!r}; the pull request goes to {branch!r}.")
    return _said(claim, faults)


def verdict(signed: Signed) -> Finding:
    """What the evidence says of the change."""
    claim = PASSED
    result, wall = signed.evidence.get("result"), signed.evidence.get("wall")
    if result == "PASSED":
        return Finding(claim, Holds.HOLDS)
    return Finding(claim, Holds.FAILS, (f"It is {str(result).lower()}: {wall}",))


def whole(signed: Signed, bundle: Bundle) -> Finding:
    """Every part of the bundle is what was signed."""
    run = str(at(signed.evidence, "run", "id"))
    named = Finding(
        "The bundle is about this run",
        Holds.HOLDS if bundle.run == run else Holds.FAILS,
        () if bundle.run == run else (f"It names the run {bundle.run!r}, signed is {run!r}.",),
    )
    found = (named, _parts(signed, bundle), _journal(signed, bundle), _records(bundle))
    standings = {one.standing for one in found}
    worst = next((one for one in (Holds.FAILS, Holds.UNKNOWN) if one in standings), Holds.HOLDS)
    return Finding("Every part of the bundle is what was signed", worst, parts=found)


def _parts(signed: Signed, bundle: Bundle) -> Finding:
    claim = "Contract, plan, checks, findings and results are what was signed"
    kept = signed.evidence.get("parts")
    if not isinstance(kept, Mapping) or kept.keys() != bundle.parts.keys():
        return Finding(claim, Holds.FAILS, ("The bundle has other parts than were signed.",))
    faults = [f"`{name}`{_inside(name, part, signed)}" for name, part in bundle.parts.items()
              if digest(part) != kept[name]]  # fmt: skip
    return _said(claim, [f"{fault} is not what was signed." for fault in faults])


def _inside(name: str, part: Any, signed: Signed) -> str:
    """Where in a list of results the difference is, as far as the statement tells."""
    if name != "baseline" or not isinstance(part, list):
        return ""
    checks = signed.evidence.get("checks")
    kept = {
        one.get("name"): at(one, "baseline", "record")
        for one in (checks if isinstance(checks, list) else [])
        if isinstance(one, Mapping)
    }
    for one in part:
        check = one.get("check") if isinstance(one, dict) else None
        if kept.get(check) != digest(one):
            return f" (check {check!r})"
    return ""


def _journal(signed: Signed, bundle: Bundle) -> Finding:
    claim = "The journal is complete and in order"
    run = str(at(signed.evidence, "run", "id"))
    count, head = (
        at(signed.evidence, "journal", "entries"),
        at(signed.evidence, "journal", "head"),
    )
    if len(bundle.journal) != count:
        said = f"The bundle lists {len(bundle.journal)} entries; signed were {count}."
        return Finding(claim, Holds.FAILS, (said,))
    if chain.head(run, bundle.journal) != head:
        said = "An entry was changed, moved or replaced: the chain ends in another digest."
        return Finding(claim, Holds.FAILS, (said,))
    return Finding(claim, Holds.HOLDS, (f"{count} entries.",))


def _records(bundle: Bundle) -> Finding:
    claim = "The check records are those of the journal"
    known = {link.id: link for link in bundle.journal}
    faults = []
    for name, data in bundle.records:
        link = known.get(name)
        if link is None or link.kind != "check" or link.sha256 != digest(data):
            faults.append(f"The record {name} ({data.get('check')!r}) is not the journal's.")
    names = [name for name, _ in bundle.records]
    twice = sorted({name for name in names if names.count(name) > 1})
    faults += [f"The record {name} is there more than once." for name in twice]
    checks = sum(link.kind == "check" for link in bundle.journal)
    if bundle.records and len(bundle.records) != checks:
        faults.append(f"There are {len(bundle.records)} records of {checks} checks that ran.")
    if checks and not bundle.records:  # left out where they would be too many, or by somebody
        said = f"The records of {checks} checks that ran are not in the bundle."
        return Finding(claim, Holds.UNKNOWN, (said,))
    return _said(claim, faults)


def _said(claim: str, faults: Sequence[str]) -> Finding:
    return Finding(claim, Holds.FAILS if faults else Holds.HOLDS, tuple(faults[:20]))


def at(value: Mapping[str, Any], *names: str) -> Any:
    """A value deep inside, None where the way there is missing."""
    here: Any = value
    for name in names:
        here = here.get(name) if isinstance(here, Mapping) else None
    return here
