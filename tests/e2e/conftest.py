"""One running instance for the end-to-end tests; each test has a repository of its own."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain import record
from app.domain.run import Run
from app.domain.state import ENDS
from tests.stack import ROLES, Stack, stack

OWNER = "acme"
NUMBERS = itertools.count(1)
PYTEST = (
    "version: 1\n"
    "checks:\n"
    "  - name: tests\n"
    "    run: [python3, -m, pytest, -q, -p, 'no:cacheprovider', --junitxml=.reports/junit.xml]\n"
    "    env: {PYTHONPATH: '.'}\n"
    "    report: .reports/junit.xml\n"
)
FILES = {
    ".github/agent.yml": PYTEST,
    "sums.py": "def add(a, b):\n    return a - b\n",
    "tests/test_sums.py": (
        "from sums import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n\n\n"
        "def test_nothing():\n    assert add(0, 0) == 0\n"
    ),
}
FIX = {"sums.py": "def add(a, b):\n    return a + b\n"}
WRONG = {"sums.py": "def add(a, b):\n    return 4\n"}
ISSUE = "`add(2, 2)` gives 0.\n\n## Acceptance criteria\n\n- [ ] `add(2, 2)` gives 4\n"


@dataclass
class Town:
    """The instance, and the acts that most tests begin with."""

    up: Stack
    folder: Path

    def repository(self, files: Mapping[str, str] | None = None, role: str = "write") -> str:
        """A new repository with `files`, installed; mona has `role` in it.

        No two have the same tree: a baseline that one test measured would serve another's run.
        """
        name = f"{OWNER}/sums-{next(NUMBERS)}"
        own = {**(files or FILES), "NAME": f"{name}\n"}
        place = tree(self.folder / name.replace("/", "-"), own)
        self.up.hub.create_repo(name, source=place)
        self.up.hub.set_role(name, "mona", role)
        self.up.hub.change_installation(self.up.installation, add=[name])
        return name

    def source(self, name: str) -> Path:
        return self.folder / name.replace("/", "-")

    def patches(self, name: str, *after: Mapping[str, str | None]) -> None:
        """Have the scripted model act these changes out, one attempt each."""
        assert self.up.model is not None
        texts = [diff(self.source(name), files) for files in after]
        self.up.model.patch(texts, self.source(name))

    def revises(
        self,
        name: str,
        files: Mapping[str, str | None],
        threads: Sequence[Mapping[str, str]] = (),
        now: Mapping[str, str] | None = None,
    ) -> None:
        """Have the scripted model bring the pull request, whose files are `now` (FIX without), to
        `files`; `threads` are the outcomes that it gives."""
        assert self.up.model is not None
        place = self.source(name)
        for path, text in (now or FIX).items():
            (place / path).write_text(text, encoding="utf-8")
        git(place, "add", "-A")
        git(place, "commit", "-q", "--allow-empty", "-m", "As the pull request is")
        self.up.model.patch([diff(place, files)], place, threads)

    def ask(self, name: str, body: str = ISSUE, label: bool = True, title: str = "Wrong") -> int:
        number = self.up.hub.open_issue(name, "mona", title, body)
        if label:
            self.up.hub.add_label(name, number, "mona", "agent:fix")
        return number

    def story(self) -> str:
        """What the newest runs came to, with their journals, and the last words of every role."""
        ledger, lines = self.up.ledger, list[str]()
        for run in ledger.runs(3):
            lines.append(f"run {run.id} {run.kind} {run.state} halt={run.halt} wait={run.wait}")
            lines += [f"  {e.id} {e.kind} {str(e.data)[:300]}" for e in ledger.journal(run.id)]
        for role in ROLES:
            lines.append(f"{role} said:\n{self.up.log(role)[-4000:]}")
        return "\n".join(lines)

    def slow(self, name: str, path: str, method: str = "POST", seconds: float = 6.0) -> None:
        """GitHub does the next such work in this repository and answers late. In no other: the desk
        may still write to an earlier test's pull request, which would use the fault up."""
        where = f"/repos/{name}(/.*)?{path}"
        self.up.hub.fault("late", where, method=method, seconds=seconds)

    def settle(self) -> None:
        """Everything works again, and no run of this test goes on into the next one, whose model
        it would ask. Raises `TimeoutError` where a cancelled run does not end."""
        self.up.hub.clear_faults()
        assert self.up.model is not None
        self.up.model.faults()
        self.up.model.latency(0)
        ledger = self.up.ledger
        ledger.resume()
        with self.up.redis.client() as client:
            client.delete(record.pace_key(self.up.installation))
        revive(self.up)
        for run in ledger.runs_without_end():
            ledger.cancel(run)
        self.up.await_true(lambda: not self.at_work(), 180)

    def at_work(self) -> list[str]:
        """Ids of runs that have not ended. One whose ending nobody can be told, since its
        repository was taken from the App, has ended and asks no model."""
        ledger = self.up.ledger
        found = [ledger.run(one) for one in ledger.runs_without_end()]
        return [one.id for one in found if one is not None and one.state not in ENDS]

    def end(self, name: str, number: int, seconds: float = 240, after: str = "") -> Run:
        return self.up.await_run(
            lambda run: (
                run.repository.full_name == name
                and run.issue == number
                and run.id != after
                and run.explained
            ),
            seconds,
        )


def tree(place: Path, files: Mapping[str, str]) -> Path:
    """A git repository with these files in its one commit."""
    place.mkdir(parents=True)
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, encoding="utf-8")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Begin")
    return place


def git(place: Path, *words: str) -> str:
    person = ("-c", "user.name=Mona", "-c", "user.email=mona@example.org")
    done = subprocess.run(
        ["git", *person, "-C", str(place), *words], capture_output=True, text=True, check=True
    )
    return done.stdout


def diff(place: Path, files: Mapping[str, str | None]) -> str:
    """The unified diff from HEAD to HEAD with these files (None deletes one)."""
    for path, text in files.items():
        if text is None:
            (place / path).unlink()
        else:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, encoding="utf-8")
    git(place, "add", "-A")
    found = git(place, "diff", "--cached", "HEAD")
    git(place, "reset", "-q", "--hard", "HEAD")
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each wait here has a deadline of its own, which tells what was waited for; the whole test's
    must not come before it."""
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(900))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test also shows what its instance did: a process that failed says why only there."""
    report = yield
    town = getattr(item, "funcargs", {}).get("town")
    if report.when == "call" and report.failed and isinstance(town, Town):
        report.sections.append(("what the instance did", town.story()))
    return report


@pytest.fixture(scope="session")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    extra = {
        "desk": {"PATCHWARRANT_LEASE_SECONDS": "4"},
        "runner": {"PATCHWARRANT_LEASE_SECONDS": "4"},
    }
    with stack(OWNER, extra=extra) as made:
        made.hub.create_organisation(OWNER)
        made.installation = made.hub.install("patchwarrant", OWNER, [])
        yield made


@pytest.fixture
def town(up: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A quiet instance: no faults, no latency, every role up."""
    up.hub.clear_faults()
    up.hub.clear_log()  # with it the hour's 5,000 requests, which all tests together use up
    assert up.model is not None
    up.model.faults()
    up.model.reset()
    up.ledger.resume()
    revive(up)
    made = Town(up, tmp_path_factory.mktemp("repositories"))
    yield made
    made.settle()


def revive(up: Stack) -> None:
    """Every role is up; the doors of those that had to be started answer."""
    down = [role for role in ROLES if not up.living(role)]
    for role in down:
        up.start(role)
    if down:
        up.await_ready()


Act = Callable[[Town, str], None]
