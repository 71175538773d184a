"""Examine: a look at somebody else's pull request is admitted by base's rules, live, or refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.errors import Halt, Park, Reason
from app.domain.event import Person
from app.domain.permissions import Phase
from app.domain.ports.views import PullView
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.fakes.github import Files
from tests.worker.desk.made import AFTER, FILES, Office, new_run, office
from worker.desk.stages.examine import examine
from worker.desk.stages.explain import explain

CONFIG = b"version: 1\nchecks:\n  - name: tests\n    run: [make, test]\n"
TOPIC: Files = {**FILES, "src/widgets.py": (0o100644, AFTER)}


def town(**about: object) -> tuple[Office, Run]:
    """Pull request 7, from another repository, by dave, who may only read; alice asks."""
    desk = office()
    hub = desk.hub
    base = hub.commit_files("main", {**FILES, ".github/agent.yml": (0o100644, CONFIG)})
    hub.branches["topic"] = base
    head = hub.commit_files("topic", {**TOPIC, ".github/agent.yml": (0o100644, b"version: 9\n")})
    view = PullView(
        number=7, url="u", state="open", draft=False, title="t", body="b", head_ref="topic",
        head_sha=head, head_repository=99, base_ref="main", author=Person(5, "dave"),
    )  # fmt: skip
    hub.pulls[7] = replace(view, **about)  # type: ignore[arg-type]
    return desk, replace(new_run(issue=7), kind=Kind.VERIFY, word="verify")


def refused(desk: Office, run: Run) -> Halt:
    with pytest.raises(Halt) as told:
        examine(desk.kit())(run)
    return told.value


def test_head_and_base_are_what_github_says_and_the_rules_are_those_of_the_base() -> None:
    desk, run = town()
    hub = desk.hub
    run = examine(desk.kit())(run)
    assert run.state is State.PREPARE and run.contract is not None
    assert run.contract.head == hub.branches["topic"]
    assert run.contract.base_commit == hub.branches["main"]
    assert run.contract.base_branch == "main" and run.contract.criteria == ()
    assert [one.name for one in run.contract.config.checks] == ["tests"]
    assert run.contract.request.adopted_by == "alice"
    assert set(hub.phases) == {Phase.EXAMINE, Phase.STATUS}
    (only,) = hub.comments
    assert only.issue == 7 and only.id == run.status_comment and "patchwarrant:status" in only.body
    assert hub.issues[1].labels == ("agent:fix", "bug") and hub.reactions == set()


def test_what_the_base_did_since_is_no_part_of_the_change() -> None:
    desk, run = town()
    parted = desk.hub.branches["main"]
    later = {**FILES, ".github/agent.yml": (0o100644, CONFIG), "new.md": (0o100644, b"n")}
    desk.hub.commit_files("main", later)
    run = examine(desk.kit())(run)
    assert run.contract is not None and run.contract.base_commit == parted


def test_older_rules_cannot_be_chosen_by_an_older_base() -> None:
    desk, run = town()
    stricter = {**FILES, ".github/agent.yml": (0o100644, CONFIG + b"    timeout: 60\n")}
    desk.hub.commit_files("main", stricter)
    halt = refused(desk, run)
    assert halt.record.reason is Reason.CONFIG_ERROR and "outdated rules" in halt.record.message


@pytest.mark.parametrize("role", ["triage", "read", "none"])
def test_only_a_writer_may_ask(role: str) -> None:
    desk, run = town()
    desk.hub.roles["alice"] = role
    assert refused(desk, run).record.reason is Reason.REFUSED_ROLE
    assert desk.hub.comments == []


@pytest.mark.parametrize(
    ("about", "word"),
    [({"state": "closed"}, "closed"), ({"state": "closed", "merged": True}, "merged")],
)
def test_a_pull_request_that_is_not_open_is_not_examined(
    about: dict[str, object], word: str
) -> None:
    desk, run = town(**about)
    halt = refused(desk, run)
    assert halt.record.reason is Reason.REFUSED_ISSUE and word in halt.record.message


def test_an_issue_is_no_pull_request() -> None:
    desk, run = town()
    assert refused(desk, replace(run, issue=1)).record.reason is Reason.REFUSED_ISSUE


def test_a_head_that_is_part_of_its_base_has_nothing_to_show() -> None:
    desk, run = town()
    desk.hub.pulls[7] = replace(desk.hub.pulls[7], head_sha=desk.hub.branches["main"])
    assert refused(desk, run).record.reason is Reason.NO_CHANGE


def test_a_foreign_owner_a_pause_and_a_github_that_is_away() -> None:
    desk, run = town()
    desk.paused = True
    assert refused(desk, run).record.reason is Reason.REFUSED_PAUSED
    desk.paused, desk.owners = False, frozenset()
    assert refused(desk, run).record.reason is Reason.REFUSED_OWNER
    desk.owners, desk.hub.down = frozenset({"acme"}), True
    with pytest.raises(Park):
        examine(desk.kit())(run)


def test_a_refusal_is_told_in_the_sticky_comment_without_a_word_about_labels() -> None:
    desk, run = town(state="closed")
    halt = refused(desk, run).record
    run = explain(desk.kit())(replace(run, state=State.HALTED, halt=halt))
    assert run.explained
    (only,) = desk.hub.comments
    assert "refused-issue" in only.body and "`/agent verify`" in only.body
    assert "label" not in only.body and "agent:fix" not in only.body
