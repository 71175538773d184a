"""The family of endings, waits and faults, drawn first: every expected way in which work stops.

Stop                      nothing below is a bug; anything else is
├── Halt                  the run ends here; `reason` is one slug of `Reason`
├── Park                  the run waits without a worker; never charged to attempts or budget
├── Handover              this process ends; the run goes on elsewhere, from its journal
└── Fault                 an adapter could not do it; callers turn it into Halt or Park
    ├── Unavailable       the other side is away or overloaded: try later (`retry_after` seconds)
    │   └── Limited       it is well and said until when it wants to be left alone
    ├── Uncertain         a write was sent and no answer came: read before writing again
    ├── Refused           the other side said no, and saying it again will not help
    │   ├── Missing       404, 410: not there (any more), or not visible to us
    │   └── Exists        already there: look whether it is ours
    ├── ForbiddenCall     our own allow-list said no before a socket opened
    ├── IntegrityError    an answer does not name what we sent
    └── Fenced            this worker's lease is over: it may neither write nor publish
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a run ended short: the page's word, the log's field and the metric's label at once."""

    NEEDS_INFO = "needs-info"
    REFUSED_ROLE = "refused-role"
    REFUSED_OWNER = "refused-owner"
    REFUSED_ISSUE = "refused-issue"
    REFUSED_PAUSED = "refused-paused"
    REFUSED_CAP = "refused-cap"
    CONFIG_ERROR = "config-error"
    EMPTY_REPOSITORY = "empty-repository"
    BASE_LOST = "base-lost"
    BASE_INVALID = "base-invalid"
    NO_CHECKS = "no-checks"
    CHECKS_UNAVAILABLE = "checks-unavailable"
    SETUP_FAILED = "setup-failed"
    GROUNDING = "grounding"
    SCOPE = "scope"
    BLOCKED_PATH = "blocked-path"
    NO_PROGRESS = "no-progress"
    NO_CHANGE = "no-change"
    BUDGET_TURNS = "budget-turns"
    BUDGET_CALLS = "budget-calls"
    BUDGET_REPAIRS = "budget-repairs"
    BUDGET_DOLLARS = "budget-dollars"
    BUDGET_TIME = "budget-time"
    DAILY_CAP = "daily-cap"
    MERGE_GATE = "merge-gate"
    MERGE_CONFLICT = "merge-conflict"
    WORKFLOW_FILES = "workflow-files"
    MODEL_REFUSED = "model-refused"
    MODEL_FAILED = "model-failed"
    SECRET_FOUND = "secret-found"  # noqa: S105 - a slug, not a credential
    INTEGRITY = "integrity"
    INFRASTRUCTURE = "infrastructure"
    INSTALLATION = "installation-unavailable"
    NEEDS_OPERATOR = "needs-operator"
    HEAD_MOVED = "head-moved"
    BASE_CHANGED = "base-changed"
    PLAN_UNAPPROVED = "plan-unapproved"
    UNPUBLISHED = "unpublished"
    CANCELLED = "cancelled"
    QUARANTINED = "quarantined"


class Waiting(StrEnum):
    """What a parked run waits for."""

    SANDBOX = "waiting-sandbox"
    GITHUB = "waiting-github"
    MODEL = "waiting-model"
    ANSWER = "waiting-answer"
    PLAN = "waiting-plan"
    PUBLISH = "waiting-publish"

    @property
    def of_person(self) -> bool:
        """Whether a person is waited for: then `until` is when the run ends without one."""
        return self in (Waiting.ANSWER, Waiting.PLAN, Waiting.PUBLISH)


class Stop(Exception):
    """An expected way to stop; never a bug."""


@dataclass(frozen=True)
class HaltRecord:
    """A Halt as it is kept in the run's row and shown to people."""

    reason: Reason
    message: str
    next_step: str
    details: tuple[str, ...] = ()


class Halt(Stop):
    """The run ends here, with its reason, what happened, and what a person can do next."""

    def __init__(
        self, reason: Reason, message: str, next_step: str = "", details: tuple[str, ...] = ()
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.record = HaltRecord(reason, message, next_step, details)


class Park(Stop):
    """The run waits `seconds` from now without a worker, then goes on in the same state.

    `exact`: until then is known and nothing is amiss, so that waiting again is no longer wait."""

    def __init__(self, waiting: Waiting, seconds: float, note: str, *, exact: bool = False) -> None:
        super().__init__(f"{waiting}: {note}")
        self.exact = exact
        self.waiting = waiting
        self.seconds = seconds
        self.note = note


class Handover(Stop):
    """This process was told to end: the run is let go, as it is, for another worker."""


class Fault(Stop):
    """An adapter could not do what it was asked; the message says what happened and what to do."""


class Unavailable(Fault):
    """The other side is away, overloaded or limiting us; `retry_after` in seconds if it said so."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unwelcome(Unavailable):
    """The other side is there and turns us away until the operator changes something: a wrong
    password, a right that is missing. Runs wait; a command or a role that begins ends."""


class Limited(Unavailable):
    """A limit with a known end: `retry_after` seconds from now it is over."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, retry_after)
        self.seconds = retry_after


class Uncertain(Fault):
    """A write was sent and its outcome is unknown: look for the effect before writing again."""


SERVICE_NOT_READY = 424  # the `status` of a check's refusal for a service beside it


class Refused(Fault):
    """The other side refused; `status` is its HTTP status where it has one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Missing(Refused):
    """It is not there, or not visible to us."""


class Exists(Refused):
    """It is already there: perhaps ours from an attempt whose answer was lost."""


class ForbiddenCall(Fault):
    """Our own allow-list refused the call before a socket opened."""


class IntegrityError(Fault):
    """An answer names another object than the one that we sent or expected."""


class Fenced(Fault):
    """The lease of this worker is over; another one may be at work."""


class IllegalMove(Exception):
    """A move that is not in the table: a bug, so not a Stop."""
