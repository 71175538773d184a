"""`scripts/demo`: a signed webhook becomes a draft pull request, live in the terminal.

GitHub and (without a key) the model are stand-ins on loopback; Redis, Docker and git are real.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from app.domain.merge_gate import CHECK as GATE
from app.domain.run import Run
from tests.demo.tour import tour
from tests.stack import Stack, stack
from tests.standins.anthropic.diffs import BadDiff
from tests.standins.anthropic.player import Player
from tests.standins.anthropic.script import BadScript, Script
from worker.cli.watch import follow, line

HERE = Path(__file__).parent
MODEL_URL = "https://api.anthropic.com"
PERSON = "mona"
OWNER = "acme"
GATE_S = 180


@dataclass(frozen=True)
class Story:
    """What is shown: a git repository (its HEAD), an issue, and where the model's words come from.

    `patches` are acted out by the patch player, `script` is a file of replies; with neither, the
    real model is asked with `key`.
    """

    repository: Path
    name: str
    issue: Path
    patches: tuple[Path, ...]
    script: Path | None
    key: str
    keep: bool


def main() -> int:
    arguments = parser().parse_args()
    signal.signal(signal.SIGTERM, _leave)  # as Ctrl-C: everything that was started ends with us
    console = Console(highlight=False)
    if arguments.tour and not arguments.words:
        return _toured(console)
    key = os.environ.pop("ANTHROPIC_API_KEY", "")
    with tempfile.TemporaryDirectory(prefix="pw-demo-") as folder:
        try:
            story = told(arguments, key, Path(folder))
        except Wrong as wrong:
            console.print(f"demo: {escape(str(wrong))}", style="red")
            return 2
        if arguments.words:
            return 0
        try:
            return play(story, console)
        except KeyboardInterrupt:
            console.print("demo: ended")
            return 130


def _toured(console: Console) -> int:
    try:
        return tour(console)
    except KeyboardInterrupt:
        console.print("demo: ended")
        return 130


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    made.add_argument("--repo", type=Path, help="a local git repository; its HEAD is cloned bare")
    made.add_argument("--issue", type=Path, help="Markdown: first line the title, then the text")
    made.add_argument(
        "--patch",
        type=Path,
        action="append",
        default=[],
        help="a unified diff that the scripted model acts out; a second one is its repair",
    )
    made.add_argument("--script", type=Path, help="a file with the scripted model's replies")
    made.add_argument(
        "--tour", action="store_true", help="a whole conversation, from a vague issue to approval"
    )
    made.add_argument("--keep", action="store_true", help="leave everything up until Ctrl-C")
    made.add_argument(
        "--words", action="store_true", help="look at these words only, start nothing"
    )
    return made


class Wrong(Exception):
    """The words of the command line do not fit together; the text says how they would."""


def told(arguments: argparse.Namespace, key: str, folder: Path) -> Story:
    """The story that was asked for. Raises `Wrong`."""
    script: Path | None = arguments.script
    patches = tuple(path.resolve() for path in arguments.patch)
    for path in (*patches, *([script] if script else []), *filter(None, [arguments.issue])):
        if not path.is_file():
            raise Wrong(f"there is no file {path}")
    if arguments.repo is None:
        if arguments.issue:
            raise Wrong("--issue goes with --repo")
        if not (key or patches or script):
            patches = (HERE / "first.diff", HERE / "second.diff")
        place = sample(folder / "duration")
        playable(patches, script, place)
        return Story(place, "duration", HERE / "issue.md", patches, script, key, arguments.keep)
    if arguments.issue is None:
        raise Wrong("--repo needs --issue FILE: what is wrong, first line the title")
    if not (key or patches or script):
        raise Wrong(
            "nobody to write the change. Give one of: ANTHROPIC_API_KEY in the environment (the "
            "real model), --patch FILE.diff (acted out), --script FILE (replies)"
        )
    place = arguments.repo.resolve()
    if git(place, "rev-parse", "--verify", "-q", "HEAD^{commit}") is None:
        raise Wrong(f"{place} is no git repository with a commit")
    playable(patches, script, place)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", place.name.removesuffix(".git")).strip("-.") or "local"
    issue = arguments.issue
    return Story(place, name, issue, patches, script, key, arguments.keep)


def playable(patches: tuple[Path, ...], script: Path | None, repository: Path) -> None:
    """Raise `Wrong` where the scripted model could not play: a patch that is none or does not fit
    HEAD, a script of another shape."""
    try:
        if script is not None:
            Script(json.loads(script.read_text(encoding="utf-8")))
    except (BadScript, ValueError, AttributeError, TypeError) as error:
        raise Wrong(f"{script} is no script of replies: {error}") from None
    for at in range(len(patches)):
        try:
            Player([path.read_bytes() for path in patches[: at + 1]], repository)
        except (BadDiff, ValueError, OSError) as error:
            raise Wrong(f"{patches[at]} cannot be acted out on HEAD: {error}") from None


def sample(place: Path) -> Path:
    """The small repository with a real bug, as git has it."""
    shutil.copytree(HERE / "sample", place, ignore=shutil.ignore_patterns("__pycache__"))
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
        git(place, *words)
    return place


def git(place: Path, *words: str) -> str | None:
    """A git command's output, None when it failed."""
    person = ("-c", "user.name=Mona", "-c", "user.email=mona@example.org")
    done = subprocess.run(
        ["git", *person, "-C", str(place), *words], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def play(story: Story, console: Console) -> int:
    """Exit code 0 when a draft pull request is there, 1 when the run ended without one."""
    began = time.monotonic()
    real = bool(story.key) and not story.patches and story.script is None
    if real:
        console.print("The model is the real one; its calls cost money.")
    else:
        console.print(
            "The model is [bold]scripted[/bold]: its replies are given, nothing is asked."
        )
    if git(story.repository, "status", "--porcelain"):
        console.print("Uncommitted work in the repository is left out; HEAD is what counts.")
    url = os.environ.get("PATCHWARRANT_MODEL_URL", MODEL_URL)
    model = (url, story.key) if real else None

    def say(words: str) -> None:
        console.print(f"[dim]start[/dim] {words}")

    with stack(OWNER, model=model, say=say) as up:
        if up.model is not None and story.script is not None:
            up.model.script(json.loads(story.script.read_text(encoding="utf-8"))["conversations"])
        elif up.model is not None:
            texts = [path.read_text(encoding="utf-8") for path in story.patches]
            up.model.patch(texts, story.repository)
        run = ask(up, story, console)
        show(up, story, run, console, time.monotonic() - began)
        if story.keep:
            console.print("Everything stays up. Ctrl-C ends it.")
            wait()
    return 0 if run.publication.pull else 1


def ask(up: Stack, story: Story, console: Console) -> Run:
    """Open the issue, label it, and follow the run to its end."""
    repository = f"{OWNER}/{story.name}"
    up.hub.create_organisation(OWNER)
    up.hub.create_repo(repository, source=story.repository)
    up.hub.set_role(repository, PERSON, "write")
    up.hub.install("patchwarrant", OWNER, [repository])
    title, body = issue_of(story.issue)
    number = up.hub.open_issue(repository, PERSON, title, body)
    console.print(f"{PERSON} opens issue #{number}: {escape(title)}")
    up.hub.add_label(repository, number, PERSON, "agent:fix")
    console.print(f"{PERSON} labels it [bold]agent:fix[/bold]; GitHub sends a signed webhook")
    run = up.run_of(number)
    for entry in follow(up.ledger, run.id):
        if words := line(entry):
            console.print(words)
    return up.await_end(number)


def issue_of(path: Path) -> tuple[str, str]:
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    return first.lstrip("# ").strip() or "Untitled", rest.strip()


def standing(up: Stack, repository: str, run: Run) -> str:
    """How the pull request began and where its gate left it, told once the gate has spoken: before
    that a draft is still on its way, and what is caught would be chance."""
    opened = next(
        json.loads(one["payload"])["pull_request"]
        for one in up.hub.deliveries()
        if (one["event"], one["action"]) == ("pull_request", "opened")
    )
    began = "opened as a draft" if opened["draft"] else "opened ready for review"

    def gate() -> str:
        checks = up.hub.check_runs(repository, run.publication.commit)
        return next((str(one["conclusion"]) for one in checks if one["name"] == GATE), "")

    up.await_true(lambda: bool(gate()), GATE_S)
    if gate() != "success":
        return f"{began}; {GATE} did not pass, so it is left one"
    pull = run.publication.pull
    up.await_true(lambda: bool(up.hub.pull(repository, pull)["requested_reviewers"]), GATE_S)
    shown = up.hub.pull(repository, pull)
    now = "still a draft" if shown["draft"] else "made ready for review"
    asked = ", ".join(one["login"] for one in shown["requested_reviewers"])
    return f"{began}; {GATE} passed, so it is {now}, and a review is asked of {asked}"


def show(up: Stack, story: Story, run: Run, console: Console, seconds: float) -> None:
    repository = f"{OWNER}/{story.name}"
    console.rule()
    if run.publication.pull:
        pull = up.hub.pull(repository, run.publication.pull)
        console.print(f"[bold]{escape(pull['title'])}[/bold]")
        console.print(f"({escape(standing(up, repository, run))})\n", soft_wrap=True)
        console.print(escape(str(pull["body"])), soft_wrap=True)
    else:
        for comment in up.hub.comments(repository, run.issue):
            console.print(escape(str(comment["body"])), soft_wrap=True)
    console.rule()
    page = f"{up.hub.url}/{repository}"
    console.print(f"issue         {page}/issues/{run.issue}")
    if run.publication.pull:
        console.print(f"pull request  {page}/pull/{run.publication.pull}")
        console.print(f"diff          {page}/pull/{run.publication.pull}/files")
    if not story.keep:
        console.print("(These pages end with the demo; --keep leaves them up.)")
    console.print(f"{seconds:.0f} s in all")


def wait() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    sys.exit(main())
