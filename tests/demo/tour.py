"""`scripts/demo --tour`: a whole conversation on GitHub, from a vague issue to an approved change.

Every line shows what a person did, and what the app answered; what it waits for is what a person
would wait for. GitHub and the model are stand-ins on loopback; Redis, Docker and git are real.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from app.domain.run import Run
from app.domain.state import Kind
from tests.e2e.conftest import OWNER, Town
from tests.stack import stack

HERE = Path(__file__).parent
SAMPLE = HERE / "sample"
BROKEN = "        if match.start() != position:\n"
FIXED = '        if text[position : match.start()].strip(" "):\n'
BETTER = "        if text[position : match.start()].strip():\n"
TEST = """

def test_a_blank_behind_the_last_part():
    with pytest.raises(ValueError):
        parse("1h,")
"""
ANSWER = '/agent plan\n\n- [ ] `parse("1h 30m")` gives 5400\n- [ ] `abc` still raises `ValueError`'


class Tour:
    """The acts of the story, each told as it happens."""

    def __init__(self, town: Town, console: Console) -> None:
        self.town, self.console = town, console
        self.hub = town.up.hub
        self.began = time.monotonic()
        self.name = ""

    def does(self, who: str, what: str) -> None:
        at = time.monotonic() - self.began
        words = f"[dim]{at:5.1f} s[/dim]  [bold]{who}[/bold] {escape(what)}"
        self.console.print(words, soft_wrap=True)

    def answers(self, what: str) -> None:
        self.console.print(f"         [green]app[/green]  {escape(what)}", soft_wrap=True)

    def said(self, number: int, part: str, seconds: float = 240) -> str:
        """The app's comment with `part`, once it is there."""
        found: list[str] = []

        def there() -> bool:
            comments = self.hub.comments(self.name, number)
            found[:] = [c["body"] for c in comments if part in c["body"] and _ours(c)]
            return bool(found)

        self.town.up.await_true(there, seconds)
        return found[-1]

    def until(self, true: Callable[[], bool], seconds: float = 240) -> None:
        self.town.up.await_true(true, seconds)

    def check(self, head: str, name: str) -> str:
        """ "conclusion: title" of a check run of ours on a commit, "" without one."""
        found = [one for one in self.hub.check_runs(self.name, head) if one["name"] == name]
        return f"{found[-1]['conclusion']}: {found[-1]['output']['title']}" if found else ""

    def differs(self, head: str, name: str, before: str) -> bool:
        return self.check(head, name) != before

    def next_run(self, kind: Kind, seconds: float = 240) -> Run:
        return self.town.up.await_run(
            lambda run: (
                run.repository.full_name == self.name and run.kind is kind and run.explained
            ),
            seconds,
        )

    # -- the scenes

    def play(self) -> bool:
        files = {
            path.relative_to(SAMPLE).as_posix(): path.read_text(encoding="utf-8")
            for path in SAMPLE.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        self.name = self.town.repository(files)
        for who, role in (("rita", "write"), ("carol", "write"), ("eve", "read")):
            self.hub.set_role(self.name, who, role)
        fixed = {"duration.py": files["duration.py"].replace(BROKEN, FIXED)}
        self.town.patches(self.name, fixed)
        issue = self.vague()
        self.outsider(issue)
        first = self.planned(issue)
        pull = first.publication.pull
        self.ready(pull, first)
        better = {"duration.py": fixed["duration.py"].replace(FIXED, BETTER)}
        self.town.revises(self.name, better, DONE, now=fixed)
        second = self.revised(pull)
        head = self.fixed_up(pull, {**better, **tested(files)})
        return self.approved(pull, head) and second.verdict is not None

    def vague(self) -> int:
        self.does("mona", "opens an issue, “Durations are wrong somehow”, and labels it agent:fix")
        number = self.town.ask(self.name, "It is somehow wrong.", title="Durations are wrong")
        for line in _lines(self.said(number, "needs-info"))[:4]:
            self.answers(line)
        return number

    def outsider(self, number: int) -> None:
        self.does("eve", "who may only read, writes /agent fix")
        self.hub.comment(self.name, number, "eve", "/agent fix")
        self.answers(_first(self.said(number, "was not done")))

    def planned(self, number: int) -> Run:
        self.does("mona", "answers what was asked, and wants to see the plan first (/agent plan)")
        self.hub.comment(self.name, number, "mona", ANSWER)
        plan = self.said(number, "/agent approve")
        digest = re.findall(r"/agent approve ([0-9a-f]{8,64})", plan)[-1]
        self.answers(f"posts its plan and waits for /agent approve {digest[:12]}…")
        self.does("mona", f"writes /agent approve {digest[:12]}…")
        self.hub.comment(self.name, number, "mona", f"/agent approve {digest}")
        run = self.town.up.await_run(
            lambda run: run.repository.full_name == self.name and run.publication.pull > 0
            and run.explained,
            240,
        )  # fmt: skip
        assert run.verdict is not None
        self.answers(
            f"opens the draft #{run.publication.pull}: {run.verdict.result} on tree "
            f"{run.verdict.tree[:12]}, ${run.spend.dollars / 1e6:.2f} spent"
        )
        return run

    def ready(self, pull: int, run: Run) -> None:
        head = run.publication.commit
        self.until(lambda: self.check(head, "patchwarrant/approval") != "")
        self.answers(f"patchwarrant/approval is {self.check(head, 'patchwarrant/approval')}")
        self.until(lambda: bool(self.hub.pull(self.name, pull)["requested_reviewers"]))
        view = self.hub.pull(self.name, pull)
        assert not view["draft"]
        asked = ", ".join(one["login"] for one in view["requested_reviewers"])
        self.answers(
            f"patchwarrant/gate is {self.check(head, 'patchwarrant/gate')}; "
            f"the draft is made ready for review, and a review is asked of {asked}"
        )

    def revised(self, pull: int) -> Run:
        what = "/agent revise Take tabs as well as blanks."
        self.does("mona", f"writes on a line of the diff: {what}")
        self.hub.review(
            self.name,
            pull,
            "mona",
            "COMMENT",
            comments=[
                {
                    "path": "duration.py",
                    "line": 14,
                    "body": what,
                }
            ],
        )
        run = self.next_run(Kind.REVISE)
        assert run.verdict is not None, run.halt
        reply = next(
            one["body"]
            for one in self.hub.review_comments(self.name, pull)
            if one["user"]["type"] == "Bot"
        )
        self.answers(f"{_first(reply)}")
        self.answers("the body says what changed since the previous head:")
        body = str(self.hub.pull(self.name, pull)["body"])
        for line in _section(body, "What changed since the previous head")[:4]:
            self.answers(f"    {line}")
        return run

    def fixed_up(self, pull: int, files: dict[str, str]) -> str:
        self.does("rita", "pushes a commit of her own to the branch: one more test")
        branch = self.hub.pull(self.name, pull)["head"]["ref"]
        self.hub.push(self.name, "rita", branch, files)
        run = self.next_run(Kind.RECHECK)
        assert run.verdict is not None, run.halt
        self.answers(
            f"checks that head without a model: {run.verdict.result} on tree "
            f"{run.verdict.tree[:12]}; the evidence names her commit"
        )
        return run.publication.commit

    def approved(self, pull: int, head: str) -> bool:
        name = "patchwarrant/approval"
        self.until(lambda: "Waits" in self.check(head, name))
        for who in ("mona", "carol"):
            before = self.check(head, name)
            self.does(who, "approves the pull request")
            self.hub.review(self.name, pull, who, "APPROVE")
            self.until(partial(self.differs, head, name, before))
            self.answers(f"{name} is {self.check(head, name)}")
        return self.check(head, name).startswith("success")


DONE = [{"thread": "t1", "outcome": "done", "why": "any white space is taken now"}]


def tested(files: dict[str, str]) -> dict[str, str]:
    path = "tests/test_duration.py"
    return {path: files[path] + TEST}


def _ours(comment: dict[str, object]) -> bool:
    user = comment["user"]
    return isinstance(user, dict) and user.get("type") == "Bot"


def _first(body: str) -> str:
    """The first line for people of a comment of ours."""
    return next(iter(_lines(body)), "")


def _lines(body: str) -> list[str]:
    lines = [line.strip() for line in body.splitlines()]
    return [line for line in lines if line and not line.startswith("<!--")]


def _section(body: str, title: str) -> list[str]:
    inside = body.partition(f"## {title}")[2].partition("\n## ")[0]
    return [line for line in inside.splitlines() if line.strip()]


def tour(console: Console) -> int:
    """Play it. Exit code 0 when the change ends approved by the second person."""
    console.print("The model is [bold]scripted[/bold]: its replies are given, nothing is asked.")
    with tempfile.TemporaryDirectory(prefix="pw-tour-") as folder:

        def say(words: str) -> None:
            console.print(f"[dim]start[/dim] {words}")

        with stack(OWNER, say=say) as up:
            up.hub.create_organisation(OWNER)
            up.installation = up.hub.install("patchwarrant", OWNER, [])
            told = Tour(Town(up, Path(folder)), console)
            good = told.play()
            console.rule()
            console.print(
                f"{time.monotonic() - told.began:.0f} s. Merging is a person's: the app never does."
            )
    return 0 if good else 1
