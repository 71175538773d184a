"""What an issue asks for: the cleaned request, its acceptance criteria, its reproduction (B4).

Only the shape of the text is read here: headings, lists, code blocks, test names. A task with
neither criteria nor a reproduction is asked for them before anything is spent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from app.domain.budget import LARGE, Limits
from app.domain.commands import command_of
from app.domain.contract import Criterion, Request
from app.domain.errors import Halt, Reason
from app.domain.event import Event
from app.domain.text import clean

TITLE_CAP = 300  # characters
BODY_CAP = 60_000
LINE_CAP = 2_000
TEXT_CAP = 500  # characters of one criterion
COUNT_CAP = 50
FILES = Limits().files  # of an explicit list, as many as a plan may declare
LARGE_LABEL = "agent:large"  # makes a task one of class large
ADOPTED = 10  # comments that one request may adopt

CHECKLIST = "checklist"
HEADING = "heading"
EXPECTED_ACTUAL = "expected-actual"
TRACEBACK = "traceback"
REPRODUCTION = "reproduction"
FAILING_TEST = "failing-test"
COMMENT = "comment"
REPRODUCTIONS = frozenset({EXPECTED_ACTUAL, TRACEBACK, REPRODUCTION, FAILING_TEST})

_CRITERIA = frozenset(
    {
        "acceptance criteria",
        "acceptance criterion",
        "acceptance",
        "criteria",
        "definition of done",
        "done when",
        "requirements",
        "what should happen",
        "desired behavior",
        "desired behaviour",
        "should",
    }
)
_EXPECTED = frozenset(
    f"expected{rest}" for rest in ("", " behavior", " behaviour", " result", " output", " outcome")
)
_ACTUAL = frozenset(
    f"{word}{rest}"
    for word in ("actual", "current", "observed")
    for rest in ("", " behavior", " behaviour", " result", " output", " outcome")
) - {"current"}
_STEPS = frozenset(
    {
        "steps to reproduce",
        "how to reproduce",
        "to reproduce",
        "reproduction",
        "reproduction steps",
        "repro",
        "reproducer",
        "minimal example",
        "minimal reproducible example",
        "example",
    }
)
_FILES = frozenset(
    {
        "files that may change",
        "allowed files",
        "allowed paths",
        "permitted files",
        "permitted paths",
        "paths",
        "files to change",
    }
)
_NAMES = _CRITERIA | _EXPECTED | _ACTUAL | _STEPS
_PLACEHOLDERS = frozenset({"", "no response", "n a", "na", "todo", "tbd"})

_FENCE = re.compile(r" {0,3}(```+|~~~+)(.*)")
_HASHES = re.compile(r" {0,3}#{1,6}[ \t]+(.+)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,3}[.)])[ \t]+(?:\[([ xX])\][ \t]+)?(.+)")
_CODE = re.compile(r">>>|\$ |\w\(|\w\.\w|[=;{}]|\b(?:import|assert|return|raise|def|func|fn)\b")
_TRACE_START = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|panic: |thread '[^']{0,99}' panicked"
    r"|Exception in thread |goroutine [0-9]+ \[)"
)
_TRACE_FRAME = re.compile(r"\s{1,40}at [^\s(]{1,200}(?: [^\s(]{1,99})? ?\([^)]{1,300}:[0-9]+\)")
_ERROR = re.compile(r"\s*(?:[A-Za-z_]\w*\.){0,9}[A-Z]\w*(?:Error|Exception|Warning|Exit)\b.*")
_TEST = re.compile(
    r"(?<![\w/.])(?:"
    r"[\w./-]{1,200}\.py::[\w.:-]{1,200}(?:\[[^\]\s]{1,100}\])?"
    r"|test_\w{1,100}"
    r"|[\w./-]{1,200}\.(?:test|spec)\.[cm]?[jt]sx?"
    r"|(?<=--- FAIL: )Test\w{1,100}"
    r"|(?<=`)Test[A-Z]\w{1,100}(?=`)"
    r")"
)


@dataclass
class _Section:
    """A heading (normalised, "" before the first one) with its lines and code blocks."""

    name: str
    lines: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


def request_of(event: Event) -> Request:
    """The request as signed at the trigger, cleaned; the digest is over the original text.

    What a person wrote with the command is part of it, since that person may write here.
    """
    title, hidden_title = clean(event.title)
    body, hidden_body = clean(event.body)
    command = command_of(event.text) if event.text else None
    said = command.text if command else ""
    original = f"{event.title}\n{event.body}{f'{chr(10)}{event.text}' if event.text else ''}"
    body = body[: BODY_CAP - len(said)]
    return Request(
        title=" ".join(title.split())[:TITLE_CAP],
        body=f"{body}\n\n{said}" if said else body,
        digest=hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest(),
        hidden=hidden_title + hidden_body + (command.hidden if command else 0),
        said=said,
        author=event.author.login,
        adopted_by=event.sender.login,
        updated_at=event.updated_at,
    )


def criteria_of(request: Request) -> tuple[Criterion, ...]:
    """Acceptance criteria and reproductions in the order of the text, without repeats."""
    sections = _sections(request.body)
    found: dict[str, Criterion] = {}
    said = (Criterion(request.said, COMMENT),) if request.said else ()
    for one in (
        *_listed(sections),
        *_pairs(sections),
        *_shown(sections),
        *_tests(request),
        *said,
    ):
        text = " ".join(one.text.split())[:TEXT_CAP]
        if not _empty(text):
            found.setdefault(text, Criterion(text, one.source))
    return tuple(found.values())[:COUNT_CAP]


def require(request: Request, criteria: tuple[Criterion, ...]) -> None:
    """Raise `Halt(NEEDS_INFO)` with what is missing and the question, if nothing can be held
    against the result."""
    if criteria:
        return
    about = f"“{request.title}”" if request.title else "this issue"
    empty = "" if request.body.strip() else " The issue's text is empty."
    raise Halt(
        Reason.NEEDS_INFO,
        "Both acceptance criteria and a reproduction are missing, and one of them is needed: "
        f"without either nobody could say whether a change is right.{empty}",
        "Add one of them to the issue and set the label `agent:fix` again, or answer in a comment "
        "that begins with `/agent fix`.",
        (
            f"How will you see that {about} is done? List it under a heading "
            "`Acceptance criteria`, one item a line.",
            "Or how does it fail today? Give `Expected:` and `Actual:`, a code block that shows "
            "it, the traceback, or the name of a failing test.",
        ),
    )


def links_of(text: str, owner: str, name: str, issue: int) -> tuple[int, ...]:
    """Ids of this issue's comments that `text` links to, in order: so a writer adopts them."""
    place = rf"/{re.escape(owner)}/{re.escape(name)}/(?:issues|pull)/{issue}#issuecomment-"
    found = re.findall(rf"https://[\w.-]{{1,200}}{place}([1-9][0-9]{{0,18}})\b", text, re.I)
    return tuple(dict.fromkeys(map(int, found)))[:ADOPTED]


