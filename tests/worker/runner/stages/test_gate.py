"""The gate's verdict is on the candidate's own tree, recomputed, and never on its own word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.domain.check import Outcome, Standing
from app.domain.claims import HIDDEN, NOT_RUN, UNTESTED
from app.domain.edit import FILE, LINK, Candidate, Change
from app.domain.errors import Halt, HaltRecord, Reason
from app.domain.evidence import Finding, Result, Verdict
from app.domain.record import Kept
from app.domain.repo_config import CONFIG_PATH
from app.domain.report import Facts, pull_body
from app.domain.run import Run
from app.domain.state import JUDGING, Kind, Signal, State
from app.domain.untested import ONCE, Untested
from tests.fakes.sandbox import ended
from tests.worker.runner.checks.reports import ran
from tests.worker.runner.stages.runs import FILES, OWN_SECRET, World, with_sentinels
from worker.runner.stages.gate import gate
from worker.runner.stages.verify import verify

A, B = "tests/test_a.py::test_a", "tests/test_a.py::test_b"


def suite(files: Mapping[str, bytes]) -> Outcome:
    """Runs the tests that the test file names: test_a wants the source to say two."""
    cases: dict[str, str] = {}
    text = files["tests/test_a.py"].decode()
    right = files["pkg/a.py"] == b"two\n"
    if "test_a" in text:
        weak = "weak" in text or b"cheat" in files.get("conftest.py", b"")
        cases[A] = "" if right or weak else "no"
    if "test_b" in text:
        cases[B] = ""
    cases = with_sentinels(files, cases)
    return ran(int(any(cases.values())), cases)


@pytest.fixture
def world() -> World:
    made = World()
    made.says(suite)
    return made


def verified(world: World, run: Run, **files: bytes | None) -> Run:
    run = world.changed(run, **files)
    assert run.candidate is not None
    run = world.planned(run, *(change.path for change in run.candidate.changes))
    stage = verify(world.kit())
    return replace(stage(run), state=State.GATE)


def phases(world: World) -> list[str]:
    return [e.data["phase"] for e in world.hold.entries() if e.kind is Kept.CHECK]


def points(verdict: Verdict | None, claim: str) -> tuple[str, ...]:
    assert verdict is not None
    return next((one.exhibits for one in verdict.findings if one.claim == claim), ())


def hiding(run: Run, hidden: int) -> Run:
    assert run.contract is not None
    request = replace(run.contract.request, hidden=hidden)
    return replace(run, contract=replace(run.contract, request=request))


def test_hidden_text_in_the_request_is_a_point_to_look_at_and_decides_nothing(world: World) -> None:
    run = verified(world, hiding(world.prepared(), 1_042), pkg__a_py=b"two\n")
    after = gate(world.kit())(run)
    assert after.verdict is not None and after.verdict.result is Result.PASSED
    (said,) = points(after.verdict, HIDDEN)
    assert said.startswith("1,042 characters of hidden text were removed before anything read")
    assert "“What was asked”" in said and "the source of #3 (" in said
    body = pull_body(after, Facts())
    assert "Nothing stands out" not in body
    assert "1 point to look at below" in body
    assert "**Look at: hidden text in the request:** 1,042 characters" in body
    plain = gate(world.kit())(hiding(run, 0))
    assert points(plain.verdict, HIDDEN) == ()
    theirs = gate(world.kit())(replace(run, kind=Kind.VERIFY, plan=None))
    assert points(theirs.verdict, HIDDEN) == ()  # nobody read what its author wrote


WEB = Untested("pkg", "`pkg/package.json` has a test script, which no check runs.")
API = Untested("api", "`api/go.mod` is a module of its own with tests, which no check runs.")


def test_a_change_in_a_folder_whose_tests_no_check_runs_is_a_point_to_look_at(
    world: World,
) -> None:
    run = world.prepared()
    assert run.snapshot is not None
    run = replace(run, snapshot=replace(run.snapshot, untested=(API, WEB)))
    after = gate(world.kit())(verified(world, run, pkg__a_py=b"two\n"))
    assert after.verdict is not None and after.verdict.result is Result.PASSED
    assert points(after.verdict, UNTESTED) == (WEB.said, ONCE)
    assert API.said in points(after.verdict, NOT_RUN)
    assert WEB.said not in points(after.verdict, NOT_RUN)
    body = pull_body(after, Facts())
    look = body.partition("## Look at this first")[2].partition("\n## ")[0]
    assert "`pkg/package.json` has a test script" in look and "api" not in look
    assert "`api/go.mod`" in body.partition("## What was not done")[2].partition("\n## ")[0]


def test_a_good_change_passes_on_its_own_tree(world: World) -> None:
    run = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert run.state is State.PUBLISH
    assert run.verdict is not None and run.candidate is not None
    assert (run.verdict.result, run.verdict.wall) == (Result.PASSED, "")
    assert run.verdict.tree == run.candidate.tree
    # No test was touched: one run serves both; the sentinels run beside it.
    assert phases(world) == ["baseline", "verify", "sentinel"]
    notes = [entry.data for entry in world.hold.entries() if entry.kind is Kept.NOTE]
    assert {"deltas": [["pkg/a.py", 0o100644, 0o100644, 1, 1]]} in notes
    patches = [world.hold.get(note["patch"]) for note in notes if "patch" in note]
    assert len(patches) == 1
    assert b"+two" in patches[0]


def test_a_failing_check_is_never_passed(world: World) -> None:
    run = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"three\n"))
    assert run.verdict is not None
    assert run.verdict.result is Result.FAILED
    assert "tests" in run.verdict.wall


def test_the_bases_own_tests_run_over_a_candidate_that_touches_tests(world: World) -> None:
    run = verified(
        world,
        world.prepared(),
        pkg__a_py=b"three\n",
        tests__test_a_py=b"def test_a(): weak\n",
    )
    assert run.results[0].standing is Standing.PASSED
    done = gate(world.kit())(run)
    assert done.verdict is not None
    assert done.verdict.result is Result.FAILED
    assert phases(world)[-1] == "base-tests"
    files = world.sandbox.ran[-1][3]
    assert (files["tests/test_a.py"], files["pkg/a.py"]) == (FILES["tests/test_a.py"], b"three\n")
    assert done.spend.sandbox_ms > run.spend.sandbox_ms


def test_new_referee_and_test_files_are_taken_away_and_old_ones_put_back(world: World) -> None:
    run = verified(
        world,
        world.prepared(),
        pkg__a_py=b"two\n",
        conftest_py=b"cheat\n",
        tests__test_new_py=b"x",
        tests__test_a_py=b"def test_b(): pass\n",
    )
    gate(world.kit())(run)
    files = world.sandbox.ran[-1][3]
    assert "conftest.py" not in files
    assert "tests/test_new.py" not in files
    assert files["tests/test_a.py"] == FILES["tests/test_a.py"]
    assert files["pkg/a.py"] == b"two\n"


def test_a_deleted_test_file_is_put_back() -> None:
    world = World({**FILES, "tests/test_z.py": b"def test_z(): pass\n"})
    world.says(suite)
    run = verified(world, world.prepared(), pkg__a_py=b"two\n", tests__test_z_py=None)
    gate(world.kit())(run)
    (restored,) = [job for job in world.sandbox.ran if job[3]["pkg/a.py"] == b"two\n"][1:2]
    assert restored[3]["tests/test_z.py"] == b"def test_z(): pass\n"


def test_only_tests_changed_is_answered_by_the_baseline(world: World) -> None:
    run = verified(
        world, world.prepared(), tests__test_a_py=b"def test_a(): weak\ndef test_b(): pass\n"
    )
    before = len(world.sandbox.ran)
    done = gate(world.kit())(run)
    assert len(world.sandbox.ran) == before
    assert done.verdict is not None
    assert done.verdict.result is Result.FAILED  # the base's own test fails on the base


def test_nothing_changed_is_no_verdict(world: World) -> None:
    run = replace(world.prepared(State.GATE), attempts=())
    for candidate in (None, replace(verified(world, run, pkg__a_py=b"x\n")).candidate):
        same = candidate and replace(candidate, tree=world.base)
        with pytest.raises(Halt) as halt:
            gate(world.kit())(replace(run, candidate=same))
        assert halt.value.record.reason is Reason.NO_CHANGE


def test_a_blocked_path_is_never_published(world: World) -> None:
    run = verified(world, world.prepared(), pkg__a_py=b"two\n", auth__login_py=b"x\n")
    with pytest.raises(Halt) as halt:
        gate(world.kit())(run)
    record = halt.value.record
    assert record.reason is Reason.BLOCKED_PATH
    assert "auth/login.py" in record.message
    assert "unlock" in record.next_step


def test_an_unlocked_path_passes() -> None:
    config = FILES[CONFIG_PATH]
    assert isinstance(config, bytes)
    world = World({**FILES, CONFIG_PATH: config + b"paths: {unlock: ['auth/**']}\n"})
    world.says(suite)
    run = verified(world, world.prepared(), pkg__a_py=b"two\n", auth__login_py=b"x\n")
    done = gate(world.kit())(run)
    assert done.verdict is not None
    assert done.verdict.result is Result.PASSED


def test_an_added_secret_is_never_published_and_not_shown(world: World) -> None:
    secret = "ghp_" + "a1B2" * 9
    run = verified(world, world.prepared(), pkg__a_py=f"one\nkey = '{secret}'\n".encode())
    with pytest.raises(Halt) as halt:
        gate(world.kit())(run)
    assert halt.value.record.reason is Reason.SECRET_FOUND
    assert secret not in str(halt.value.record)


def test_a_secret_that_was_there_before_is_not_the_changes() -> None:
    line = b"key = 'ghp_" + b"a1B2" * 9 + b"'\n"
    world = World({**FILES, "pkg/old.py": line, "pkg/a.py": b"one\n" + line})
    world.says(lambda _files: ran(0, {A: ""}))
    run = verified(world, world.prepared(), pkg__a_py=b"two\n" + line, pkg__old_py=None)
    done = gate(world.kit())(run)
    assert done.verdict is not None


def halted(run: Run, reason: Reason) -> Run:
    """A run that stopped while it edited, with partial work."""
    stopped = replace(run, state=State.EDIT, halt=HaltRecord(reason, "It stopped.", "next"))
    return stopped.moved(Signal.KEEP)


def test_partial_work_is_measured_so_that_it_says_what_works(world: World) -> None:
    run = world.planned(world.changed(world.prepared(), pkg__a_py=b"two\n"), "pkg/a.py")
    done = gate(world.kit())(halted(run, Reason.BUDGET_TURNS))
    assert done.state is State.PUBLISH
    assert done.verdict is not None
    assert done.verdict.result is Result.PARTIAL
    assert done.verdict.wall == "It stopped."
    assert done.results[0].standing is Standing.PASSED


def test_when_the_time_is_over_nothing_more_is_run(world: World) -> None:
    run = world.planned(world.changed(world.prepared(), pkg__a_py=b"two\n"), "pkg/a.py")
    before = len(world.sandbox.ran)
    done = gate(world.kit())(halted(run, Reason.BUDGET_TIME))
    assert len(world.sandbox.ran) == before
    assert done.verdict is not None
    assert done.verdict.result is Result.PARTIAL


def test_a_change_without_a_plan_is_undeclared(world: World) -> None:
    run = world.changed(world.prepared(), pkg__a_py=b"two\n")
    done = gate(world.kit())(halted(run, Reason.BUDGET_TURNS))
    assert done.verdict is not None
    assert done.verdict.result is Result.FAILED


def test_a_check_that_the_change_does_not_concern_is_not_missed() -> None:
    config = (
        b"checks:\n- {name: tests, run: x, report: r.xml}\n"
        b"- {name: docs, run: z, paths: ['docs/**']}\n"
    )
    world = World({**FILES, CONFIG_PATH: config})
    world.says(suite)
    run = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert run.verdict is not None
    assert run.verdict.result is Result.PASSED


def test_an_unusable_check_is_partial_not_passed(world: World) -> None:
    world.says(lambda _files: ended(127))
    run = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert run.verdict is not None
    assert run.verdict.result is Result.PARTIAL
    assert "environment" in run.verdict.wall


def test_a_run_without_ground_is_a_bug(world: World) -> None:
    with pytest.raises(LookupError):
        gate(world.kit())(world.run(State.GATE))


def claims(run: Run) -> dict[str, tuple[str, str]]:
    """Claim -> (standing, exhibits in one line) of every leaf of the verdict's findings."""
    assert run.verdict is not None
    found = {}
    waiting = list(run.verdict.findings)
    while waiting:
        finding = waiting.pop()
        waiting += finding.parts
        if not finding.parts:
            found[finding.claim] = (str(finding.standing), " ".join(finding.exhibits))
    return found


