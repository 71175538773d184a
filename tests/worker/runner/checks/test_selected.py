"""Selected tests are hints: bounded in, bounded out, in one container that is kept for the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.domain.check import Outcome, Standing
from app.domain.edit import EXECUTABLE, FILE, LINK
from app.domain.errors import Park, Unavailable
from app.domain.ports.sandbox import Job
from tests.fakes.hold import FakeHold
from tests.fakes.objects import File, MemoryObjects
from tests.fakes.sandbox import IMAGE, FakeSandbox, ended
from tests.worker.runner.checks.reports import CHECK, junit, ran
from worker.runner.checks.selected import BadSelectors, Selected, narrowed

BASE: Mapping[str, File] = {"a.py": b"1", "b.py": b"1", "run.sh": (EXECUTABLE, b"#")}


class Bench:
    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.sandbox = FakeSandbox(acts=self.act)
        self.outcome = ran(0, {"t.py::a": ""})
        self.base = self.objects.tree(BASE)
        self.hold = FakeHold()
        self.selected = Selected("run1", IMAGE, self.base, self.hold, self.objects, self.sandbox)

    def act(self, _job: Job, _files: Mapping[str, bytes]) -> Outcome:
        return self.outcome

    def with_files(self, **changed: File) -> str:
        named = {name.replace("__", "."): data for name, data in changed.items()}
        return self.objects.tree({**BASE, **named})


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_selectors_go_into_the_template_as_arguments(bench: Bench) -> None:
    odd = "t.py::a[$(id) ; x]"
    result, text = bench.selected.run_selected(CHECK, ["t.py::a", odd], bench.base, 60)
    _, run, job, _ = bench.sandbox.ran[0]
    assert job.argv == ("python3", "-m", "pytest", "t.py::a", odd)
    assert (run, job.seconds, job.report) == ("run1", 60, "r.xml")
    assert result.standing is Standing.PASSED
    assert "1 tests: 0 failed, 1 passed" in text


@pytest.mark.parametrize(
    ("selectors", "seconds", "said"),
    [
        ([], 60, "from 1 to 40 selectors"),
        (["a"] * 41, 60, "not 41"),
        (["a"], 4, "from 5 to 300 seconds"),
        (["a"], 301, "from 5 to 300 seconds"),
        (["-k x"], 60, "looks like an option"),
        (["--pdb"], 60, "looks like an option"),
        (["@file"], 60, "looks like an option"),
        ([""], 60, "is empty"),
        ([" "], 60, "is empty"),
        (["a" * 301], 60, "longer than 300"),
        (["a\nb"], 60, "control"),
        (["a\x00"], 60, "control"),
        (["/etc/x.py"], 60, "absolute"),
        (["a/../../x.py"], 60, "leaves the repository"),
    ],
)
def test_selectors_that_are_none_are_refused_before_anything_runs(
    bench: Bench, selectors: list[str], seconds: int, said: str
) -> None:
    with pytest.raises(BadSelectors, match=said):
        bench.selected.run_selected(CHECK, selectors, bench.base, seconds)
    assert bench.sandbox.boxes == []


def test_one_box_serves_the_run_and_changed_files_are_laid_over(bench: Bench) -> None:
    first = bench.with_files(a__py=b"2")
    second = bench.with_files(b__py=b"3", new__py=b"4")
    for tree in (first, second, bench.base):
        bench.selected.run_selected(CHECK, ["t.py"], tree, 60)
    seen = [files for _, _, _, files in bench.sandbox.ran]
    assert [files["a.py"] for files in seen] == [b"2", b"1", b"1"]
    assert [files["b.py"] for files in seen] == [b"1", b"3", b"1"]
    assert ["new.py" in files for files in seen] == [False, True, False]
    assert len(bench.sandbox.boxes) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"run__sh": (FILE, b"#")},
        {"tool": (EXECUTABLE, b"#")},
        {"link": (LINK, b"a.py")},
        {"big__py": b"x" * ((4 << 20) + 1)},
    ],
)
def test_what_an_overlay_cannot_show_gets_a_new_box(bench: Bench, changed: dict[str, File]) -> None:
    bench.selected.run_selected(CHECK, ["t.py"], bench.base, 60)
    bench.selected.run_selected(CHECK, ["t.py"], bench.with_files(**changed), 60)
    old, new = bench.sandbox.boxes
    assert (old.closed, new.closed) == (True, False)


def test_a_deleted_file_is_not_there(bench: Bench) -> None:
    tree = bench.objects.tree({"b.py": b"1"})
    bench.selected.run_selected(CHECK, ["t.py"], tree, 60)
    assert "a.py" not in bench.sandbox.ran[0][3]


def test_a_box_that_is_gone_is_replaced_once(bench: Bench) -> None:
    bench.selected.run_selected(CHECK, ["t.py"], bench.base, 60)
    bench.sandbox.boxes[0].closed = True
    result, _ = bench.selected.run_selected(CHECK, ["t.py"], bench.base, 60)
    assert result.standing is Standing.PASSED
    assert len(bench.sandbox.boxes) == 2


def test_the_box_goes_with_the_run(bench: Bench) -> None:
    with bench.selected as selected:
        selected.run_selected(CHECK, ["t.py"], bench.base, 60)
    assert [box.closed for box in bench.sandbox.boxes] == [True]
    bench.selected.close()


def test_a_sandbox_that_is_away_parks_the_run(bench: Bench) -> None:
    bench.sandbox.away = Unavailable("busy", 3.0)
    with pytest.raises(Park):
        bench.selected.run_selected(CHECK, ["t.py"], bench.base, 60)


def test_a_check_that_cannot_be_narrowed_runs_whole_and_says_so(bench: Bench) -> None:
    whole = replace(CHECK, selector=(), report="")
    _, text = bench.selected.run_selected(whole, ["t.py"], bench.base, 60)
    assert bench.sandbox.ran[0][2].argv == whole.argv
    assert "cannot be narrowed" in text
    assert "nothing said which tests ran" in text


def test_failures_totals_and_cuts_are_said_within_the_room(bench: Bench) -> None:
    cases = {f"t.py::t{n}": f"ValueError: {'long ' * 200}{n}" for n in range(30)}
    bench.outcome = replace(ended(1, b"y\n" * 40_000, b"", junit(cases)), seen=(10**9, 0))
    result, text = bench.selected.run_selected(CHECK, ["t.py"], bench.base, 60)
    assert result.counts is not None
    assert "30 tests: 30 failed" in text
    assert "more failures are not shown" in text
    assert "80000 of 1000000000 bytes kept" in text
    assert "FAILED t.py::t0" in text
    assert text.count("FAILED ") <= 12
    assert len(text) <= 8_000
    assert "end of the output" in text


def test_a_time_out_is_said_as_what_it_is(bench: Bench) -> None:
    bench.outcome = ended(137, b"slow", limit="time")
    result, text = bench.selected.run_selected(CHECK, ["t.py"], bench.base, 30)
    assert (result.standing, result.reason) == (Standing.FAILED, "limit:time")
    assert "timed out after 30 s" in text


def test_a_command_that_does_not_start_says_why(bench: Bench) -> None:
    bench.outcome = ended(None, error="no such program: python3")
    _, text = bench.selected.run_selected(CHECK, ["t.py"], bench.base, 30)
    assert "could not be started: no such program" in text


def test_a_template_without_words_narrows_nothing() -> None:
    assert narrowed((), ["a"]) == narrowed(("",), ["a"]) == ()
    assert narrowed(("p", "{tests}", "-x"), ["a", "b"]) == ("p", "a", "b", "-x")


def test_an_unheard_of_limit_is_named_and_a_small_output_is_shown_whole(bench: Bench) -> None:
    bench.outcome = ended(1, b"why", limit="heat")
    _, text = bench.selected.run_selected(replace(CHECK, report=""), ["t.py"], bench.base, 30)
    assert "its heat limit was hit" in text
    assert text.endswith("why")


def test_many_changed_files_get_a_new_box(bench: Bench) -> None:
    many = bench.objects.tree({**BASE, **{f"n{n}.py": b"x" for n in range(201)}})
    bench.selected.run_selected(CHECK, ["t.py"], bench.base, 60)
    bench.selected.run_selected(CHECK, ["t.py"], many, 60)
    assert len(bench.sandbox.boxes) == 2


def test_a_linters_findings_are_told_with_the_lines_they_are_about(bench: Bench) -> None:
    lint = replace(CHECK, argv=("ruff", "check", "."), selector=(), report="")
    tree = bench.objects.tree({"t.py": b"import os\n"})
    bench.sandbox.acts = lambda _job, _files: ended(1, b"t.py:1:8: F401 [*] `os` imported\n")
    result, text = bench.selected.run_selected(lint, ["t.py"], tree, 60)
    assert (result.parsed, result.failures[0].test) == ("ruff", "t.py: F401")
    assert "FAILED t.py: F401 at t.py:1\n  F401: `os` imported\n    > 1 | import os\n" in text
