"""The functions that RQ may call by name; each takes an id and finds all else in the ledger."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from rq.timeouts import JobTimeoutException

from app.domain.errors import Stop

log = logging.getLogger(__name__)


@dataclass
class Answers:
    """What this process answers; filled once by the role before its workers are forked."""

    by_job: dict[str, Callable[[str], None]] = field(default_factory=dict)


ANSWERS = Answers()


def install(**answers: Callable[[str], None]) -> None:
    """Say what this role does for each job name."""
    ANSWERS.by_job.update(answers)


def event(key: str) -> None:
    """A genuine event waits in the ledger."""
    _answer("event", key)


def run(run_id: str) -> None:
    """A run waits for this role."""
    _answer("run", run_id)


def token(request: str) -> None:
    """The runner asks for a fetch token, or gives one back."""
    _answer("token", request)


def _answer(job: str, argument: str) -> None:
    """The job boundary, one of the two places that catch broadly.

    An expected stop (GitHub or Redis away) is one line of the log. A bug is logged with its trace
    (redacted by the log's own formatter) and does not go into RQ's records, which would keep its
    text in Redis. Nothing is lost: the ledger's row stays due. RQ's time-out must pass, or the job
    would run on.
    """
    answer = ANSWERS.by_job.get(job)
    if answer is None:
        log.error("job %r came to a role that does not answer it", job)
        return
    try:
        answer(argument)
    except JobTimeoutException:
        raise
    except Stop as stop:
        log.warning("job %s stopped, and the ledger's row stays due: %s", job, stop)
    except Exception:
        log.exception("job %s stopped on an error; the ledger's row stays due", job)
