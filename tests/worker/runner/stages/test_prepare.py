"""Prepare pins what the run stands on: base tree, configuration, image, baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from app.domain.check import Outcome, Standing
from app.domain.edit import FILE, GITLINK, LINK
from app.domain.errors import Halt, Park, Reason, Refused, Unavailable, Waiting
from app.domain.markdown import inline
from app.domain.recognise import PYTEST_REPORT, SNIPPET
from app.domain.record import Kept
from app.domain.repo_config import CONFIG_PATH, CheckConfig
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.fakes.objects import File, MemoryObjects
from tests.fakes.sandbox import IMAGE, PROFILE, FakeSandbox, ended
from tests.worker.runner.checks.reports import ran
from tests.worker.runner.stages.runs import FILES, World
from worker.config_file import config_of
from worker.runner.stages.prepare import prepare

GOOD = ran(0, {"tests/test_a.py::test_a": ""})


def reason_of(world: World, run: Run) -> Halt:
    with pytest.raises(Halt) as halt:
        prepare(world.kit())(run)
    return halt.value


def test_the_snapshot_pins_tree_image_profile_and_checks() -> None:
    world = World()
    world.says(lambda _files: GOOD)
    run = prepare(world.kit())(world.run())
    assert run.state is State.LOCATE
    assert run.snapshot is not None
    assert (run.snapshot.base_tree, run.snapshot.image, run.snapshot.profile) == (
        world.base,
        IMAGE,
        PROFILE,
    )
    assert [check.name for check in run.snapshot.checks] == ["tests"]
    assert run.snapshot.assumed == ()
    (baseline,) = run.baseline
    assert (baseline.standing, baseline.tree) == (Standing.PASSED, world.base)
    assert run.spend.sandbox_ms == baseline.ms > 0
    assert world.objects.fetched == [("https://git.example/o/n", world.commit)]


def test_the_token_is_handed_back_whatever_happens() -> None:
    world = World()
    run = world.run()
    assert run.contract is not None
    lost = replace(run, contract=replace(run.contract, base_commit="0" * 40))
    assert reason_of(world, lost).record.reason is Reason.BASE_LOST
    assert world.open_fetches == 0


def test_a_base_that_cannot_be_kept_is_refused_before_anything_runs() -> None:
    world = World()
    world.objects.broken.add(world.base)
    assert reason_of(world, world.run()).record.reason is Reason.BASE_INVALID
    assert world.sandbox.ran == []


def test_another_configuration_than_at_admission_is_refused() -> None:
    world = World()
    run = world.run()
    assert run.contract is not None
    for source in ("", "1" * 40):
        other = replace(run, contract=replace(run.contract, config_source=source))
        assert reason_of(world, other).record.reason is Reason.INTEGRITY
    evil = replace(run.contract.config, checks=(CheckConfig("tests", "true", {}),))
    other = replace(run, contract=replace(run.contract, config=evil))
    assert reason_of(world, other).record.reason is Reason.INTEGRITY
    assert world.sandbox.ran == []


def test_a_configuration_that_is_a_link_is_refused() -> None:
    world = World()
    run = world.run()
    assert run.contract is not None
    linked = World({**FILES, CONFIG_PATH: (LINK, b"elsewhere.yml")})
    oid = next(e.oid for e in linked.objects.entries(linked.base) if e.path == CONFIG_PATH)
    contract = replace(run.contract, base_commit=linked.commit, config_source=oid)
    halt = reason_of(linked, replace(run, contract=contract))
    assert halt.record.reason is Reason.INTEGRITY


def test_a_well_known_project_needs_no_configuration_and_says_what_was_assumed() -> None:
    world = World({"tests/test_a.py": b"", "a.py": b""})
    world.says(lambda _files: GOOD)
    run = prepare(world.kit())(world.run())
    assert run.snapshot is not None
    assert [check.name for check in run.snapshot.checks] == ["pytest"]
    assert "pytest" in run.snapshot.assumed[0]
    assert world.sandbox.ran[0][2].report == PYTEST_REPORT


SCRIPT = b'{"scripts": {"test": "node --test"}}'


def test_tests_in_a_folder_that_no_check_runs_are_kept_with_the_snapshot() -> None:
    files: dict[str, bytes] = {"tests/test_a.py": b"", "web/package.json": SCRIPT}
    world = World(files)
    world.says(lambda _files: GOOD)
    run = prepare(world.kit())(world.run())
    assert run.snapshot is not None
    assert [check.name for check in run.snapshot.checks] == ["pytest"]
    assert [one.folder for one in run.snapshot.untested] == ["web"]
    world = World({**files, CONFIG_PATH: b"checks: [{name: a, run: x}]\n"})
    run = prepare(world.kit())(world.run())
    assert run.snapshot is not None and run.snapshot.untested == ()  # its people decided
    world = World({"web/package.json": SCRIPT})
    halt = reason_of(world, world.run())
    assert halt.record.reason is Reason.NO_CHECKS
    assert "workdir: web}`" in halt.record.details[0]


def test_where_nothing_is_recognised_the_lines_to_add_are_shown() -> None:
    halt = reason_of(World({"README.md": b"hi"}), World({"README.md": b"hi"}).run())
    assert halt.record.reason is Reason.NO_CHECKS
    assert "checks:" in halt.record.next_step
    shown = inline(halt.record.next_step, 1_500)
    assert shown.count("`") == 4  # the comment shows the line as code, in one piece
    config = config_of(SNIPPET.encode())
    assert [check.report for check in config.checks] == ["report.xml"]
    assert f"`{SNIPPET}`" in shown


def test_a_red_baseline_and_an_unusable_one_are_kept_and_blame_nobody() -> None:
    world = World()
    world.says(lambda _files: ran(1, {"tests/test_a.py::test_a": "no"}))
    red = prepare(world.kit())(world.run())
    assert (red.state, red.baseline[0].standing) == (State.LOCATE, Standing.FAILED)
    world = World({**FILES, CONFIG_PATH: b"checks: [{name: a, run: x}, {name: b, run: [y]}]\n"})
    world.sandbox.acts = lambda job, _files: ended(127 if job.name == "a" else 0)
    unusable = prepare(world.kit())(world.run())
    assert unusable.state is State.LOCATE
    assert (unusable.baseline[0].standing, unusable.baseline[0].reason) == (
        Standing.UNAVAILABLE,
        "environment",
    )


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (ended(127, stderr=b"sh: 1: npm: not found\n"), "the program `npm` is not there"),
        (ended(126), "the program `sh` is not there or cannot be run (exit code 126)"),
        (ended(None, error="no folder `gone` in the tree"), "not started: no folder `gone`"),
        (ended(1, stderr=b"/usr/bin/python3: No module named pytest\n"), "the module `pytest`"),
    ],
)
def test_no_check_that_can_start_ends_the_run_before_it_costs_anything(
    outcome: Outcome, said: str
) -> None:
    world = World(
        {**FILES, CONFIG_PATH: b"checks: [{name: a, run: x}, {name: q, run: y, tier: quick}]\n"}
    )
    world.sandbox.acts = lambda job, _files: outcome if job.name == "a" else ended(0)
    record = reason_of(world, world.run()).record
    assert record.reason is Reason.CHECKS_UNAVAILABLE
    assert said in record.message
    assert "None" not in record.message
    assert "`setup`" in record.next_step and "PATCHWARRANT_IMAGES" in record.next_step
    theirs = prepare(world.kit())(replace(world.run(), kind=Kind.VERIFY))
    assert theirs.state is not State.PREPARE  # somebody else's change costs nothing: it is told


def test_an_image_that_is_not_allowed_names_the_key() -> None:
    world = World({**FILES, CONFIG_PATH: b"image: evil\nchecks: [{name: a, run: x}]\n"})
    halt = reason_of(world, world.run())
    assert halt.record.reason is Reason.CONFIG_ERROR
    assert "`evil`" in halt.record.message


class NoImage(FakeSandbox):
    def image(self, name: str) -> tuple[str, str]:
        raise Refused(f"no image {name!r}")


def test_a_missing_default_image_is_the_operators() -> None:
    world = World(sandbox=NoImage())
    assert reason_of(world, world.run()).record.reason is Reason.NEEDS_OPERATOR


def test_a_sandbox_that_is_away_parks_and_a_second_visit_measures_nothing_twice() -> None:
    world = World(
        {**FILES, CONFIG_PATH: b"checks: [{name: a, run: x}, {name: b, run: y, tier: quick}]\n"}
    )
    outcomes = iter([ended(0)])

    def acts(*_ignored: object) -> object:
        try:
            return next(outcomes)
        except StopIteration:
            raise Unavailable("busy", 5.0) from None

    world.sandbox.acts = acts  # type: ignore[assignment]
    with pytest.raises(Park) as parked:
        prepare(world.kit())(world.run())
    assert (parked.value.waiting, parked.value.seconds) == (Waiting.SANDBOX, 5.0)
    world.says(lambda _files: ended(1))
    run = prepare(world.kit())(world.run())
    assert [result.standing for result in run.baseline] == [Standing.PASSED, Standing.FAILED]
    assert len([e for e in world.hold.entries() if e.kind is Kept.CHECK]) == 2
    world.sandbox.away = Unavailable("gone")
    with pytest.raises(Park) as parked:
        prepare(world.kit())(world.run())
    assert parked.value.seconds == 30.0


def test_a_run_without_a_contract_is_a_bug() -> None:
    world = World()
    with pytest.raises(LookupError):
        prepare(world.kit())(replace(world.run(), contract=None))


def test_the_next_run_on_the_same_base_measures_and_pays_nothing() -> None:
    first, second = World(), World()
    first.says(lambda _files: GOOD)
    before = prepare(first.kit())(first.run())
    second.hold.memory, second.hold.blobs = first.hold.memory, first.hold.blobs
    run = prepare(second.kit())(second.run())
    assert second.sandbox.ran == []
    assert run.baseline == tuple(replace(one, cached=True) for one in before.baseline)
    assert run.spend.sandbox_ms == 0
    assert [e.data["phase"] for e in second.hold.entries() if e.kind is Kept.CHECK] == ["baseline"]


def foreign(world: World, files: dict[str, bytes]) -> Run:
    """A run about somebody else's head with these files over those of the base."""
    run = world.run()
    assert run.contract is not None
    head = world.objects.commit({**world.files, **files})
    return replace(run, kind=Kind.VERIFY, contract=replace(run.contract, head=head))