def test_results_that_do_not_name_the_sentinels_are_not_credible(world: World) -> None:
    def lies(files: Mapping[str, bytes]) -> Outcome:
        return ran(0, {A: ""}) if files["pkg/a.py"] == b"cheat\n" else suite(files)

    run = world.prepared()
    world.says(lies)
    done = gate(world.kit())(verified(world, run, pkg__a_py=b"cheat\n"))
    assert done.verdict is not None
    assert done.verdict.result is Result.FAILED
    assert "Referee not credible" in done.verdict.wall
    assert phases(world) == ["baseline", "verify", "sentinel", "sentinel-on-base"]


def test_sentinels_are_in_no_tree_and_their_exit_code_is_not_the_checks(world: World) -> None:
    done = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert done.results[0].exit_code == 0
    last = world.sandbox.ran[-1][3]
    (path,) = [path for path, data in last.items() if b"found ==" in data]
    assert path.startswith("tests/test_")
    assert done.candidate is not None
    assert path not in {entry.path for entry in world.objects.entries(done.candidate.tree)}
    standing, said = claims(done)["`tests` reports its tests as they end"]
    assert standing == "holds"
    assert "must fail failed" in said


def test_where_the_base_cannot_run_sentinels_either_it_is_said_and_decides_nothing() -> None:
    world = World()

    def silent(files: Mapping[str, bytes]) -> Outcome:
        return ran(
            int(files["pkg/a.py"] != b"two\n"), {A: "" if files["pkg/a.py"] == b"two\n" else "x"}
        )

    world.says(silent)
    done = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert done.verdict is not None
    assert done.verdict.result is Result.PASSED
    assert "So it is on the base" in claims(done)["Sentinels that could not be run"][1]


