"""Red CI on a head of our own: when a repair begins by itself, what it is given, what is told.

Off unless the repository's configuration says `ci_repair`, and never more often than that for one
pull request. What CI says is text from outside: it goes to the model as data, and opens no path.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.event import Event, EventKind, Person
from app.domain.ports.ci import FailedReport
from app.domain.ports.views import PullView
from app.domain.run import Run
from app.domain.state import ENDS, FOLLOWING, Kind
from app.domain.text import clean
from app.domain.two_looks import evidence_of, made_here

TOLD = "ci.red"  # what such an event says that happened; no webhook can say it
PREFIX = "nudge:ci:"
MOST = 2  # that a repository may ask for
TEXT_CAP = 7_500  # characters of all that is said; a thread holds 8,000
SHOWN = 10  # failed reports
NOTES = 20  # annotations of one
_ASKED = frozenset(Kind) - FOLLOWING - {Kind.VERIFY, Kind.EXPLAIN}


def key_of(repository: int, pull: int, head: str) -> str:
    """One head is repaired once, however often it is seen red."""
    return f"{PREFIX}{repository}:{pull}:{head}"


def bound(runs: Sequence[Run]) -> int:
    """How many repairs this Change may have: as the configuration says that it is held to."""
    last = evidence_of(runs)
    contract = last.contract if last is not None else None
    return min(contract.config.ci_repair, MOST) if contract is not None else 0


def begun(runs: Sequence[Run]) -> tuple[str, ...]:
    """The events of the repairs that were begun; a person's `/agent retry` is no further one."""
    return tuple(dict.fromkeys(run.event for run in runs if is_repair(run)))


def is_repair(run: Run) -> bool:
    """Whether red CI began it."""
    return run.event.startswith(PREFIX)


def wanted(runs: Sequence[Run], head: str) -> bool:
    """Whether a repair of `head` may begin: one is left, the head is a commit of ours that no
    repair was begun for, and nothing else is at work on the Change."""
    done = begun(runs)
    if len(done) >= bound(runs) or head not in made_here(runs):
        return False
    if any(key.endswith(f":{head}") for key in done):
        return False
    return all(run.state in ENDS for run in runs)


def asker(runs: Sequence[Run]) -> Person | None:
    """In whose name it is done: the person who asked last, by label or by words."""
    asked = [run.requester for run in runs if run.kind in _ASKED and not is_repair(run)]
    people = [one for one in asked if one.kind == "User"]
    return people[-1] if people else None


def event_of(run: Run, by: Person, pull: int, head: str, said: Sequence[FailedReport]) -> Event:
    """What wakes the desk; it decides anew, from live reads, whether anything begins. `run` is
    any of the Change's."""
    return Event(
        key=key_of(run.repository.id, pull, head),
        kind=EventKind.NUDGE,
        installation=run.installation,
        repository=run.repository,
        issue=pull,
        sender=by,
        label="",
        title="",
        body="",
        author=Person(0, "ghost"),
        updated_at="",
        pull=True,
        text=words(head, said),
        told=TOLD,
        branch=run.publication.branch,
    )


def head_of(event: Event) -> str:
    """The head whose CI is red."""
    return event.key.rpartition(":")[2]


def refusal(event: Event, view: PullView, branch: str) -> str:
    """Why this pull request, read just now, is not repaired by itself; "" where it is."""
    if view.state != "open":
        return "not open"
    if not view.draft:
        return "no draft any more"
    if view.head_ref != branch or view.head_repository != event.repository.id:
        return "not our branch"
    return "" if view.head_sha == head_of(event) else "another head by now"


def words(head: str, said: Sequence[FailedReport]) -> str:
    """What failed, for the model: each report's name, its words' ends, its annotations."""
    shown = said[:SHOWN]
    begin = f"The repository's own CI failed on the head {head[:12]}. What it reported:"
    each = max(300, (TEXT_CAP - len(begin)) // max(1, len(shown)) - 20)
    more = [f"… and {len(said) - SHOWN} more."] if len(said) > SHOWN else []
    return "\n\n".join([begin, *(_one(one, each) for one in shown), *more])[:TEXT_CAP]


def _one(report: FailedReport, room: int) -> str:
    """One report; annotations come first, of free text the end is kept, where failures stand."""
    lines = [f"{_line(report.name)} ({_line(report.conclusion)}) {_line(report.title)}".strip()]
    lines += [f"- {_line(note)}" for note in report.notes[:NOTES]]
    head = "\n".join(lines)[:room]
    text = clean(report.text)[0].strip()
    rest = room - len(head) - 3
    if not text or rest < 40:
        return head
    return f"{head}\n{text if len(text) <= rest else f'… {text[2 - rest :]}'}"


def _line(text: str) -> str:
    return " ".join(clean(text)[0].split())[:300]


def sentence(runs: Sequence[Run]) -> str:
    """What the gate says about repairs, "" where the repository wants none."""
    most, done = bound(runs), len(begun(runs))
    if not most:
        return ""
    return f" Repairs begun by itself: {done} of at most {most}."