def test_a_foreign_head_is_the_candidate_and_the_rules_stay_those_of_the_base() -> None:
    world = World()
    world.says(lambda _files: GOOD)
    asked = foreign(world, {"new.py": b"x = 1\n", CONFIG_PATH: b"version: 9\n"})
    run = prepare(world.kit())(asked)
    assert run.state is State.VERIFY and asked.contract is not None
    assert run.candidate is not None and run.snapshot is not None
    assert run.candidate.tree == world.objects.remote[asked.contract.head]
    assert {one.path for one in run.candidate.changes} == {"new.py", CONFIG_PATH}
    assert run.snapshot.base_tree == world.base
    assert [check.name for check in run.snapshot.checks] == ["tests"]
    assert [one for _, one in world.objects.fetched] == [world.commit, asked.contract.head]
    assert world.open_fetches == 0


def test_a_foreign_head_that_is_gone_or_cannot_be_kept_runs_nothing() -> None:
    world = World()
    run = foreign(world, {"new.py": b"1\n"})
    assert run.contract is not None
    lost = replace(run, contract=replace(run.contract, head="0" * 40))
    halt = reason_of(world, lost)
    assert halt.record.reason is Reason.BASE_LOST and "The head" in halt.record.message
    world.objects.broken.add(world.objects.remote[run.contract.head])
    assert reason_of(world, run).record.reason is Reason.BASE_INVALID
    assert world.sandbox.ran == [] and world.open_fetches == 0


