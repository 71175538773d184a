"""What in a report is for whoever verifies it: markers, the signed statements, the bundle.

Written here and read back here, so that both sides agree on every character.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

from app.domain.markdown import details
from app.domain.report_facts import ATTACHED, ENVELOPES, Facts
from app.domain.run import Run

STATEMENTS = "Signed statements"
BUNDLE = "The bundle, gzip in base64"
START = re.compile(r"<!-- patchwarrant:body:([A-Za-z0-9_.-]{1,80}) -->")
OURS = re.compile(r"<!--\s*/?\s*patchwarrant:", re.IGNORECASE)
_ED25519 = bytes.fromhex("302a300506032b6570032100")  # what stands before the 32 bytes (RFC 8410)
_EVIDENCE = re.compile(r"<!-- patchwarrant:evidence:([0-9a-f:]{1,400}) -->")


@dataclass(frozen=True)
class Marker:
    """What the body's hidden line names: git tree and commit, SHA-256 of the evidence's envelope,
    of the bundle, and of the text that we wrote around it."""

    tree: str
    commit: str
    envelope: str
    bundle: str
    text: str


def key_of_line(line: str) -> str:
    """The key id (`sha256:` over the SubjectPublicKeyInfo) of a key line that the configuration
    names, "" without one."""
    if not line:
        return ""
    raw = base64.b64decode(line.partition(":")[2])
    return f"sha256:{hashlib.sha256(_ED25519 + raw).hexdigest()}"


def marks(run: str) -> tuple[str, str]:
    """The markers around our part of the body."""
    return f"<!-- patchwarrant:body:{run} -->", f"<!-- /patchwarrant:body:{run} -->"


def marker_line(run: Run, facts: Facts, body: str) -> str:
    """The hidden line that binds the body to the evidence, "" before there is any."""
    if run.verdict is None or not facts.commit or not facts.statement or not facts.bundle:
        return ""
    parts = (run.verdict.tree, facts.commit, facts.statement, facts.bundle, _digest(body))
    return f"<!-- patchwarrant:evidence:{':'.join(parts)} -->\n"


def body_marker(body: str) -> tuple[Marker | None, str]:
    """(the one evidence marker of a body, None without exactly one; SHA-256 of our part as it is
    now, so that an edit of it shows)."""
    lines = body.replace("\r\n", "\n")
    found = _EVIDENCE.findall(lines)
    start = START.search(lines)
    end = marks(start.group(1))[1] if start else ""
    close = lines.find(end, start.end()) if start else -1
    parts = found[0].split(":") if len(found) == 1 else []
    if start is None or close < 0 or len(parts) != 5:
        return None, ""
    return Marker(*parts), _digest(lines[start.end() : close])


def _digest(part: str) -> str:
    """Over our part without the marker line and without what editors do to its ends."""
    words = "\n".join(line.rstrip() for line in _EVIDENCE.sub("", part).strip().split("\n"))
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def statements(facts: Facts) -> str:
    """The signed statements as a section of the check run, one a line; "" without any."""
    if not facts.envelope:
        return ""
    shown = f"\n\n## {STATEMENTS}\n\n```json\n{facts.envelope}\n```\n"
    if len(shown.encode()) > ENVELOPES:
        return "\n\nThe signed statements are too long to be shown here.\n"
    return shown


def attachment(facts: Facts) -> str:
    """The bundle as a fold of the check run, "" where it is too large: then the operator has it."""
    if not facts.attached or len(facts.attached) > ATTACHED:
        return ""
    fold = details(BUNDLE, f"```text\n{facts.attached}\n```")
    return f"\n\n{fold}\n"


def statements_in(text: str) -> tuple[str, ...]:
    """The lines of the signed statements in a check run's text, () where there are none."""
    _, found, rest = text.replace("\r\n", "\n").rpartition(f"\n## {STATEMENTS}\n")
    inside = rest.partition("```json\n")[2].partition("\n```")[0]
    return tuple(line for line in inside.split("\n") if line) if found else ()


def attached_in(text: str) -> str:
    """The bundle's base64 in a check run's text, "" where it is not attached."""
    _, found, rest = text.replace("\r\n", "\n").rpartition(f"<summary>{BUNDLE}</summary>\n")
    return rest.partition("```text\n")[2].partition("\n```")[0] if found else ""