def adopting(request: Request, comments: Sequence[tuple[str, str, str]]) -> Request:
    """The request with comments, each (link, author, text), that its person adopted by link."""
    for link, author, text in comments:
        shown, hidden = clean(text)
        room = BODY_CAP - len(request.body) - 200
        if room <= 0:
            break
        body = f"{request.body}\n\nAdopted comment by {author} ({link}):\n\n{shown[:room]}"
        digest = hashlib.sha256(f"{request.digest}\n{text}".encode("utf-8", "surrogatepass"))
        request = replace(
            request,
            body=body,
            digest=digest.hexdigest(),
            hidden=request.hidden + hidden,
            adopted=(*request.adopted, link),
        )
    return request


def edited(at: str, by: str, triggered: str) -> str:
    """How long before the trigger the text was edited and by whom, "" where nobody told us."""
    try:
        then, now = datetime.fromisoformat(at), datetime.fromisoformat(triggered)
        gap = round((now - then).total_seconds())
    except (ValueError, TypeError):
        return ""
    if gap < 0:
        return f"edited after the trigger by {by}; the text as of the trigger counts"
    return f"edited {gap} s before the trigger by {by}"


def require_size(request: Request, *, large: bool, possible: bool = True) -> None:
    """Raise `Halt(NEEDS_INFO)` where the request itself lists more files than a run of its class
    may change, or wants a class that the operator's instance has not (`possible`)."""
    listed = listed_files(request)
    if large and not possible:
        raise Halt(
            Reason.NEEDS_INFO,
            f"The label `{LARGE_LABEL}` asks for a run of class large, and this instance does not "
            "do any.",
            f"Take the label off and list at most {FILES} files, split the task into several "
            "issues, or ask the operator.",
        )
    most = LARGE.files if large else FILES
    if len(listed) <= most:
        return
    size = "class large" if large else "ordinary size"
    label = f"set the label `{LARGE_LABEL}`, " if possible and not large else ""
    raise Halt(
        Reason.NEEDS_INFO,
        f"The request lists {len(listed)} files that may change, and a task of {size} changes at "
        f"most {most}.",
        f"List at most {most} files, {label}or split the task into several issues.",
        tuple(f"`{path}`" for path in listed[:20]),
    )