def updating(world: World, ours: dict[str, File | None], theirs: dict[str, File | None]) -> Run:
    """A run that merges a base with `theirs` into a branch with `ours`, both over the files."""

    def made(files: dict[str, File | None]) -> str:
        left = {**world.files, **files}
        return world.objects.commit({path: one for path, one in left.items() if one is not None})

    run = world.run()
    assert run.contract is not None
    contract = replace(run.contract, fork=world.commit, head=made(ours), base_commit=made(theirs))
    return replace(run, kind=Kind.UPDATE, contract=contract)


def test_an_update_checks_the_merge_and_keeps_what_publishing_needs() -> None:
    world = World()
    world.says(lambda _files: GOOD)
    asked = updating(world, {"new.py": b"x = 1\n", "l": (LINK, b"new.py")}, {"pkg/b.py": b"b\n"})
    run = prepare(world.kit())(asked)
    assert run.state is State.VERIFY and run.candidate is not None and run.snapshot is not None
    assert run.snapshot.base_tree == world.objects.remote[asked.contract.base_commit]  # type: ignore[union-attr]
    paths = {entry.path for entry in world.objects.entries(run.candidate.tree)}
    assert paths == {*world.files, "new.py", "l", "pkg/b.py"}
    kept = {one.path: (one.mode, world.hold.get(one.blob)) for one in run.candidate.changes}
    assert kept == {"new.py": (FILE, b"x = 1\n"), "l": (LINK, b"new.py")}
    assert len(world.objects.fetched) == 3 and world.open_fetches == 0


