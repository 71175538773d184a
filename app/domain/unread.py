"""Why a check's report could not be read, in words that stand behind the check's reason.

What lay at the report's path is seen in the container, which knows these words alone; what is in a
report that could be read is judged where it is parsed.
"""

from __future__ import annotations

from typing import Any

from app.domain.check import Outcome, amount

UNREADABLE = "exit 0 without a readable report"
LARGE = "large"
# The container's word, and what people are told.
CAUSES: dict[str, str] = {
    "missing": "there is no such file",
    "link": "it is a symbolic link",
    "way": "its path leads over a link or a file",
    "folder": "it is a folder",
    "pipe": "it is a named pipe",
    "special": "it is no regular file",
    "denied": "it may not be read",
    LARGE: "it is too large",
}
EMPTY = "it is empty"
BROKEN_XML = "it is no JUnit XML: cut off, broken or unsafe"
NO_PLAN = "it is TAP without a plan, so it was cut off"
NO_SARIF = "it is JSON and no SARIF that can be read"
UNKNOWN = "it is neither JUnit XML, TAP nor SARIF"


def known(word: Any) -> str:
    """A cause as it came over the wire, "" for one that is not known here: a sandbox of another
    version may say others, or none."""
    return word if isinstance(word, str) and word in CAUSES else ""


def cause(outcome: Outcome, most: int) -> str:
    """Why the report of `outcome` was not read, "" where that is not known. A report over `most`
    bytes is not looked into."""
    data = outcome.report
    size = max(outcome.report_size, len(data or b""))
    if outcome.unread == LARGE or len(data or b"") > most:
        return f"it has {size:,} bytes, over {amount(most, 'bytes')}"
    if data is None or outcome.unread:
        return CAUSES.get(outcome.unread, "")
    return _inside(data)


def _inside(data: bytes) -> str:
    """What is wrong with a report that was read and is none, by how it begins."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        return EMPTY
    for begins, words in (
        ((b"<",), BROKEN_XML),
        ((b"{",), NO_SARIF),
        ((b"TAP version", b"1..", b"ok", b"not ok"), NO_PLAN),
    ):
        if start.startswith(begins):
            return words
    return UNKNOWN


def reason(words: str) -> str:
    """The check's reason, with the cause where it is known."""
    return f"{UNREADABLE}: {words}" if words else UNREADABLE
