"""The loop: odd replies, faults of the provider, and a restart at every point of a run."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.budget import Limits, Usage
from app.domain.errors import Fenced, Halt, Park, Refused, Stop, Unavailable, Waiting
from app.domain.ports.model import Reply, Request, Unfinished
from app.domain.record import Kept
from app.domain.report_parts import spent
from app.domain.run import Run
from app.domain.state import State
from tests.fakes.model import Made, ScriptedModel, reply
from tests.worker.runner.agent.world import FILES, World, halted_by, world
from tests.worker.runner.stages.test_locate_plan_edit import FIX, STAGES, WORDS, carried
from worker.runner.agent.kit import Kit
from worker.runner.stages.locate import locate

READ = ("read", {"path": "calc.py"})


@pytest.fixture
def w(tmp_path: Path) -> World:
    return world(tmp_path)


def paired(messages: Any) -> None:
    """Each reply with n calls is followed by n results, same ids, same order, before any text."""
    for place, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        ids = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        if place + 1 == len(messages):
            assert not ids
            continue
        following = messages[place + 1]
        if ids:
            assert following["role"] == "user"
            head = following["content"][: len(ids)]
            assert [block.get("tool_use_id") for block in head] == ids
            rest = following["content"][len(ids) :]
            assert all(block["type"] == "text" for block in rest)
    for message in messages:
        assert message["content"], "no message is empty"
        for block in message["content"]:
            assert block.get("text", "x").strip()
            assert block.get("content", "x").strip()


def ends(w: World, *replies: Made, **kit: Any) -> tuple[str, ScriptedModel]:
    """The reason that these replies end the first stage with."""
    model = ScriptedModel([replies])
    with pytest.raises(Halt) as caught:
        locate(w.kit(model, **kit))(w.run())
    for request in model.requests:
        paired(request.messages)
    return halted_by(caught.value), model


# -- stop reasons --------------------------------------------------------------------------------


def test_a_refusal_ends_the_run_and_its_calls_are_not_run(w: World) -> None:
    assert ends(w, reply("no", READ, stop="refusal"))[0] == "model-refused"
    assert not [entry for entry in w.hold.journal if entry.kind is Kept.TOOL]


def test_a_cut_reply_runs_no_tool_and_two_in_a_row_end_the_run(w: World) -> None:
    cut = reply(READ, ("edit", {"edits": []}), stop="max_tokens")
    reason, model = ends(w, cut, cut)
    assert reason == "model-failed"
    results = model.requests[1].messages[-1]["content"]
    assert [block["is_error"] for block in results] == [True, True]
    assert "output limit" in results[0]["content"]


def test_a_cut_reply_is_forgiven_after_a_good_one(w: World) -> None:
    cut = reply(READ, stop="max_tokens")
    model = ScriptedModel([[cut, reply(READ), cut, reply(("finish", WORDS))]])
    assert locate(w.kit(model))(w.run()).state is State.PLAN


def test_a_cut_reply_without_a_call_is_told_so(w: World) -> None:
    model = ScriptedModel([[reply("I thi", stop="max_tokens"), reply(("finish", WORDS))]])
    locate(w.kit(model))(w.run())
    assert "output limit" in model.requests[1].messages[-1]["content"][-1]["text"]


@pytest.mark.parametrize("empty", [reply(stop="end_turn"), reply("  \n", stop="end_turn")])
def test_an_empty_reply_is_nudged_once(w: World, empty: Reply) -> None:
    reason, model = ends(w, empty, empty)
    assert reason == "model-failed"
    assert len(model.requests) == 2
    assert "finish" in model.requests[1].messages[-1]["content"][-1]["text"]


def test_words_without_a_tool_are_nudged_twice(w: World) -> None:
    reason, model = ends(w, *[reply("All is well.")] * 4)
    assert reason == "model-failed"
    assert len(model.requests) == 3


def test_pauses_are_sent_back_a_bounded_number_of_times(w: World) -> None:
    pause = reply("wait", stop="pause_turn")
    reason, model = ends(w, *[pause] * 5)
    assert reason == "model-failed"
    assert len(model.requests) == 4
    assert model.requests[1].messages[-2]["content"] == pause.content


def test_a_call_in_a_paused_reply_is_not_run(w: World) -> None:
    model = ScriptedModel([[reply(READ, stop="pause_turn"), reply(("finish", WORDS))]])
    told = locate(w.kit(model))(w.run())
    assert told.grounding is not None
    assert told.grounding.paths == ()
    paired(model.requests[1].messages)


def test_an_unknown_stop_reason_is_a_failure(w: World) -> None:
    assert ends(w, reply(READ, stop="celebrated"))[0] == "model-failed"


def test_a_full_context_is_made_smaller_once(w: World, tmp_path: Path) -> None:
    full = reply(READ, stop="model_context_window_exceeded")
    many: list[Made] = [reply(("read", {"path": "big.py"}))] * 5
    model = ScriptedModel([])

    def play(request: Request) -> Reply:  # the full reply leaves no trace in the conversation
        return reply(("finish", WORDS)) if len(model.requests) > 6 else full

    model.scripts = [[*many, play]]
    big = world(tmp_path / "big", {**FILES, "big.py": b"x = 1\n" * 200})
    locate(big.kit(model))(big.run())
    first, again = model.requests[5].messages, model.requests[6].messages
    assert len(again) == len(first)
    assert "left out to make room" in again[2]["content"][0]["content"]
    assert again[-1] == first[-1]
    paired(again)

    assert ends(w, full, full)[0] == "model-failed"


def test_a_conversation_that_outgrows_the_model_is_made_smaller_before_the_call(
    w: World, tmp_path: Path
) -> None:
    small = replace(w.kit(ScriptedModel([])).rate, context=20_000)
    usage = Usage(input=16_000, output=100)
    model = ScriptedModel([[reply(READ, usage=usage), reply(("finish", WORDS))]])
    locate(w.kit(model, rate=small, max_output=4_000))(w.run())
    assert [e for e in w.hold.journal if e.data.get("agent") == "compact"]
    tiny = replace(small, context=5_000)
    assert ends(world(tmp_path / "b"), rate=tiny)[0] == "model-failed"


# -- calls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("execute_python", {}), "list, search, read"),
        (("read", {"file": "a"}), "path, start, end"),
        (("read", "[1]"), "an object is wanted"),
        (("search", {"pattern": ["x"]}), "string is wanted"),
    ],
)
def test_a_call_that_no_tool_takes_is_answered_and_five_in_a_row_end_the_run(
    w: World, call: tuple[str, Any], says: str
) -> None:
    reason, model = ends(w, *[reply(call)] * 6)
    assert reason == "model-failed"
    assert len(model.requests) == 5
    result = model.requests[1].messages[-1]["content"][0]
    assert result["is_error"]
    assert says in result["content"]
    assert isinstance(model.requests[1].messages[1]["content"][0]["input"], dict)


def test_a_tool_that_the_state_does_not_allow_is_refused_with_those_it_does(w: World) -> None:
    model = ScriptedModel([[reply(("edit", {"edits": []})), reply(("finish", WORDS))]])
    locate(w.kit(model))(w.run())
    text = model.requests[1].messages[-1]["content"][0]["content"]
    assert "not possible in locate" in text
    assert "list, search, read, ask, try_out, read_log, finish" in text


def test_one_failing_call_three_times_gets_advice_and_then_ends_the_run(w: World) -> None:
    nope = reply(("read", {"path": "nope"}))
    reason, model = ends(w, *[nope] * 5)
    assert reason == "no-progress"
    assert len(model.requests) == 4
    assert "Try another way" in model.requests[3].messages[-1]["content"][0]["content"]


def test_calls_after_the_end_of_a_stage_are_answered_and_not_run(w: World) -> None:
    model = ScriptedModel([[reply(("finish", WORDS), READ, ("finish", WORDS)), *FIX[2:]]])
    run = carried_with_hash(w, model)
    assert run.state is State.VERIFY
    results = model.requests[1].messages[-1]["content"]
    assert [block.get("is_error", False) for block in results] == [False, True, True]


def carried_with_hash(w: World, model: ScriptedModel) -> Run:
    read = [reply(READ)]
    model.scripts = [[*read, *model.scripts[0]]]
    run = locate(w.kit(model))(w.run())
    model.requests.pop(0)
    return carried(run, w.kit(model))


# -- the provider's faults -----------------------------------------------------------------------


def test_a_provider_that_is_away_parks_the_run_and_costs_nothing(w: World) -> None:
    model = ScriptedModel([FIX], faults={2: Unavailable("529 overloaded", 7.0)})
    with pytest.raises(Park) as caught:
        carried(w.run(), w.kit(model))
    assert caught.value.waiting is Waiting.MODEL
    assert caught.value.seconds == 7.0
    assert w.hold.reserved == 0
    before = w.hold.spent
    assert carried(w.run(), w.kit(model)).spend.calls == 6
    assert w.hold.spent > before


def test_a_broken_reply_is_shown_and_never_charged_to_the_run(w: World) -> None:
    lost = Unfinished("cut", None, Usage(input=1_000_000, output=0))
    model = ScriptedModel([FIX], faults={2: lost})
    with pytest.raises(Park):
        carried(w.run(), w.kit(model))
    run = carried(w.run(), w.kit(model))
    assert run.spend.calls == 6
    assert (run.spend.dollars, run.spend.broken) == (6 * 3_000, 2_000_000)
    assert w.hold.spent == 2_000_000 + 6 * 3_000  # the operator's account of the day
    assert run.spend.usage.total_input < 1_000_000
    assert "$2.00 spent on broken replies, not charged" in spent(run.spend, None)
    assert "$2.00 spent on broken replies, not charged" in spent(run.spend, Limits())


def test_broken_replies_that_cost_more_than_the_budget_do_not_end_the_run(w: World) -> None:
    lost = Unfinished("cut", None, Usage(input=1_000_000, output=0))
    model = ScriptedModel([FIX], faults={2: lost, 3: lost, 4: lost})
    for _ in range(3):
        with pytest.raises(Park):
            carried(w.run(), w.kit(model))
    run = carried(w.run(), w.kit(model))
    assert run.spend.broken == 6_000_000 > Limits().dollars
    assert run.spend.dollars == 6 * 3_000


@pytest.mark.parametrize(
    ("status", "reason", "calls"),
    [(401, "needs-operator", 1), (403, "needs-operator", 1), (400, "model-failed", 2),
     (413, "model-failed", 2)],
)  # fmt: skip
def test_a_refused_request_is_repaired_once_or_the_operators(
    w: World, status: int, reason: str, calls: int
) -> None:
    no = Refused("no", status)
    model = ScriptedModel([FIX], faults={n: no for n in range(1, 9)})
    with pytest.raises(Halt) as caught:
        locate(w.kit(model))(w.run())
    assert halted_by(caught.value) == reason
    assert len(model.requests) == calls


def test_a_cancel_while_the_model_speaks_ends_the_run_and_charges_the_request(w: World) -> None:
    def late(request: Request) -> Reply:
        w.hold.cancelled = True
        w.hold.look()
        raise AssertionError("unreachable")

    with pytest.raises(Halt) as caught:
        locate(w.kit(ScriptedModel([[late]])))(w.run())
    assert halted_by(caught.value) == "cancelled"
    assert w.hold.spent > 0
    assert w.hold.reserved == 0


def test_a_lost_lease_stops_the_old_worker(w: World) -> None:
    def lost(request: Request) -> Reply:
        w.hold.lost = True
        return reply(READ)

    with pytest.raises(Fenced):
        locate(w.kit(ScriptedModel([[lost]])))(w.run())


# -- restarts ------------------------------------------------------------------------------------


def test_a_restart_at_every_length_of_the_journal_repeats_no_paid_reply(w: World) -> None:
    """Whatever a worker had recorded when it died, the next one asks for the very next reply, with
    the very same bytes, and ends with the very same tree."""
    model = ScriptedModel([FIX])
    saved = [(0, w.run())]  # the run's row, and how long the journal was when it was saved
    while saved[-1][1].state in STAGES:
        run = saved[-1][1]
        saved.append((-1, STAGES[run.state](w.kit(model))(run)))
        saved[-1] = (len(w.hold.journal), saved[-1][1])
    whole = saved[-1][1]
    journal, asked = copy.deepcopy(w.hold.journal), model.requests
    for length in range(len(journal) + 1):
        paid = sum(entry.kind is Kept.MODEL for entry in journal[:length])
        rows = [run for at, run in saved if at <= length]
        dead_before_saving = rows[-2:] if any(at == length for at, _ in saved) else rows[-1:]
        for row in dead_before_saving:
            w.hold.journal = copy.deepcopy(journal[:length])
            again = ScriptedModel([FIX])
            run = carried(row, w.kit(again))
            assert again.requests == asked[paid:], f"after {length} entries"
            assert run.candidate == whole.candidate
            assert run.spend.calls == whole.spend.calls
            assert run.spend.turns == whole.spend.turns


def test_a_journal_whose_edits_make_another_tree_is_not_worked_with(w: World) -> None:
    model = ScriptedModel([FIX])
    carried(w.run(), w.kit(model))
    for entry in w.hold.journal:
        effect = entry.data.get("effect", {})
        if "candidate" in effect:
            effect["candidate"]["tree"] = w.base
            cut = w.hold.journal.index(entry)
    w.hold.journal = w.hold.journal[: cut + 1]
    run = replace(w.run(), state=State.EDIT)
    with pytest.raises(Halt) as caught:
        carried(run, w.kit(model))
    assert halted_by(caught.value) == "integrity"


CALLS = st.sampled_from(
    [
        ("read", {"path": "calc.py"}),
        ("read", {"path": "nope"}),
        ("read", {"path": "../x"}),
        ("search", {"pattern": "("}),
        ("search", {"pattern": "(", "regex": True}),
        ("list", {"glob": "**/*.py"}),
        ("list", {"offset": 10**9}),
        ("edit", {"edits": []}),
        ("try_out", {"kind": "code", "text": "1", "on": "base"}),
        ("run_tests", {"selectors": []}),
        ("read_log", {}),
        ("unknown", {"a": 1}),
        ("finish", WORDS),
        ("ask", {"questions": [{"question": "?", "default": "!"}]}),
        ("submit_plan", {"summary": 1}),
        ("list", "junk"),
    ]
)
STOPS = st.sampled_from(["tool_use"] * 6 + ["max_tokens", "end_turn", "pause_turn", "odd"])
REPLIES = st.lists(st.tuples(st.lists(CALLS, max_size=4), STOPS), max_size=8)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(replies=REPLIES, faults=st.dictionaries(st.integers(1, 8), st.booleans(), max_size=2))
def test_whatever_the_model_and_the_tools_do_every_request_is_well_formed(
    tmp_path_factory: pytest.TempPathFactory, replies: Any, faults: Any
) -> None:
    w = world(tmp_path_factory.mktemp("w"))
    scripted: list[Made] = [reply(*calls, stop=stop) for calls, stop in replies]
    model = ScriptedModel([[*scripted, reply(("finish", WORDS))]])
    model.faults = {n: Unavailable("away") for n in faults}
    w.sandbox.acts = lambda _job, _files: (_ for _ in ()).throw(Unavailable("no sandbox"))
    kit: Kit = w.kit(model)
    for _ in range(4):  # parked runs come back
        try:
            locate(kit)(w.run())
            break
        except Halt:
            break
        except Stop:
            w.hold.note(Kept.NOTE, {"answer": "yes"})
        except AssertionError as over:
            assert "the script has no reply" in str(over)
            break
    for request in model.requests:
        paired(request.messages)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(replies=REPLIES, cut=st.integers(0, 60))
def test_wherever_any_run_is_cut_the_next_worker_asks_for_the_very_next_reply(
    tmp_path_factory: pytest.TempPathFactory, replies: Any, cut: int
) -> None:
    w = world(tmp_path_factory.mktemp("w"))
    script: list[Made] = [reply(*calls, stop=stop) for calls, stop in replies]

    def worked() -> list[Request]:
        model = ScriptedModel([[*script, reply(("finish", WORDS))]])
        with suppress(Stop, AssertionError):
            locate(w.kit(model))(w.run())
        return model.requests

    asked = worked()
    w.hold.journal = w.hold.journal[:cut]
    paid = sum(entry.kind is Kept.MODEL for entry in w.hold.journal)
    assert worked() == asked[paid:]