def test_a_gate_that_starts_again_draws_no_new_sentinels(world: World) -> None:
    run = verified(world, world.prepared(), pkg__a_py=b"two\n")
    kit = world.kit()
    first = gate(replace(kit, draw=lambda: "a" * 8 + "b" * 8 + "c" * 15 + "1"))(run)
    before = len(world.sandbox.ran)
    second = gate(replace(kit, draw=lambda: "f" * 32))(run)
    assert second.verdict == first.verdict
    assert len(world.sandbox.ran) == before


def test_a_test_that_changes_its_mind_is_no_pass(world: World) -> None:
    seen: list[int] = []

    def moody(files: Mapping[str, bytes]) -> Outcome:
        seen.append(1)
        cases = {A: "", B: "no" if len(seen) == 3 else ""}
        cases = with_sentinels(files, cases)
        return ran(int(any(cases.values())), cases)

    world.says(moody)
    done = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert done.verdict is not None
    assert done.verdict.result is Result.PARTIAL
    assert B in done.verdict.wall
    assert "different answers" in done.verdict.wall


NEW = "tests/test_new.py::test_two"
OLD = "tests/test_new.py::test_same"


def with_new(files: Mapping[str, bytes]) -> Outcome:
    """`suite`, with the tests of a new file: one that needs the change and one that does not."""
    cases: dict[str, str] = {A: ""}
    if "tests/test_new.py" in files:
        cases[NEW] = "" if files["pkg/a.py"] == b"two\n" else "no"
        cases[OLD] = ""
    cases = with_sentinels(files, cases)
    return ran(int(any(cases.values())), cases)


