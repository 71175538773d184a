"""Text from outside made safe to show and to send: nothing in it that a reader cannot see.

`clean` is for prose of people (issues, comments): what GitHub would not show goes, and is counted.
`reveal` is for repository text, where every character counts: hidden ones become `<U+XXXX>` and
comments stay. `printable` makes text of the bytes that a program wrote.
"""

from __future__ import annotations

import re
import unicodedata

# Terminal sequences: CSI, then those that carry a text to an end mark, then all others.
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDDEN = re.compile(f"[{_CONTROL}{_UNSEEN}\ud800-\udfff]")
_CONTROLS = re.compile(f"[{_CONTROL}]")
_BREAKS = re.compile("\r\n?|[\u0085\u2028\u2029]")
_BLANKS = re.compile(r"[^\S ]")  # all that separates words and is no space

# A link definition that shows nothing: `[//]: # (text)`.
_DEFINITION = re.compile(
    r"^ {0,3}\[[^\]\n]{1,999}\]:[ \t]*(?:#|<>)[ \t]*(?:\([^\n]*\)|\"[^\n]*\"|'[^\n]*')[ \t]*$",
    re.MULTILINE,
)
_BLOCK_START = re.compile(r"[ \t>*+\-0-9.)]*")

_JOINER, _EMOJI_STYLE, _KEYCAP = "\u200d", "\ufe0f", "\u20e3"
_MORE_EMOJI = frozenset("\u00a9\u00ae\u203c\u2049\u2139\u3030\u303d")


def clean(text: str) -> tuple[str, int]:
    """(`text` without what a reader does not see, how many characters that were).

    HTML comments, invisible link definitions, zero-width, bidirectional and tag characters,
    terminal sequences, controls and lone surrogates go; emoji keep their joiners and styles; line
    ends become newlines, which is not counted. Cleaning twice changes nothing more.
    """
    text = _BREAKS.sub("\n", text)
    shown = _HIDDEN.sub(_kept, _ANSI.sub("", text))
    shown = _DEFINITION.sub("", _without_comments(shown))
    return shown, len(text) - len(shown)


def reveal(text: str) -> tuple[str, int]:
    """(`text` with every hidden character written as `<U+XXXX>`, how many there were).

    Terminal sequences are revealed by their controls; comments stay; a CR before a newline stays
    out of sight, since it ends the line. Nothing is removed, so that an edit can be exact about
    any line without hidden characters.
    """
    count = 0

    def written(found: re.Match[str]) -> str:
        nonlocal count
        kept = _kept(found)
        if kept:
            return kept
        count += 1
        return f"<U+{ord(found.group()):04X}>"

    return _HIDDEN.sub(written, text.replace("\r\n", "\n")), count


def named(text: str) -> str:
    """A name in one line, as `reveal` writes it: a newline in it becomes `\\n`, a tab `\\t`, any
    other blank `<U+XXXX>`. Names of files and tests may hold all of them."""
    return _BLANKS.sub(_escaped, reveal(text)[0])


def _escaped(found: re.Match[str]) -> str:
    mark = found.group()
    return {"\n": "\\n", "\t": "\\t"}.get(mark, f"<U+{ord(mark):04X}>")


def printable(data: bytes) -> str:
    """Text of a program's output: bad UTF-8 becomes U+FFFD, terminal sequences and controls go
    (newline and tab stay), CR becomes a newline, other hidden characters become `<U+XXXX>`."""
    text = _BREAKS.sub("\n", data.decode("utf-8", errors="replace"))
    return reveal(_CONTROLS.sub("", _ANSI.sub("", text)))[0]


def _kept(found: re.Match[str]) -> str:
    """What stays of one hidden character: itself inside an emoji, else nothing."""
    mark, text, at = found.group(), found.string, found.start()
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if mark == _EMOJI_STYLE:
        keycap = before != "" and before in "0123456789#*" and after == _KEYCAP
        return mark if keycap or _emoji(before) else ""
    if mark == _JOINER:
        styled = before == _EMOJI_STYLE and at > 1 and _emoji(text[at - 2])
        return mark if (styled or _emoji(before)) and _emoji(after) else ""
    return ""


def _emoji(mark: str) -> bool:
    if not mark:
        return False
    if mark in _MORE_EMOJI or "\U0001f3fb" <= mark <= "\U0001f3ff" or "\u2190" <= mark <= "\u21ff":
        return True
    return unicodedata.category(mark) == "So"


def _without_comments(text: str) -> str:
    """Without HTML comments; one that never ends hides the rest only where a block can start."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        end = text.find("-->", start + 2)
        if end < 0:
            before = "".join((*parts, text[at:start]))
            if _BLOCK_START.fullmatch(before, before.rfind("\n") + 1):
                return before
            break
        parts.append(text[at:start])
        if parts[-1].endswith(("<", "<!", "<!-")):  # both sides must not become a new mark
            parts.append(" ")
        at = end + 3
    parts.append(text[at:])
    return "".join(parts)
