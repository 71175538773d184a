"""Works a run's journal again: recorded replies in, every tool that needs no sandbox anew, and the
candidate's tree from them.

What a sandbox said, and what a person answered, is taken as recorded; a candidate that a fixer made
there is built again from the recorded bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.budget import NOTHING
from app.domain.errors import Fault, Halt
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from app.domain.state import State
from worker.runner.agent import gateway, outcome
from worker.runner.agent.bench import Answer, Bench, snapshot_of
from worker.runner.agent.boxes import Boxes
from worker.runner.agent.codec import candidate_of
from worker.runner.agent.kit import Kit
from worker.runner.agent.talk import Call, Talk, after
from worker.runner.agent.tally import Tally, plus
from worker.runner.agent.views import Views

ELSEWHERE = frozenset({"try_out", "run_tests", "run_fixer", "ask"})  # a sandbox's, a person's
NOTHING_YET = Tally()


@dataclass(frozen=True)
class Replayed:
    """How it went. `differs` says where the run could not be followed, "" where it could; `tree` is
    the candidate's tree as made again, "" without one; `anew` and `taken` count tool results that
    were made again and taken as recorded; `worded` are entries whose words alone differ."""

    tree: str = ""
    differs: str = ""
    replies: int = 0
    anew: int = 0
    taken: int = 0
    worded: tuple[str, ...] = ()


class Replay:
    """One pass over a whole journal. `kit` has a hold that keeps everything to itself."""

    def __init__(self, kit: Kit, run: Run, entries: Sequence[JournalEntry]) -> None:
        self._kit = kit
        self._all = run
        self._run = _before(run, 0)
        self._entries = entries
        self._views = Views(kit.objects, kit.hold.get)
        self._talk = Talk(0)
        self._tally = NOTHING_YET
        self._done = Replayed()

    def __call__(self) -> Replayed:
        """Never raises for what the journal holds; faults of the object store pass."""
        for entry in self._entries:
            at = entry.data.get("conversation")
            if isinstance(at, int) and at != self._talk.conversation:
                self._talk = Talk(at, state=State.EDIT if at else State.LOCATE)
                self._run = _before(self._all, at)
            if entry.kind is Kept.MODEL and "failed" not in entry.data:
                self._done = replace(self._done, replies=self._done.replies + 1)
            if entry.kind is Kept.TOOL:
                why = self._tool(entry)
                if why:
                    return replace(self._done, differs=f"journal entry {entry.id}: {why}")
            self._talk, self._tally = after(self._talk, entry), plus(self._tally, entry)
        candidate = self._tally.candidate
        return replace(self._done, tree=candidate.tree if candidate else "")

    def _tool(self, entry: JournalEntry) -> str:
        """Why this recorded result is not what comes out now, "" where it is."""
        call, data = self._talk.open_call, entry.data
        if call is None or call.name != data["name"]:
            return "a tool's result is recorded for which there is no call"
        if call.name in ELSEWHERE and not data["error"]:
            self._done = replace(self._done, taken=self._done.taken + 1)
            return self._rebuilt(data["effect"].get("candidate"))
        if call.name in ELSEWHERE:
            return ""
        made = self._made(call, State(data["state"]))
        if isinstance(made, str):
            return made
        self._done = replace(self._done, anew=self._done.anew + 1)
        if (dict(made.effect), made.error) != (data["effect"], data["error"]):
            return f"{call.name} has another effect now than was recorded"
        if made.text != data["text"]:
            self._done = replace(self._done, worded=(*self._done.worded, entry.id))
        return ""

    def _made(self, call: Call, state: State) -> Answer | str:
        reason = outcome.not_run(self._talk)
        if reason:
            return Answer(reason, error=True)
        try:
            return gateway.answer(self._bench(state), call)
        except (Halt, Fault) as stop:
            return f"{call.name} ends in {stop}"

    def _bench(self, state: State) -> Bench:
        kit = self._kit
        boxes = Boxes(kit.sandbox, kit.objects, self._views, self._run.id)
        return Bench(kit, self._run, state, self._tally, self._talk, self._views, boxes, _not_noted)

    def _rebuilt(self, kept: object) -> str:
        """A candidate that the sandbox made: its tree, built again from the recorded bytes."""
        if not isinstance(kept, dict):
            return ""
        found = candidate_of(kept)
        base = snapshot_of(self._run).base_tree
        tree = self._kit.objects.build(base, found.changes, self._kit.hold.get)
        if tree != found.tree:
            return f"the recorded bytes make the tree {tree}, not {found.tree}"
        self._views.derive(base, found)
        return ""


def _before(run: Run, conversation: int) -> Run:
    """The run as that conversation got it, without what the journal says itself."""
    attempts = run.attempts[:conversation]
    return replace(run, plan=None, candidate=None, spend=NOTHING, attempts=attempts)


def _not_noted(_kind: Kept, _data: dict[str, object]) -> None:
    """A refusal is in the journal already."""