def test_tests_of_the_change_run_over_the_bases_sources(world: World) -> None:
    world.says(with_new)
    run = verified(world, world.prepared(), pkg__a_py=b"two\n", tests__test_new_py=b"x\n")
    done = gate(world.kit())(run)
    assert done.verdict is not None
    assert done.verdict.result is Result.PASSED
    assert "red" in phases(world)
    told = claims(done)
    shown = told["Tests of the change fail on the base's sources and pass with the change"]
    assert shown == ("holds", f"Shown by: `{NEW}`.")
    idle = told["Tests of the change that show nothing about it"]
    assert idle[0] == "unknown"
    assert "prove nothing" in idle[1]
    assert OLD in idle[1]
    assert NEW not in idle[1]


def test_each_criterion_says_what_supports_it(world: World) -> None:
    done = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert claims(done)["Criterion: works"] == ("unknown", "no evidence: please review")


def test_signs_in_product_code_are_named_and_decide_nothing(world: World) -> None:
    def loose(files: Mapping[str, bytes]) -> Outcome:
        cases = with_sentinels(files, {A: ""})
        return ran(int(any(cases.values())), cases)

    world.says(loose)
    run = verified(world, world.prepared(), pkg__a_py=b"one\nimport os; os._exit(0)\n")
    done = gate(world.kit())(run)
    assert done.verdict is not None
    assert done.verdict.result is Result.PASSED
    said = claims(done)["Look at: lines that could decide about the tests"][1]
    assert "`pkg/a.py` line 2 ends the process" in said


