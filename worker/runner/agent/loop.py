"""The conversation's loop: journal first, then use; every limit is asked before, never after.

Each reply and each tool result is in the journal before anything follows from it, and everything
that follows is folded from the journal. So a worker that dies loses at most the one thing that it
was doing, and the next one repeats no paid reply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from app.domain.budget import Usage, before_call, before_step, cost, worst_case
from app.domain.errors import Halt, Handover, Park, Reason, Refused, Unavailable, Waiting
from app.domain.ports.model import Reply, Request, Unfinished
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from app.domain.state import State
from worker.runner.agent import gateway, outcome
from worker.runner.agent.bench import Answer, Bench, limits_of, snapshot_of
from worker.runner.agent.boxes import Boxes
from worker.runner.agent.codec import key_of, usage_json
from worker.runner.agent.kit import Kit
from worker.runner.agent.talk import Call, Talk, after, rebuilt
from worker.runner.agent.tally import Tally, counted, plus
from worker.runner.agent.views import Views

TOOLS_TOKENS = 4_000  # the tool list and what the provider adds, at most
BYTES_A_TOKEN = 2  # for what the provider has not counted yet; real text has three to four
PARK_SECONDS = (5.0, 3_600.0)
PARK_DEFAULT = 60.0
_TOO_LONG = frozenset({400, 413})


@dataclass(frozen=True)
class Opening:
    """What a conversation begins with; kept in the journal, so that it never changes later."""

    system: str
    first: str
    prompts: str


class Loop:
    """One stage's stretch of a conversation. The only mutable things are the two folds."""

    def __init__(self, kit: Kit, run: Run, state: State) -> None:
        entries = kit.hold.entries()
        self._kit = kit
        self._run = run
        self._state = state
        start = State.EDIT if run.attempts else State.LOCATE
        self.talk: Talk = rebuilt(entries, len(run.attempts), start)
        self.tally: Tally = counted(entries)
        self._views = Views(kit.objects, kit.hold.get)
        self._boxes = Boxes(kit.sandbox, kit.objects, self._views, run.id)
        self._active = self.tally.active_before(run)
        self._entered = kit.clock()

    def converse(self, opening: Callable[[], Opening]) -> Run:
        """Talk until this stage is over; the run with spend, plan and candidate up to date.

        `opening` is asked once a conversation. Raises `Halt` for every limit and for a model that
        cannot be worked with, `Park` while the model or a person is waited for, and faults.
        """
        if self._over():  # a worker died between the stage's end and the saved move
            run = self.run
            return replace(run, spend=replace(run.spend, active_ms=self._active))
        self._restore()
        self._note(Kept.NOTE, {"agent": "began", "state": self._state, "active_ms": self._active})
        if not self.talk.opened:
            self._open(opening())
        try:
            while not self._over():
                self._step()
        finally:
            self._boxes.close()
        return self.run

    @property
    def run(self) -> Run:
        """The run with what the journal knows better than its row."""
        return self.tally.onto(self._run, self._kit.card)

    def _over(self) -> bool:
        """Whether the stage's end is in the journal and its reply has all of its results."""
        return self.talk.state is not self._state and self.talk.open_call is None

    def _restore(self) -> None:
        """Make the candidate's tree again: object stores are caches, the journal is the truth."""
        candidate = self.run.candidate
        if candidate is None:
            return
        base = snapshot_of(self._run).start
        tree = self._kit.objects.build(base, candidate.changes, self._kit.hold.get)
        if tree != candidate.tree:
            raise Halt(
                Reason.INTEGRITY,
                f"The journal's edits make the tree {tree}, not {candidate.tree} as recorded.",
                "The operator compares the journal with the object store before a new run.",
            )
        self._views.derive(base, candidate)

    def _open(self, opening: Opening) -> None:
        self._note(
            Kept.NOTE,
            {
                "agent": "open",
                "conversation": self.talk.conversation,
                "state": self._state,
                "system": opening.system,
                "first": opening.first,
                "delimiter": self._kit.delimiter,
                "model": self._kit.rate.model,
                "prompts": opening.prompts,
            },
        )

    def _step(self) -> None:
        """The next thing that the conversation needs: one result, one nudge or one reply."""
        self._kit.hold.look()
        before_step(limits_of(self._run), self._spend())
        call = self.talk.open_call
        if call is not None:
            self._answer(call)
            return
        outcome.check(self.talk)
        if self.talk.overflow:
            self._compact()
        elif self.talk.owes_nudge:
            said = outcome.nudge(self.talk)
            self._note(Kept.NOTE, {"agent": "nudge", **self._where(), "text": said})
        else:
            self._call()

    # -- tools ---------------------------------------------------------------------------------

    def _answer(self, call: Call) -> None:
        outcome.check(self.talk)
        reason = outcome.not_run(self.talk)
        made = Answer(reason, error=True) if reason else gateway.answer(self._bench(), call)
        self._note(
            Kept.TOOL,
            {
                **self._where(),
                "state": self._state,
                "use": self.talk.use,
                "name": call.name,
                "key": key_of(call.name, call.input),
                "text": made.text,
                "error": made.error,
                "bad": made.bad,
                "effect": dict(made.effect),
            },
        )

    def _bench(self) -> Bench:
        return Bench(
            self._kit,
            self._run,
            self._state,
            self.tally,
            self.talk,
            self._views,
            self._boxes,
            self._note,
        )

    # -- the model -----------------------------------------------------------------------------

    def _call(self) -> None:
        kit, limits = self._kit, limits_of(self._run)
        output = min(kit.max_output, kit.rate.max_output)
        tokens = self._tokens()
        if tokens + output > kit.rate.context:
            self._compact()
            return
        reserve = worst_case(kit.rate, tokens, output)
        before_call(limits, self._spend(), reserve)
        kit.hold.reserve(reserve)
        request = Request(kit.rate.model, self.talk.system, self.talk.messages, output)
        try:
            reply = kit.model.reply(request, kit.hold.look)
        except Unavailable as away:
            usage = away.usage if isinstance(away, Unfinished) else Usage()
            self._broken(usage, str(away), charged=False)
            seconds = min(max(away.retry_after or PARK_DEFAULT, PARK_SECONDS[0]), PARK_SECONDS[1])
            raise Park(Waiting.MODEL, seconds, str(away)) from away
        except Refused as no:
            kit.hold.settle(0)
            self._refused(no)
        except Handover:  # our own doing: the operator's account, none of the run's budget
            kit.hold.settle(cost(kit.rate, Usage(input=tokens)))
            raise
        except Halt:  # a person cancelled: the provider has read the request by now
            why = "cancelled while the reply came in; estimated"
            self._broken(Usage(input=tokens), why, charged=True)
            raise
        else:
            self._replied(reply)

    def _replied(self, reply: Reply) -> None:
        """Journal the paid reply and settle it in one, before it is used."""
        dollars = cost(self._kit.rate, reply.usage)
        said = {"content": reply.content, "stop_reason": reply.stop_reason, "id": reply.id}
        self._take(self._kit.hold.paid(dollars, {**self._paid(reply.usage, dollars), **said}))

    def _broken(self, usage: Usage, why: str, *, charged: bool) -> None:
        """Journal what a call without a reply has cost; nothing of it is used. The operator's
        account of the day has it in any case, the run's budget only what a person caused."""
        dollars = cost(self._kit.rate, usage)
        if dollars:
            failed = {**self._paid(usage, dollars), "failed": why, "charged": charged}
            self._take(self._kit.hold.paid(dollars, failed))
        else:
            self._kit.hold.settle(0)

    def _paid(self, usage: Usage, dollars: int) -> dict[str, Any]:
        return {
            **self._where(),
            "state": self._state,
            "usage": usage_json(usage),
            "dollars": dollars,
            "card": self._kit.card,
            "model": self._kit.rate.model,
        }

    def _refused(self, no: Refused) -> None:
        """The provider said no: a request of odd or excessive shape is repaired once (P61); all
        else is the operator's."""
        if no.status not in _TOO_LONG:
            raise Halt(
                Reason.NEEDS_OPERATOR,
                str(no),
                "When the operator has put it right, label the issue again.",
            ) from no
        if self.talk.just_compacted:
            raise outcome.refused_again(str(no)) from no
        self._compact()

    def _compact(self) -> None:
        if self.talk.just_compacted:
            raise outcome.too_long()
        self._note(Kept.NOTE, {"agent": "compact", **self._where()})

    def _tokens(self) -> int:
        """Input tokens of the next request, at most: what the provider counted last time, and what
        came since."""
        new = self.talk.since_bytes // BYTES_A_TOKEN
        return (self.talk.last_tokens or TOOLS_TOKENS) + new + 500

    # -- accounts ------------------------------------------------------------------------------

    def _spend(self) -> Any:
        spend = self.run.spend
        return replace(spend, active_ms=self._active + self._kit.clock() - self._entered)

    def _where(self) -> dict[str, Any]:
        return {"conversation": self.talk.conversation}

    def _note(self, kind: Kept, data: dict[str, Any]) -> None:
        """Journal, then know: both folds take the entry as a new worker would read it."""
        self._take(self._kit.hold.note(kind, data))

    def _take(self, entry: JournalEntry) -> None:
        self.talk = after(self.talk, entry)
        self.tally = plus(self.tally, entry)
