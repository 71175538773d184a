"""A revision in the runner: it begins at the head, is compared with the base, and moves on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.domain.check import Outcome
from app.domain.edit import FILE, Candidate, Change
from app.domain.errors import Halt, Reason
from app.domain.evidence import Result
from app.domain.plan import Action, Plan, PlannedFile
from app.domain.policy import rules_of
from app.domain.record import Kept
from app.domain.revision import Revision, Scope, Thread
from app.domain.run import Attempt, Run
from app.domain.since import Since, of_note
from app.domain.state import Kind, State
from tests.fakes.sandbox import IMAGE
from tests.worker.runner.checks.reports import ran
from tests.worker.runner.stages.runs import FILES, World, with_sentinels
from worker.runner.stages.gate import gate
from worker.runner.stages.prepare import prepare
from worker.runner.stages.verify import verify

A = "tests/test_a.py::test_a"
LONG = b"".join(b"line %d\n" % n for n in range(40))
HEAD = {**FILES, "pkg/a.py": b"two\n", "pkg/long.py": LONG}
IN_A = Thread("t1", "Say three.", "rita", "review:5:1", 71, "pkg/a.py", 1, 1)
IN_LONG = Thread("t2", "And here.", "rita", "review:5:1", 72, "pkg/long.py", 30, 30)


def suite(files: Mapping[str, bytes]) -> Outcome:
    """test_a wants anything but the base's `one`; `broken` breaks it."""
    cases = {A: "" if files["pkg/a.py"] in (b"two\n", b"three\n") else "no"}
    return ran(int(any(with_sentinels(files, cases).values())), with_sentinels(files, cases))


class Review:
    """A world whose pull request has HEAD, and a revision of it."""

    def __init__(self) -> None:
        self.world = World()
        self.world.says(suite)
        self.head = self.world.objects.commit(HEAD)
        self.earlier: dict[str, Run] = {}

    def kit(self):  # type: ignore[no-untyped-def]
        return replace(self.world.kit(), earlier=self.earlier.get)

    def run(self, *threads: Thread, previous: str = "") -> Run:
        run = self.world.run()
        assert run.contract is not None
        scope = Scope(tuple(one.path for one in threads) or ("pkg/a.py",))
        revision = Revision(9, threads or (IN_A,), scope, ("review:5:1",), previous)
        contract = replace(run.contract, head=self.head, revision=revision)
        return replace(run, kind=Kind.REVISE, contract=contract)

    def edited(self, run: Run, **files: bytes) -> Run:
        """The prepared run with a plan and edits on its head, verified."""
        assert run.snapshot is not None
        changes = tuple(
            Change(path, FILE, self.world.hold.put(data))
            for path, data in sorted((p.replace("__", "/") + ".py", d) for p, d in files.items())
        )
        tree = self.world.objects.build(run.snapshot.start, changes, self.world.hold.get)
        plan = Plan(
            "p", tuple(PlannedFile(c.path, Action.EDIT, "w", 5) for c in changes), (), (), (), 3
        )
        run = replace(run, state=State.VERIFY, plan=plan, candidate=Candidate(tree, changes))
        return replace(verify(self.kit())(run), state=State.GATE)

    def notes(self, key: str) -> list[object]:
        found = (e.data.get(key) for e in self.world.hold.entries() if e.kind is Kept.NOTE)
        return [one for one in found if one is not None]

    def since(self) -> Since:
        entries = self.world.hold.entries()
        return next(s for s in (of_note(e.data) for e in reversed(entries)) if s)


@pytest.fixture
def review() -> Review:
    return Review()


def test_edits_begin_at_the_head_and_checks_are_compared_with_the_base(review: Review) -> None:
    run = prepare(review.kit())(review.run())
    assert run.state is State.LOCATE and run.candidate is None and run.snapshot is not None
    assert run.snapshot.base_tree == review.world.base
    assert run.snapshot.start == review.world.objects.remote[review.head]
    assert run.snapshot.head == review.head
    assert {one.tree for one in run.baseline} == {review.world.base}


def test_the_verdict_is_about_the_whole_tree_and_the_plan_about_the_edits(review: Review) -> None:
    run = prepare(review.kit())(review.run())
    done = gate(review.kit())(review.edited(run, pkg__a=b"three\n"))
    assert done.state is State.PUBLISH and done.verdict is not None
    assert done.verdict.result is Result.PASSED, done.verdict.wall
    # The base fails test_a: only against it the change has anything to show.
    assert done.results[0].comparison is not None and done.results[0].comparison.fixed == (A,)
    told = review.since()
    assert [one.path for one in told.files] == ["pkg/a.py"] and told.head == review.head
    assert not told.known
    rows = review.notes("deltas")[-1]
    assert [row[0] for row in rows] == ["pkg/a.py", "pkg/long.py"]  # type: ignore[attr-defined]


def test_an_edit_outside_the_comments_is_a_rule_that_does_not_hold(review: Review) -> None:
    run = prepare(review.kit())(review.run())
    done = gate(review.kit())(review.edited(run, pkg__a=b"three\n", pkg__long=b"x\n"))
    assert done.verdict is not None and done.verdict.result is Result.FAILED
    assert "the comments are about: `pkg/long.py`" in done.verdict.wall


def test_what_people_put_under_a_blocked_path_does_not_end_our_revision(review: Review) -> None:
    review.head = review.world.objects.commit({**HEAD, ".github/workflows/x.yml": b"on: push\n"})
    run = prepare(review.kit())(review.run())
    done = gate(review.kit())(review.edited(run, pkg__a=b"three\n"))
    assert done.verdict is not None