def test_what_was_done_to_the_referee_is_the_first_finding(world: World) -> None:
    run = verified(
        world,
        world.prepared(),
        pkg__a_py=b"two\n",
        tests__test_a_py=b"import pytest\n@pytest.mark.skip\ndef test_a(): pass\n",
    )
    done = gate(world.kit())(run)
    assert done.verdict is not None
    first = done.verdict.findings[0]
    assert first.claim == "Touched the referee"
    assert any("skips" in said for said in first.exhibits)


def test_a_script_that_a_check_starts_is_put_back_like_a_test() -> None:
    config = b"checks:\n- {name: tests, run: 'sh tools/run.sh', report: r.xml}\n"
    world = World({**FILES, CONFIG_PATH: config, "tools/run.sh": b"pytest\n"})
    world.says(suite)
    run = verified(world, world.prepared(), pkg__a_py=b"two\n", tools__run_sh=b"true\n")
    done = gate(world.kit())(run)
    restored = [ran[3] for ran in world.sandbox.ran if ran[3]["tools/run.sh"] == b"pytest\n"]
    assert restored[-1]["pkg/a.py"] == b"two\n"
    assert "base-tests" in phases(world)
    assert any("tools/run.sh" in said for said in done.verdict.findings[0].exhibits)  # type: ignore[union-attr]


def test_one_of_our_own_secrets_is_never_published_and_not_shown(world: World) -> None:
    run = verified(world, world.prepared(), pkg__a_py=f"one\nx = '{OWN_SECRET}'\n".encode())
    with pytest.raises(Halt) as halt:
        gate(world.kit())(run)
    assert halt.value.record.reason is Reason.SECRET_FOUND
    assert "pkg/a.py" in halt.value.record.message
    assert OWN_SECRET not in str(halt.value.record)


def test_a_path_that_is_a_secret_is_not_shown_either(world: World) -> None:
    run = world.prepared()
    path = f"pkg/{OWN_SECRET}.py"
    changes = (Change(path, FILE, world.hold.put(b"x\n")),)
    tree = world.objects.build(world.base, changes, world.hold.get)
    run = replace(run, candidate=Candidate(tree, changes), state=State.GATE)
    with pytest.raises(Halt) as halt:
        gate(world.kit())(run)
    assert halt.value.record.reason is Reason.SECRET_FOUND
    assert OWN_SECRET not in str(halt.value.record)


def test_a_new_module_that_shadows_another_is_a_referee(world: World) -> None:
    """A forged test runner: what it says is looked at again without it."""

    def forged(files: Mapping[str, bytes]) -> Outcome:
        if "argparse.py" in files:
            return ran(0, with_sentinels(files, {A: "", B: ""}))
        return suite(files)

    world.says(forged)
    run = verified(world, world.prepared(), pkg__a_py=b"three\n", argparse_py=b"forge()\n")
    assert run.results[0].standing is Standing.PASSED
    done = gate(world.kit())(run)
    assert done.verdict is not None
    assert done.verdict.result is Result.FAILED
    said = " ".join(exhibit for one in done.verdict.findings for exhibit in texts(one))
    assert "`argparse.py` is new: a file that decides how tests or builds run." in said


def texts(finding: Finding) -> list[str]:
    return [*finding.exhibits, *(text for part in finding.parts for text in texts(part))]


@pytest.mark.parametrize("kind", sorted(JUDGING))
def test_somebody_elses_secret_is_said_and_not_quoted(world: World, kind: Kind) -> None:
    secret = "ghp_" + "a1B2" * 9
    line = f"import os; os._exit(0); KEY = '{secret}'\n".encode()
    run = verified(world, world.prepared(), pkg__a_py=b"two\n" + line, conftest_py=line)
    done = gate(world.kit())(replace(run, kind=kind))
    assert done.verdict is not None
    text = str(done.verdict.findings)
    assert secret not in text
    assert secret[:20] not in text
    for path in ("pkg/a.py", "conftest.py"):
        assert f"A secret is in the change: `{path}` adds what looks like one (GitHub token" in text
    assert "`pkg/a.py` line 2 ends the process or arranges its end: (not shown)" in text


