"""The job boundary: bugs are logged and swallowed, RQ's time-out passes, unknown jobs are said."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from rq.timeouts import JobTimeoutException

from app.domain.errors import Unavailable
from worker import jobs


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    kept = dict(jobs.ANSWERS.by_job)
    yield
    jobs.ANSWERS.by_job.clear()
    jobs.ANSWERS.by_job.update(kept)


def test_each_job_hands_its_id_to_the_roles_answer() -> None:
    heard: list[tuple[str, str]] = []
    jobs.install(
        event=lambda key: heard.append(("event", key)),
        run=lambda run: heard.append(("run", run)),
        token=lambda request: heard.append(("token", request)),
    )
    jobs.event("k")
    jobs.run("r")
    jobs.token("t")
    assert heard == [("event", "k"), ("run", "r"), ("token", "t")]


def test_a_bug_is_logged_and_does_not_reach_rq(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_run: str) -> None:
        raise ZeroDivisionError("oh")

    jobs.install(run=broken)
    with caplog.at_level(logging.ERROR):
        jobs.run("r")
    assert "ZeroDivisionError" in caplog.text


def test_an_expected_stop_is_one_line_and_no_bug(caplog: pytest.LogCaptureFixture) -> None:
    def away(_run: str) -> None:
        raise Unavailable("GitHub is away")

    jobs.install(event=away)
    with caplog.at_level(logging.WARNING):
        jobs.event("k")
    (line,) = caplog.records
    assert line.levelno == logging.WARNING and line.exc_info is None
    assert "GitHub is away" in line.getMessage()


def test_rqs_time_out_passes() -> None:
    def slow(_run: str) -> None:
        raise JobTimeoutException("over")

    jobs.install(run=slow)
    with pytest.raises(JobTimeoutException):
        jobs.run("r")


def test_a_job_of_another_role_is_said(caplog: pytest.LogCaptureFixture) -> None:
    jobs.ANSWERS.by_job.clear()
    jobs.run("r")
    assert "does not answer it" in caplog.text
