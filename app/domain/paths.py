"""The one canonical form of a path, and the characters that nobody can see.

Gate, tree builder and tools all ask here, so that no two of them can read one path differently.
"""

from __future__ import annotations

import re
import unicodedata

MAX_COMPONENT = 255  # bytes of UTF-8, as file systems count
MAX_DEPTH = 32
MAX_PATH = 4096

UNREADABLE = "\ufffd"  # what a NUL or a broken character became on its way

_DRIVE = re.compile(r"[A-Za-z]:")
_GIT_SHORT = re.compile(r"git~\d+")
_SHORT_NAME = re.compile(r"[^.]{1,6}~\d+(\..{0,3})?")
_NOT_ON_WINDOWS = frozenset('<>:"|?*')
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)}
)

# Invisible though not of the Unicode category "format": fillers, joiners, selectors, separators.
_INVISIBLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2028, 0x2029, 0x2800, 0x3164, 0xFFA0}
    | set(range(0x180B, 0x1810))
    | set(range(0xFE00, 0xFE10))
    | set(range(0xE0000, 0xE1000))
)
_VISIBLE_FORMAT = frozenset({*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2})
_JOINERS = frozenset({0x200C, 0x200D})
_EMOJI_SELECTORS = frozenset({0xFE0E, 0xFE0F})
_KEYCAPS = frozenset("#*0123456789")


class PathRefused(ValueError):
    """A path that has no canonical form; the text says what is wrong with it."""


def canon(path: str) -> str:
    """The one canonical form of `path`, which is `path` itself; raises `PathRefused` for any other.

    Refusing beats repairing: two spellings of one file would be two files to whoever compares.
    """
    if not path:
        raise PathRefused("the path is empty")
    if path.startswith("/"):
        raise PathRefused(f"{shown(path)} is absolute; paths start at the repository's root")
    if _DRIVE.match(path):
        raise PathRefused(f"{shown(path)} starts with a drive letter")
    for char in path:
        _visible(path, char)
    if unicodedata.normalize("NFC", path) != path:
        raise PathRefused(f"{shown(path)} is not in Unicode's composed form (NFC)")
    if len(path.encode()) > MAX_PATH:
        raise PathRefused(f"the path is longer than {MAX_PATH} bytes")
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        raise PathRefused(f"{shown(path)} is deeper than {MAX_DEPTH} folders")
    for part in parts:
        _component(path, part)
    return path


def fresh(path: str) -> str:
    """`canon`, and what a *new* name must also keep to: it can be checked out everywhere and is
    taken neither for an option nor for another file's short name. Raises `PathRefused`."""
    if UNREADABLE in canon(path):
        raise PathRefused(f"{shown(path)}: {named(UNREADABLE)} stands for what cannot be written")
    for part in path.split("/"):
        if part.startswith(("-", " ")):
            raise PathRefused(f"{shown(path)}: a new name may not start with {part[0]!r}")
        if _NOT_ON_WINDOWS & set(part) or part.partition(".")[0].lower() in _DEVICES:
            raise PathRefused(f"{shown(path)} cannot be checked out on Windows")
        if _SHORT_NAME.fullmatch(part):
            raise PathRefused(f"{shown(path)} looks like another file's short name")
    return path


def _visible(path: str, char: str) -> None:
    if char == "\\":
        raise PathRefused(f"{shown(path)} has a backslash; folders are separated by `/`")
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or ord(char) in _INVISIBLE:
        raise PathRefused(f"{shown(path)} has the invisible character {named(char)}")


def _component(path: str, part: str) -> None:
    if part in ("", ".", ".."):
        raise PathRefused(f"{shown(path)} has the component {part!r}; write it without")
    if part[-1] in ". " or part[-1].isspace():
        raise PathRefused(f"{shown(path)}: a name may not end in a blank or a dot")
    if len(part.encode()) > MAX_COMPONENT:
        raise PathRefused(f"{shown(path)} has a name longer than {MAX_COMPONENT} bytes")
    if like_git(part):
        raise PathRefused(f"{shown(path)} leads into git's own folder")


def like_git(name: str) -> bool:
    """Whether some file system takes `name` for `.git`: letter case, characters that HFS+ ignores,
    trailing blanks and dots, NTFS streams and short names."""
    bare = "".join(c for c in name if unicodedata.category(c) != "Cf")
    bare = unicodedata.normalize("NFKC", bare).casefold().partition(":")[0].rstrip(". ")
    return bare == ".git" or _GIT_SHORT.fullmatch(bare) is not None


def folded(path: str) -> str:
    """What a file system that ignores letter case and composition would call `path`."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def shown(path: str) -> str:
    """`path` for a message: quoted, cut, with nothing in it that a terminal would obey."""
    return ascii(path) if len(path) <= 200 else f"{path[:200]!a}…"


def named(char: str) -> str:
    """A code point as people look it up, such as `U+202E RIGHT-TO-LEFT OVERRIDE`."""
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()


def hidden(text: str) -> tuple[str, ...]:
    """The distinct characters of `text` that a reviewer cannot see or that reorder what is seen,
    each as `named`. Joiners and selectors where emoji and joined scripts need them are not among
    them; tab, line feed and form feed are not either."""
    found = {
        char
        for at, char in enumerate(text)
        if (not char.isascii() or char < " " or char == "\x7f")
        and char not in "\t\n\f"
        and _hides(text, at)
    }
    return tuple(named(char) for char in sorted(found))


def _hides(text: str, at: int) -> bool:
    code, category = ord(text[at]), unicodedata.category(text[at])
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if code in _EMOJI_SELECTORS:
        return not before or not _takes_selector(before)
    if code in _JOINERS:
        return not (_joins(before, code) and _joins(after, code))
    if code in _VISIBLE_FORMAT:
        return False
    return category in ("Cc", "Cf") or code in _INVISIBLE


def _takes_selector(char: str) -> bool:
    if char.isascii():
        return char in _KEYCAPS
    return unicodedata.category(char) in ("So", "Sk", "Sm", "Po") or char in "\u2139\u3030"


def _joins(char: str, code: int) -> bool:
    """Whether a joiner beside `char` has a visible effect: emoji, or letters of a joined script."""
    if not char or char.isascii():
        return False
    if unicodedata.category(char) in ("So", "Sk") or ord(char) in _EMOJI_SELECTORS:
        return code == 0x200D
    return unicodedata.category(char)[0] in "LM" and 0x0600 <= ord(char) <= 0x0DFF
