"""A scoped revision: review comments as threads, the paths that they open, what became of each.

Nothing here widens anything by itself: a path is open when a comment stands on it or names it in
words, and then the plan still has to declare it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.event import Person
from app.domain.glob import literally, match
from app.domain.text import clean

MOST_THREADS = 40
MOST_NAMED = 20  # paths that words may open
OWN_CI = "the repository's own CI"  # the author of a thread that nobody wrote; no login is like it
WHY_CAP = 600  # characters of the model's reason in a reply

_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)
_NAMED = re.compile(
    r"(?<![\w/.@-])((?:[\w.@+-]{1,100}/){1,20}(?:[\w.@+-]{1,100})?|[\w-]{1,100}\.[A-Za-z]\w{0,9})(?![\w/])"
)
_EVERYWHERE = re.compile(
    r"\b(?:everywhere|anywhere|all (?:of )?(?:the |its )?files|all over|throughout"
    r"|(?:whole|entire|across the) (?:repository|repo|codebase|code base|project))\b",
    re.IGNORECASE,
)
_TESTS = re.compile(
    r"\b(?:add|adds|write|extend|update|adjust|change|mend|fix|include|need|needs|want|with)\b"
    r"[^.;\n]{0,60}\b(?:tests?|specs?)\b|\btests? for\b|\bcovered by (?:a )?tests?\b",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|never|without|except|unless|instead of|leave|no|nothing in|keep out of)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;!?\n]|[.,](?=\s|$)|\b(?:but|and)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Thread:
    """One comment that asks for something. `id` (`t1`, …) is its name for the model and in reports,
    `comment` the inline comment under which the reply goes, 0 where there is no such thread;
    `path` and the lines `start` to `line` (0: not on lines) are where it stands; one that is `wide`
    stands on no file, and is about the whole pull request. `hidden` counts the characters that
    were removed from it, since nobody sees them."""

    id: str
    text: str
    author: str
    event: str
    comment: int = 0
    path: str = ""
    line: int = 0
    start: int = 0
    wide: bool = False
    hidden: int = 0


@dataclass(frozen=True)
class Scope:
    """What a revision may touch: `globs`, test files too with `tests`, all with `everywhere`.
    `words` are those of the comments that opened more than the files they stand on."""

    globs: tuple[str, ...] = ()
    tests: bool = False
    everywhere: bool = False
    words: tuple[str, ...] = ()

    def opens(self, path: str, test: bool) -> bool:
        """Whether a change of `path` is in scope; `test` says whether it is a test file."""
        if self.everywhere or (self.tests and test):
            return True
        return any(match(glob, path) for glob in self.globs)


@dataclass(frozen=True)
class Outcome:
    """What the model says became of one thread; its words, not a measurement."""

    thread: str
    done: bool
    why: str


@dataclass(frozen=True)
class Revision:
    """What makes a contract one of a revision. `pull` is our own pull request; `events` are the
    keys of all comments that are taken together; `previous` is the run whose evidence is about the
    contract's head, "" where no evidence is; `askers` are the people whose comments they are."""

    pull: int
    threads: tuple[Thread, ...]
    scope: Scope
    events: tuple[str, ...]
    previous: str = ""
    askers: tuple[Person, ...] = ()


class OutcomesRefused(ValueError):
    """Outcomes that do not fit the threads; the text is the answer to the model."""


def scope_of(threads: Sequence[Thread], files: Iterable[str], listed: Iterable[str] = ()) -> Scope:
    """The union of what the threads open.

    A thread on a file opens that file; a wide one opens `files` (those of the pull request) and
    `listed` (those that the original request itself lists). Words open more: a path or a file's
    name in them, "everywhere" and its like, and tests where one is asked for. What stands behind a
    "not" in the same clause opens nothing, nor do the words of CI.
    """
    globs: dict[str, None] = {}
    words: dict[str, None] = {}
    everywhere = tests = False
    for thread in threads:
        if thread.path:
            globs[literally(thread.path)] = None
        if thread.wide:
            globs.update(dict.fromkeys(literally(path) for path in (*files, *listed)))
        if thread.author == OWN_CI:  # a log's words open nothing
            continue
        text = _URL.sub(" ", thread.text)
        for found in _wanted(_EVERYWHERE, text):
            everywhere, words[found] = True, None
        for found in _wanted(_TESTS, text):
            tests, words[" ".join(found.split())] = True, None
        for name in [one.rstrip(".") for one in _wanted(_NAMED, text)][:MOST_NAMED]:
            if name != thread.path:
                globs.update(dict.fromkeys(_of_name(name)))
                words[name] = None
    return Scope(tuple(globs), tests, everywhere, tuple(words))


def _wanted(pattern: re.Pattern[str], text: str) -> list[str]:
    """What `pattern` finds, but for what a "not" in the clause before it takes back."""
    found = []
    for one in pattern.finditer(text):
        before = _CLAUSE.split(text[max(0, one.start() - 120) : one.start()])[-1]
        if not _NOT.search(before) and not _NOT.search(one[0]):
            found.append(one[0])
    return found


def _of_name(name: str) -> tuple[str, ...]:
    """Globs for a path or a file's name as a person writes it."""
    plain = literally(name.strip("/"))
    if "/" in name.strip("/") or name.endswith("/"):
        return plain, f"{plain}/**"
    return plain, f"**/{plain}"


def outcomes_of(
    given: Sequence[Mapping[str, Any]], threads: Sequence[Thread]
) -> tuple[Outcome, ...]:
    """The outcomes as the model gave them, each for one of `threads`. Raises `OutcomesRefused`
    for a thread that there is not, one that is given twice, and a refusal without a reason."""
    known = {thread.id for thread in threads}
    found: dict[str, Outcome] = {}
    for one in given:
        name, done = str(one["thread"]), one["outcome"] == "done"
        why = " ".join(clean(str(one.get("why", "")))[0].split())[:WHY_CAP]
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise OutcomesRefused(f"There is no thread {name[:20]!r}; there are: {there}.")
        if name in found:
            raise OutcomesRefused(f"The thread {name} is given twice.")
        if not done and not why:
            raise OutcomesRefused(f"The thread {name} is declined without a reason in `why`.")
        found[name] = Outcome(name, done, why)
    return tuple(found.values())


def merged(before: Sequence[Outcome], now: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The newest outcome of each thread, in the order in which threads were first named."""
    newest = {one.thread: one for one in before}
    newest.update({one.thread: one for one in now})
    return tuple(newest.values())