@pytest.mark.parametrize("kind", sorted(JUDGING))
def test_somebody_elses_secret_alone_keeps_a_change_from_passing(world: World, kind: Kind) -> None:
    line = b"KEY = 'ghp_" + b"a1B2" * 9 + b"'\n"
    clean = verified(world, world.prepared(), pkg__a_py=b"two\n")
    done = gate(world.kit())(replace(clean, kind=kind))
    assert done.verdict is not None
    assert done.verdict.result is Result.PASSED
    run = verified(world, world.prepared(), pkg__a_py=b"two\n", pkg__key_py=line)
    done = gate(world.kit())(replace(run, kind=kind))
    assert done.verdict is not None
    assert done.verdict.result is Result.PARTIAL
    assert done.verdict.wall.startswith("A secret is in the change: `pkg/key.py`")


def test_a_link_among_the_tests_of_somebody_elses_change_never_passes(world: World) -> None:
    run = replace(world.prepared(), kind=Kind.VERIFY)
    link = (LINK, b"test_a.py")
    tree = world.objects.tree({**FILES, "pkg/a.py": b"two\n", "tests/data": link})
    changes = (Change("pkg/a.py", FILE, world.hold.put(b"two\n")),)
    run = verify(world.kit())(replace(run, candidate=Candidate(tree, changes)))
    assert run.results[0].standing is Standing.PASSED
    done = gate(world.kit())(replace(run, state=State.GATE))
    assert done.verdict is not None
    assert done.verdict.result is not Result.PASSED
    assert "base" in done.verdict.wall


NARROW = b"""version: 1
checks:
  - name: tests
    run: python3 -m pytest
    report: r.xml
    selector: python3 -m pytest {tests}
"""


@pytest.mark.parametrize("ms", [5, 200_000])
def test_a_long_check_is_narrowed_to_the_sentinels_and_some_of_its_tests(ms: int) -> None:
    world = World({**FILES, CONFIG_PATH: NARROW})
    world.says(lambda files: replace(suite(files), ms=ms))
    done = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert done.verdict is not None
    assert done.verdict.result is Result.PASSED
    argv = world.sandbox.ran[-1][2].argv
    if ms == 5:
        assert argv == ("sh", "-euc", "python3 -m pytest")
    else:
        assert argv[3].startswith("tests/test_")
        assert (*argv[:3], *argv[4:]) == ("python3", "-m", "pytest", A)


def test_red_to_green_is_narrowed_to_the_tests_of_the_change() -> None:
    world = World({**FILES, CONFIG_PATH: NARROW})
    world.says(with_new)
    run = verified(world, world.prepared(), pkg__a_py=b"two\n", tests__test_new_py=b"x\n")
    gate(world.kit())(run)
    red = [ran[2].argv for ran in world.sandbox.ran if ran[3].get("pkg/a.py") == b"one\n"]
    assert red[-1] == ("python3", "-m", "pytest", OLD, NEW)


def test_without_test_ids_red_to_green_says_that_it_cannot_tell() -> None:
    config = b"checks:\n- {name: tests, run: ./check}\n"
    world = World({**FILES, CONFIG_PATH: config})
    run = verified(world, world.prepared(), pkg__a_py=b"two\n", tests__test_new_py=b"x\n")
    done = gate(world.kit())(run)
    said = claims(done)["Red to green was not shown"]
    assert said[0] == "unknown"
    assert "could not be told apart" in said[1]


def test_a_change_of_tests_alone_proves_nothing() -> None:
    world = World()

    def green(files: Mapping[str, bytes]) -> Outcome:
        cases = with_sentinels(files, {A: ""})
        return ran(int(any(cases.values())), cases)

    world.says(green)
    run = verified(world, world.prepared(), tests__test_a_py=b"def test_a(): return 1\n")
    done = gate(world.kit())(run)
    idle = claims(done)["Tests of the change that show nothing about it"]
    assert A in idle[1]
    assert "red" not in phases(world)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (b"on: push\npermissions: {}\njobs: {a: {runs-on: ubuntu-24.04, steps: []}}\n", False),
        (b"on: push\njobs: {a: {runs-on: mine}}\n", True),
        (b"on: &x push\njobs: *x\n", True),  # not read, so not waved through
    ],
)
def test_workflows_of_the_pushed_tree_are_judged(text: bytes, held: bool) -> None:
    path = ".github/workflows/ci.yml"
    world = World({**FILES, path: text, ".github/workflows/notes.txt": b"on: push"})
    world.says(suite)
    done = gate(world.kit())(verified(world, world.prepared(), pkg__a_py=b"two\n"))
    assert done.ci is not None and done.ci.held is held
    assert done.ci.started == (() if text.startswith(b"on: &x") else (path,))