def listed_files(request: Request) -> tuple[str, ...]:
    """The explicit allow-list: paths listed under a heading such as `Files that may change`."""
    found: dict[str, None] = {}
    for section in _sections(request.body):
        if section.name in _FILES:
            for line in section.lines:
                item = _ITEM.fullmatch(line)
                path = re.fullmatch(r"`?([\w.@+/-]{1,300})`?", item[2].strip()) if item else None
                if path:
                    found[path[1]] = None
    return tuple(found)


def _sections(body: str) -> list[_Section]:
    sections = [_Section("")]
    fence = ""
    for raw in body.splitlines():
        line = raw[:LINE_CAP]
        mark = _FENCE.fullmatch(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            else:
                sections[-1].code[-1] += line + "\n"
            continue
        if mark:
            fence = mark[1]
            sections[-1].code.append("")
            continue
        titled = _title(line)
        if titled is None:
            sections[-1].lines.append(line)
        else:
            name, rest = titled
            sections.append(_Section(name, [rest] if rest else []))
    return sections


def _title(line: str) -> tuple[str, str] | None:
    """(normalised name, rest of the line) of a heading, else None."""
    hashes = _HASHES.fullmatch(line)
    if hashes:
        return _plain(hashes[1]), ""
    label, colon, rest = line.partition(":")
    name = _plain(label)
    if name in _NAMES and (colon or label.strip().startswith(("**", "__"))):
        return name, rest.strip("*_ \t")
    return None


def _plain(text: str) -> str:
    """Lower case words alone, so that `**Expected behavior:**` is `expected behavior`."""
    return " ".join(re.sub(r"[^a-z]+", " ", text.lower()[:100]).split())


def _listed(sections: list[_Section]) -> Iterator[Criterion]:
    """Checklists anywhere; items, or else the words, under a heading that names criteria."""
    for section in sections:
        named = section.name in _CRITERIA
        for line in section.lines:
            item = _ITEM.fullmatch(line)
            if item and item[1] is not None:
                yield Criterion(item[2], CHECKLIST)
            elif item and named:
                yield Criterion(item[2], HEADING)
        if named and not any(_ITEM.fullmatch(line) for line in section.lines):
            yield Criterion(_words(section), HEADING)


def _pairs(sections: list[_Section]) -> Iterator[Criterion]:
    """What is expected, with what happens instead where that is said too."""
    actual = next((_words(s) for s in sections if s.name in _ACTUAL and _words(s)), "")
    for section in sections:
        expected = _words(section) if section.name in _EXPECTED else ""
        if expected and actual:
            half = TEXT_CAP // 2 - 20
            yield Criterion(f"Expected: {expected[:half]} Actual: {actual[:half]}", EXPECTED_ACTUAL)
        elif expected:
            yield Criterion(expected, HEADING)


def _shown(sections: list[_Section]) -> Iterator[Criterion]:
    """Tracebacks, steps, and code that shows the failure."""
    for section in sections:
        for text in (*section.code, "\n".join(section.lines)):
            error = _trace(text)
            if error:
                yield Criterion(error, TRACEBACK)
        steps = _words(section) if section.name in _STEPS else ""
        if steps:
            yield Criterion(steps, REPRODUCTION)
        for block in section.code:
            if not _trace(block) and _CODE.search(block):
                yield Criterion(block, REPRODUCTION)


def _trace(text: str) -> str:
    """The line that names the error of a traceback in `text`, "" where there is none."""
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if _TRACE_START.match(line)]
    frames = [n for n, line in enumerate(lines) if _TRACE_FRAME.match(line)]
    if not starts and len(frames) < 2:
        return ""
    errors = [line for line in lines if _ERROR.fullmatch(line)]
    return (errors[-1] if errors else lines[min(starts + frames)]).strip()


def _tests(request: Request) -> Iterator[Criterion]:
    """Names of tests, wherever they stand."""
    for match in _TEST.finditer(f"{request.title}\n{request.body}"):
        yield Criterion(f"The test `{match[0]}` passes.", FAILING_TEST)


def _words(section: _Section) -> str:
    """A section's own words, its code blocks last; "" where only a placeholder stands."""
    text = " ".join(" ".join([*section.lines, *section.code]).split())
    return "" if _empty(text) else text[:TEXT_CAP]


def _empty(text: str) -> bool:
    """Nothing, or what a form leaves where nobody wrote anything."""
    return " ".join(re.findall(r"[^\W_]+", text[:100].lower())) in _PLACEHOLDERS
