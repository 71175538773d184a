"""Makes a draft ready once its gate has passed and asks for a review: each at most once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from app.domain.approval import Facts
from app.domain.errors import Halt, Refused
from app.domain.markdown import code, inline
from app.domain.merge_gate import Gate
from app.domain.permissions import Phase
from app.domain.ports.views import PullAct, PullView
from app.domain.ports.writer import GitHubWriter
from app.domain.ready import (
    Asked,
    Done,
    Passed,
    Past,
    asked_of,
    asks,
    marks,
    may_try,
    refused,
    remembered,
    told,
)
from app.domain.run import Run
from worker.desk.kit import Write
from worker.store.approvals import Approvals


@dataclass(frozen=True)
class Readying:
    """Whoever calls it holds the lock of the Change; `mine` raises `Unavailable` once it does not,
    and is asked right before each write. `Unavailable` and `Uncertain` leave a write
    begun; the next look finds its effect, or sends what was not done. Before anything is sent
    `acts` tells what GitHub remembers of a run's pull request: rows and webhooks may have gaps.
    `now` is the ledger's time in ms."""

    rows: Approvals
    write: Write
    acts: Callable[[Run, int], Sequence[PullAct]]
    mine: Callable[[str], None]
    now: Callable[[], int]

    def said(self, change: str, found: Gate) -> tuple[str, ...]:
        """What the gate's check run says about it; nothing while the gate does not pass."""
        return self.rows.ready(change).said if found.passed else ()

    def act(
        self, change: str, runs: Sequence[Run], facts: Facts, passed: Passed, view: PullView
    ) -> None:
        """Do what is due. A refusal is kept to be told, and is no error."""
        past = self.rows.ready(change)
        if not view.draft and past.mark is not Done.DONE:
            # By whomever, also by us before a crash: if it is a draft once more, that was a person.
            self.rows.note_mark(change, Done.DONE)
            past = self.rows.ready(change)
        if not self._due(facts, passed, view, past):
            return
        acts = self._acts(change, runs[-1], facts.head, view)
        if acts is None:
            return
        past = self._remembered(change, past, acts)
        if marks(facts, passed, view, past):
            found = self._marked(change, runs[-1], facts.head, view)
            if found is None:
                return
            view = found
        past = self.rows.ready(change)
        if asks(facts, passed, view, past):
            self.rows.note_ask(change, Done.BEGUN)
            self.rows.say(change, self._asked(change, runs, facts, view, acts))
            self.rows.note_ask(change, Done.DONE)

    def _due(self, facts: Facts, passed: Passed, view: PullView, past: Past) -> bool:
        """Whether anything is sent, unless GitHub's memory is against it."""
        due = marks(facts, passed, view, past) or asks(facts, passed, view, past)
        return due and may_try(past, facts.head, self.now())

    def _acts(self, change: str, run: Run, head: str, view: PullView) -> Sequence[PullAct] | None:
        """What GitHub remembers, None where it does not tell: then nothing is done."""
        try:
            return self.acts(run, view.number)
        except (Refused, Halt) as refusal:
            self._refused(change, head, f"what was done to it before cannot be read: {refusal}")
            return None

    def _remembered(self, change: str, past: Past, acts: Sequence[PullAct]) -> Past:
        """What was done, with GitHub's memory; what ours lacked is recorded."""
        found = remembered(past, acts)
        if found.back and not past.back:
            self.rows.drafted(change)
        if found.mark is not past.mark:
            self.rows.note_mark(change, found.mark)
        return found

    def _marked(self, change: str, run: Run, head: str, view: PullView) -> PullView | None:
        """The pull request made ready, None where GitHub or somebody was in the way."""
        self.rows.note_mark(change, Done.BEGUN)
        try:
            with self.write(run, Phase.READY) as writer:
                self.mine(change)
                found = writer.mark_ready(view.number, head)
        except (Refused, Halt) as refusal:
            self._refused(change, head, str(refusal))
            return None
        if found.draft:  # pushed to or closed since it was looked at
            return None
        self.rows.note_mark(change, Done.DONE)
        return found

    def _refused(self, change: str, head: str, why: str) -> None:
        no = refused(self.rows.ready(change), head, self.now())
        self.rows.note_refusal(change, no)
        self.rows.say(change, (told(no, inline(why, 300)),))

    def _asked(
        self,
        change: str,
        runs: Sequence[Run],
        facts: Facts,
        view: PullView,
        acts: Sequence[PullAct],
    ) -> tuple[str, ...]:
        """Ask one after the other, so that each refusal is about one; the sentences about it."""
        whom, run = asked_of(runs, facts, view, acts), runs[-1]
        done, said = [code(one, 210) for one in whom.before], list[str]()
        if whom.people or whom.teams:
            self._sent(change, run, view, whom, done, said)
        return (*([f"A review was asked of {', '.join(done)}."] if done else []), *said)

    def _sent(
        self, change: str, run: Run, view: PullView, whom: Asked, done: list[str], said: list[str]
    ) -> None:
        """Ask; `done` gets whom GitHub lists then, `said` a sentence for everybody else."""
        with self.write(run, Phase.PULL) as writer:

            def ask(one: str, name: str, send: Callable[[], Sequence[str]]) -> None:
                self.mine(change)
                try:
                    listed = {found.casefold() for found in send()}
                    there = name.casefold() in listed
                    why = "" if there else "GitHub took it and does not list it."
                except Refused as refusal:
                    why = inline(str(refusal), 300)
                if why:
                    said.append(f"{code(one, 210)} was not asked for a review: {why}")
                else:
                    done.append(code(one, 210))

            for login in whom.people:
                ask(login, login, partial(_people, writer, view.number, login))
            for team in whom.teams:
                owner, _, slug = team.partition("/")
                if owner.casefold() != run.repository.owner.casefold():
                    said.append(f"{code(team, 210)} is no team of this repository's owner.")
                    continue
                ask(team, slug, partial(_teams, writer, view.number, slug))


def _people(writer: GitHubWriter, number: int, login: str) -> Sequence[str]:
    return writer.request_review(number, (login,), ()).asked


def _teams(writer: GitHubWriter, number: int, slug: str) -> Sequence[str]:
    return writer.request_review(number, (), (slug,)).asked_teams
