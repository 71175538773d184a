"""The command `patchwarrant`: what the receiver is asked, and the way to everything else."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

WORDS = {
    "event": "say what a webhook payload would start, or why it is ignored",
    "receive": "take GitHub's webhooks (the receiver; needs the webhook secret and Redis)",
    "desk": "admit, publish and explain runs (holds the App's key)",
    "runner": "carry runs: look, plan, edit, verify (holds the model's key)",
    "sandbox": "run checks in containers (holds the Docker engine)",
    "check": "show what can be shown about a change in a repository on this machine",
    "parse": "show what a check's log is understood to say",
    "verify": "examine evidence without trusting who made it",
    "evidence": "write out the evidence of one run, after looking at its journal",
    "replay": "work a run's journal again, without model and network, to the same tree",
    "status": "list the newest runs",
    "watch": "follow one run as it happens",
    "cancel": "ask a run to end",
    "pause": "start no new run until `resume`",
    "resume": "end a pause; --new-ledger: go on with what Redis holds now",
    "doctor": "say what of a repository's fence and settings holds, fails or cannot be seen",
    "register": "register the App on GitHub from a page on this machine, in one click",
    "key": "make the keys that set-up needs",
    "selftest": "try from inside a container whether the sandbox holds",
    "config": "check, propose or import a repository's configuration",
    "version": "print the version",
}
OURS = frozenset({"event", "receive", "version"})
USAGE = 2
CUT = 141  # as a shell says it of a process that SIGPIPE ended
ARGUMENTS = {
    "sandbox": "[--strict]",
    "selftest": "[--strict]",
    "watch": "[RUN]",
    "cancel": "RUN",
    "resume": "[--new-ledger]",
}
ENDS = "Exit code: 0 done, 1 failed, 2 wrong words or settings."
SPEAK = frozenset(
    {"check", "config", "doctor", "event", "evidence", "key", "parse", "register", "replay"}
    | {"verify"}
)  # these have options of their own and say them
BARE = frozenset({"pause", "status"})  # a mistyped word must not pause an instance
HELP = frozenset({"-h", "--help"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 2 wrong words or settings; `CUT`, which is no verdict, where whoever read
    our words has gone. Other roles replace this process."""
    try:
        code = _main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT
    return code


def _main(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    word = words[0] if words else ""
    if word in ("", "-h", "--help", "help"):
        print(usage())
        return 0 if word else USAGE
    if word in WORDS and word not in SPEAK and HELP & set(words[1:]):
        print(f"usage: patchwarrant {word} {ARGUMENTS.get(word, '')}".rstrip())
        print(f"\n{WORDS[word]}; docs/settings.md has its settings\n\n{ENDS}")
        return 0
    if word in ("version", "--version"):
        return _version()
    if word in BARE and len(words) > 1:
        print(f"patchwarrant {word}: takes no further words, not {words[1]!r}", file=sys.stderr)
        return USAGE
    if word == "receive":
        return _receive(words[1:])
    if word == "event":
        from app.cli import event

        return event.main(words[1:])
    if word in WORDS:
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "worker", *words])  # noqa: S606
    print(f"patchwarrant: {word!r} is no command.\n\n{usage()}", file=sys.stderr)
    return USAGE


def usage() -> str:
    """One line a word."""
    width = max(map(len, WORDS))
    lines = [f"  {word:<{width}}  {what}" for word, what in WORDS.items()]
    return "\n".join(["usage: patchwarrant WORD [...]", "", *lines])


def _version() -> int:
    from importlib.metadata import PackageNotFoundError, version

    try:
        print(f"patchwarrant {version('patchwarrant')}")
    except PackageNotFoundError:
        print("patchwarrant (not installed; run from its folder)")
    return 0


def _receive(arguments: Sequence[str]) -> int:
    from app import settings

    if arguments:
        print("usage: patchwarrant receive   (settings come from the environment)", file=sys.stderr)
        return USAGE
    try:
        found = settings.read(settings.environment())
    except settings.SettingsError as error:
        print(f"patchwarrant receive: {error}", file=sys.stderr)
        return USAGE
    import logging

    from app.main import serve  # loads the server: not before the settings are good

    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for noisy in ("rq", "redis"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    serve(found)
    return 0
