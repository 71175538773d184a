"""Reads the commands out of a shell text, as far as that can be done without running it."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

LINES_CAP = 4_000
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_KEYWORDS = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "!", "{", "exec", "command", "builtin")
)
_WRAPPERS = frozenset(
    (
        *("env", "nohup", "sudo", "nice", "timeout", "gtimeout", "xvfb-run", "npx", "bunx"),
        *("xargs", "stdbuf", "ionice", "doas", "chronic", "dotenv", "cross-env", "time"),
    )
)
# Programs whose first word says that another command follows.
_RUN = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda", "pixi"), ("run",)),
    **dict.fromkeys(("pnpm", "yarn"), ("exec", "dlx")),
    "npm": ("exec", "x"),
    "bundle": ("exec",),
}
_INNER = re.compile(r"\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)|`([^`]*)`")


@dataclass(frozen=True)
class Command:
    """One simple command: its words without wrappers, the variables set for it, and the folder
    that it runs in, as far as the text says."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""


def commands(text: str, folder: str = "") -> Iterator[Command]:
    """The commands of `text` in their order, also those of `$(…)`; `cd` moves those behind it."""
    env: dict[str, str] = {}
    joined = re.sub(r"\\\r?\n", " ", text)
    for line in joined.splitlines()[:LINES_CAP]:
        for words in _simple(line):
            plain, own = _unwrapped(words)
            env |= own if not plain or plain[0] in ("export", "set") else {}
            if plain and plain[0] in ("export", "declare", "typeset"):
                env |= {m[1]: m[2] for word in plain[1:] if (m := _ASSIGNED.fullmatch(word))}
            elif plain and plain[0] in ("cd", "pushd"):
                folder = entered(folder, plain[-1]) if len(plain) > 1 else folder
            elif plain:
                yield Command(tuple(plain), {**env, **own}, folder)
        for found in _INNER.finditer(line):
            inner = found[1] or found[2] or ""
            if inner.strip() and inner != text:
                yield from (replace(one, env={**env, **one.env}) for one in commands(inner, folder))
    if env:
        yield Command((), env, folder)


def entered(folder: str, word: str) -> str:
    """The folder that `cd word` leads to; the old one where nobody can tell."""
    if "$" in word or "`" in word or word.startswith(("-", "~")):
        return folder
    path = posixpath.normpath(posixpath.join(folder, word.removeprefix("/workspace/")))
    return "" if path == "." or path.startswith(("/", "..")) else path


def _simple(line: str) -> Iterator[list[str]]:
    """Word lists between `;`, `&&`, `|`, parentheses and the like; what is written into a file is
    dropped, what is read from one is a word like another."""
    words: list[str] = []
    skip = False
    for one in _tokens(line):
        if one and set(one) <= set(";&|()"):
            if words:
                yield words
            words, skip = [], False
        elif one and set(one) <= set("<>"):
            skip = ">" in one
        elif skip:
            skip = False
        elif one == "do" or (one in _KEYWORDS and not words):
            if words and one == "do":
                yield words
                words = []
        else:
            words.append(one)
    if words:
        yield words


def _tokens(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quote that another line closes
        return re.sub(r"([();<>|&]+)", r" \1 ", line.replace('"', " ").replace("'", " ")).split()


def _unwrapped(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """The command without assignments and programs that only start it."""
    env: dict[str, str] = {}
    rest = list(words)
    while rest:
        name = posixpath.basename(rest[0])
        if found := _ASSIGNED.fullmatch(rest[0]):
            env[found[1]] = found[2]
            rest = rest[1:]
        elif rest[0] in _KEYWORDS or name in _WRAPPERS:
            rest = rest[1:]
            while rest and name in _WRAPPERS and re.match(r"-|\d+[smh]?$", rest[0]):
                rest = rest[1:]
        elif len(rest) > 1 and rest[1] in _RUN.get(name, ()):
            rest = rest[2:]
            while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
                rest = rest[1:]
            if rest and rest[0] in ("-m", "-c"):
                rest.insert(0, "python3")
        elif name == "coverage" and "run" in rest[1:3]:
            rest = ["python3", *rest[rest.index("run") + 1 :]]
        else:
            break
    return rest, env