def test_a_revision_that_changes_nothing_says_so(review: Review) -> None:
    run = prepare(review.kit())(review.run())
    assert run.snapshot is not None
    same = replace(run, state=State.GATE, candidate=Candidate(run.snapshot.start, ()))
    with pytest.raises(Halt) as ended:
        gate(review.kit())(same)
    assert ended.value.record.reason is Reason.NO_CHANGE


def test_the_delta_is_told_test_by_test_where_the_head_has_evidence(review: Review) -> None:
    first = prepare(review.kit())(review.run())
    assert first.snapshot is not None
    tree = first.snapshot.start
    before = review.kit().certify("r0", "verify", first.snapshot.checks[0], tree, IMAGE)
    review.earlier["r0"] = replace(
        first, id="r0", candidate=Candidate(tree, ()), attempts=(Attempt(tree, (before,), "s"),)
    )
    run = prepare(review.kit())(review.run(previous="r0"))
    gate(review.kit())(review.edited(run, pkg__a=b"broken\n"))
    told = review.since()
    assert told.known and told.failing == (A,) and told.checks == (("tests", "passed", "failed"),)


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        ({"pkg__a": b"three\n"}, {"t1": "lines", "t2": "nothing"}),
        ({"pkg__long": LONG.replace(b"line 29\n", b"LINE\n")}, {"t1": "nothing", "t2": "lines"}),
        ({"pkg__long": LONG.replace(b"line 3\n", b"LINE\n")}, {"t1": "nothing", "t2": "file"}),
        ({"pkg__long": LONG.replace(b"line 29\n", b"")}, {"t1": "nothing", "t2": "lines"}),
        ({"pkg__long": b"new\n" + LONG}, {"t1": "nothing", "t2": "file"}),
    ],
)
def test_what_of_a_thread_was_changed_is_measured_in_the_trees(
    review: Review, edits: dict[str, bytes], wanted: dict[str, str]
) -> None:
    run = prepare(review.kit())(review.run(IN_A, IN_LONG))
    gate(review.kit())(review.edited(run, **edits))
    assert review.notes("thread_lines") == [wanted]


def moved(review: Review, run: Run, **files: bytes) -> Run:
    """The run after people pushed these files on its head."""
    named = {p.replace("__", "/") + ".py": d for p, d in files.items()}
    head = review.world.objects.commit({**HEAD, **named})
    return replace(run, state=State.GATE, heads=(*run.heads, head), verdict=None)


def test_a_moved_head_gets_the_same_edits_and_every_check_again(review: Review) -> None:
    run = prepare(review.kit())(review.run(IN_A, IN_LONG))
    edited = review.edited(run, pkg__a=b"three\n", pkg__long=LONG.replace(b"line 30\n", b"LINE\n"))
    first = gate(review.kit())(edited)
    theirs = LONG.replace(b"line 2\n", b"THEIRS\n")
    again = gate(review.kit())(moved(review, first, pkg__long=theirs, pkg__new=b"n\n"))
    assert again.state is State.PUBLISH and again.verdict is not None
    assert again.candidate is not None and again.verdict.tree == again.candidate.tree
    assert again.candidate.tree != edited.candidate.tree  # type: ignore[union-attr]
    objects = review.world.objects
    merged = objects.read(again.candidate.tree, "pkg/long.py")
    assert b"THEIRS\n" in merged and b"LINE\n" in merged
    assert objects.read(again.candidate.tree, "pkg/new.py") == b"n\n"
    assert [one.path for one in again.candidate.changes] == ["pkg/a.py", "pkg/long.py"]
    assert len(again.attempts) == len(first.attempts) + 1
    assert again.snapshot is not None and again.snapshot.head == again.onto
    assert review.since().head == again.onto and not review.since().known
    assert review.world.open_fetches == 0


def test_edits_that_do_not_fit_the_moved_head_end_it_with_the_patch(review: Review) -> None:
    run = gate(review.kit())(review.edited(prepare(review.kit())(review.run()), pkg__a=b"three\n"))
    with pytest.raises(Halt) as ended:
        gate(review.kit())(moved(review, run, pkg__a=b"four\n"))
    record = ended.value.record
    assert record.reason is Reason.HEAD_MOVED and record.details == ("`pkg/a.py`: both changed it",)
    patch = review.world.hold.get(str(review.notes("patch")[-1]))
    assert b"+three" in patch and b"long" not in patch


def test_a_moved_head_that_is_gone_or_odd_ends_it(review: Review) -> None:
    run = gate(review.kit())(review.edited(prepare(review.kit())(review.run()), pkg__a=b"three\n"))
    lost = replace(run, state=State.GATE, heads=("0" * 40,))
    with pytest.raises(Halt, match="cannot be fetched"):
        gate(review.kit())(lost)
    odd = moved(review, run, pkg__new=b"1\n")
    review.world.objects.broken.add(review.world.objects.remote[odd.onto])
    with pytest.raises(Halt) as ended:
        gate(review.kit())(odd)
    assert ended.value.record.reason is Reason.BASE_INVALID


def test_a_person_who_did_the_same_leaves_nothing_to_push(review: Review) -> None:
    run = gate(review.kit())(review.edited(prepare(review.kit())(review.run()), pkg__a=b"three\n"))
    with pytest.raises(Halt) as ended:
        gate(review.kit())(moved(review, run, pkg__a=b"three\n"))
    assert ended.value.record.reason is Reason.NO_CHANGE


def test_rules_of_a_contract_without_a_revision_have_no_scope() -> None:
    run = World().run()
    assert run.contract is not None and rules_of(run.contract.config).scope is None