def test_a_conflict_names_the_files_and_runs_nothing() -> None:
    world = World()
    run = updating(world, {"pkg/a.py": b"ours\n"}, {"pkg/a.py": b"theirs\n"})
    halt = reason_of(world, run)
    assert halt.record.reason is Reason.MERGE_CONFLICT and halt.record.details == ("pkg/a.py",)
    assert "checked again by itself" in halt.record.next_step
    assert world.sandbox.ran == []


def test_a_submodule_of_the_branch_is_left_to_people() -> None:
    world = World()
    run = updating(world, {"sub": (GITLINK, b"")}, {"pkg/b.py": b"b\n"})
    assert reason_of(world, run).record.reason is Reason.MERGE_CONFLICT


def test_checks_that_cannot_start_end_no_look_at_peoples_work() -> None:
    world = World()
    world.says(lambda _files: replace(GOOD, exit_code=127))
    asked = replace(foreign(world, {"new.py": b"x = 1\n"}), kind=Kind.RECHECK)
    assert prepare(world.kit())(asked).state is State.VERIFY


def test_what_the_base_tells_contributors_is_pinned_by_blob() -> None:
    world = World({**World().files, "AGENTS.md": b"Use tabs.\n"})
    world.says(lambda _files: GOOD)
    run = prepare(world.kit())(world.run())
    assert run.snapshot is not None
    assert [hint.path for hint in run.snapshot.hints] == ["AGENTS.md"]


@dataclass
class Forgetful(MemoryObjects):
    """A git server that knows no token at the first `left` tries."""

    left: int = 0

    def fetch(self, url: str, token: str, commit: str) -> str:
        if self.left:
            self.left -= 1
            raise Refused("The git server refuses the token of this run.", 401)
        return super().fetch(url, token, commit)


@pytest.mark.parametrize("times", [1, 2])
def test_a_token_that_ended_is_asked_for_anew_once(times: int) -> None:
    world = World(objects=Forgetful(left=times))
    stage = prepare(world.kit())
    if times == 1:
        assert stage(world.run()).snapshot is not None
    else:
        with pytest.raises(Refused):
            stage(world.run())
    assert world.open_fetches == 0
