"""From bodies to events: a table of what starts a run, what is ignored, what is no such body."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.event import Event, EventKind, Ignored, Person, Repository
from app.domain.triggers import OPENED, Misfit, event_of, one_act, worth_reading
from tests.shared_data import shared_dir

LABEL = {"id": 208045946, "name": "agent:fix"}
ISSUE = {
    "number": 7,
    "title": "Sum is wrong",
    "body": "as signed\r\n",
    "updated_at": "2026-11-30T10:00:00Z",
    "user": {"id": 2, "login": "hubot", "type": "User"},
    "labels": [{"id": 1, "name": "bug"}, LABEL],
}
BODY: dict[str, Any] = {
    "action": "labeled",
    "issue": ISSUE,
    "label": LABEL,
    "repository": {"id": 1296269, "name": "hello-world", "owner": {"login": "octocat"}},
    "installation": {"id": 5},
    "sender": {"id": 1, "login": "octocat", "type": "User"},
}
GONE = object()


def changed(**paths: Any) -> dict[str, Any]:
    """`BODY` with values set by path (`issue__user`), or taken out (`GONE`)."""
    body = copy.deepcopy(BODY)
    for path, value in paths.items():
        *folders, name = path.split("__")
        place = body
        for folder in folders:
            place = place[folder]
        if value is GONE:
            place.pop(name, None)
        else:
            place[name] = value
    return body


def test_a_labelled_issue_is_an_event_with_the_request_as_signed() -> None:
    assert event_of("issues", BODY) == Event(
        key="issue:1296269:7:208045946:2026-11-30T10:00:00Z",
        kind=EventKind.ISSUE_LABELED,
        installation=5,
        repository=Repository(1296269, "octocat", "hello-world"),
        issue=7,
        sender=Person(1, "octocat", "User"),
        label="agent:fix",
        title="Sum is wrong",
        body="as signed\r\n",
        author=Person(2, "hubot", "User"),
        updated_at="2026-11-30T10:00:00Z",
    )


def test_an_issue_opened_with_the_label_is_the_same_event() -> None:
    opened = event_of("issues", changed(action="opened", label=GONE))
    assert isinstance(opened, Event) and opened.told == OPENED
    assert replace(opened, told="") == event_of("issues", BODY)


@pytest.mark.parametrize(
    ("change", "one"),
    [
        ({"updated_at": "2026-11-30T10:00:09Z"}, True),
        ({"updated_at": "2026-11-30T09:59:58Z"}, True),
        ({"updated_at": "2026-11-30T10:00:11Z"}, False),
        ({"updated_at": "some time"}, False),
        ({"told": OPENED}, False),
        ({"sender": Person(99, "other")}, False),
        ({"issue": 999}, False),
        ({"label": "bug"}, False),
        ({"key": "opened"}, False),
    ],
)
def test_opened_and_labelled_seconds_apart_are_one_act(change: dict[str, Any], one: bool) -> None:
    told = event_of("issues", BODY)
    assert isinstance(told, Event)
    first = replace(told, key="opened", told=OPENED, updated_at="2026-11-30T10:00:00Z")
    second = replace(told, **{"updated_at": "2026-11-30T10:00:01Z", **change})
    assert one_act(first, second) is one and one_act(second, first) is one


@pytest.mark.parametrize("name", ["agent:fix", "Agent:Fix", "AGENT:FIX"])
def test_the_labels_case_does_not_matter(name: str) -> None:
    event = event_of("issues", changed(label__name=name))
    assert isinstance(event, Event) and event.label == name


@pytest.mark.parametrize(
    "body",
    [
        changed(action="unlabeled"),
        changed(action="edited"),
        changed(action="brand_new"),
        changed(action=None),
        changed(action=[]),
        changed(label=None),
        changed(label=GONE),
        changed(label__name="bug"),
        changed(label__name=None),
        changed(label__name="agent:fix "),
        changed(label__name="аgent:fix"),  # noqa: RUF001 - a Cyrillic letter is another label
        changed(action="opened", issue__labels=[]),
        changed(action="opened", issue__labels=None),
        changed(action="opened", issue__labels=GONE),
        changed(action="opened", issue__labels=[None, "agent:fix", {"id": 1, "name": "bug"}]),
        changed(issue__pull_request={"url": "x"}),
        changed(installation=None),
        changed(installation=GONE),
        changed(sender=None),
        changed(sender=GONE),
        changed(sender__type="Bot"),
        changed(sender__type="Organization"),
        changed(sender__type=None),
    ],
)
def test_what_is_not_our_trigger_is_ignored(body: dict[str, Any]) -> None:
    found = event_of("issues", body)
    assert isinstance(found, Ignored) and found.why


@pytest.mark.parametrize("name", ["ping", "discussion_comment", "brand_new", "", "Issues"])
def test_other_events_are_ignored_unread(name: str) -> None:
    assert isinstance(event_of(name, {"issue": 1}), Ignored)


@pytest.mark.parametrize(
    "body",
    [
        {},
        changed(issue=None),
        changed(issue=GONE),
        changed(issue=[]),
        changed(repository=None),
        changed(repository="octocat/hello-world"),
        changed(comment={"id": 1}),
        changed(pull_request={"number": 1}),
        changed(discussion={}),
        changed(review={}),
        changed(label="agent:fix"),
        changed(label__id=None),
        changed(label__id=0),
        changed(label__id=True),
        changed(label__id=2**63),
        changed(label__id="208045946"),
        changed(action="opened", issue__labels="agent:fix"),
        changed(issue__number=None),
        changed(issue__number=-7),
        changed(issue__number=7.0),
        changed(issue__updated_at=None),
        changed(issue__updated_at="yesterday\n"),
        changed(issue__updated_at="2" * 41),
        changed(issue__title=1),
        changed(issue__body=["x"]),
        changed(issue__user="hubot"),
        changed(repository__id=GONE),
        changed(repository__name=""),
        changed(repository__owner=None),
        changed(repository__owner__login=None),
        changed(installation__id=None),
        changed(sender__id=None),
    ],
)
def test_a_body_that_is_not_an_issue_events_is_a_misfit(body: dict[str, Any]) -> None:
    with pytest.raises(Misfit):
        event_of("issues", body)


def test_what_github_leaves_empty_is_empty() -> None:
    event = event_of("issues", changed(issue__body=None, issue__title=GONE, issue__user=None))
    assert isinstance(event, Event)
    assert (event.title, event.body, event.author) == ("", "", Person(0, "ghost"))


def test_any_mapping_will_do() -> None:
    from types import MappingProxyType

    body = MappingProxyType({**BODY, "label": MappingProxyType(LABEL)})
    assert event_of("issues", body) == event_of("issues", BODY)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
_paths = ["action", "label", "issue", "repository", "installation", "sender", "label__id"]
_paths += ["issue__labels", "issue__user", "issue__number", "repository__owner", "sender__type"]


@given(st.dictionaries(st.sampled_from(_paths[6:]), _json), st.sampled_from(_paths[:6]), _json)
def test_no_value_anywhere_is_a_crash(deep: dict[str, Any], top: str, value: Any) -> None:
    for body in (changed(**deep), {**BODY, top: value}):
        try:
            found = event_of("issues", body)
        except Misfit:
            continue
        assert isinstance(found, Event | Ignored)


# -- commands -------------------------------------------------------------------------------------

COMMENT = {
    "id": 99,
    "body": "/agent fix as you like",
    "user": {"id": 1, "login": "octocat", "type": "User"},
    "performed_via_github_app": None,
}
COMMENTED = {**changed(action="created", label=GONE), "comment": COMMENT}
PULL = {**{k: ISSUE[k] for k in ("number", "title", "body", "updated_at", "user")},
        "head": {"ref": "agent/issue-7-abc"}}  # fmt: skip
ON_LINE = {**COMMENT, "pull_request_review_id": 5, "path": "a.py", "line": 3}
INLINE = {**changed(action="created", label=GONE, issue=GONE), "pull_request": PULL,
          "comment": ON_LINE}  # fmt: skip
REVIEWED = {**changed(action="submitted", label=GONE, issue=GONE), "pull_request": PULL,
            "review": {**COMMENT, "id": 5, "state": "commented"}}  # fmt: skip


PULLED = {k: v for k, v in INLINE.items() if k != "comment"}
REPLIED = {**REVIEWED, "review": {**COMMENT, "id": 5, "body": "Fine", "state": "approved"}}
PUSHED = {**{k: BODY[k] for k in ("repository", "installation", "sender")},
          "ref": "refs/heads/release/1", "after": "a" * 40}  # fmt: skip


def but(whole: dict[str, Any], part: str, /, **change: Any) -> dict[str, Any]:
    return {**whole, part: {**whole[part], **change}}


def test_a_command_in_a_conversation_is_an_event_with_the_issue_as_signed() -> None:
    event = event_of("issue_comment", COMMENTED)
    assert isinstance(event, Event)
    assert (event.key, event.kind, event.comment) == ("comment:99", EventKind.COMMENT, 99)
    assert (event.issue, event.title, event.body) == (7, "Sum is wrong", "as signed\r\n")
    assert (event.text, event.pull, event.sender.login) == (
        "/agent fix as you like",
        False,
        "octocat",
    )
    on_pull = event_of("issue_comment", but(COMMENTED, "issue", pull_request={"url": "x"}))
    assert isinstance(on_pull, Event) and on_pull.pull


def test_a_review_and_its_inline_comments_are_one_event() -> None:
    inline = event_of("pull_request_review_comment", INLINE)
    review = event_of("pull_request_review", REVIEWED)
    assert isinstance(inline, Event) and isinstance(review, Event)
    assert inline.key == review.key == "review:1296269:5"
    assert (inline.kind, inline.path, inline.line) == (EventKind.INLINE, "a.py", 3)
    assert (review.kind, review.path, review.pull) == (EventKind.REVIEW, "", True)
    alone = event_of(
        "pull_request_review_comment", but(INLINE, "comment", pull_request_review_id=None)
    )
    assert isinstance(alone, Event) and alone.key == "inline:99"
    outdated = event_of("pull_request_review_comment", but(INLINE, "comment", line=None))
    assert isinstance(outdated, Event) and outdated.line == 0


@pytest.mark.parametrize(
    "body",
    [
        {**COMMENTED, "action": "edited"},
        {**COMMENTED, "action": "deleted"},
        but(COMMENTED, "comment", body="> /agent fix"),
        but(COMMENTED, "comment", body=None),
        but(COMMENTED, "comment", performed_via_github_app={"id": 1}),
        but(COMMENTED, "comment", user={"id": 2, "login": "hubot", "type": "User"}),
        but(COMMENTED, "comment", user=None),
        but(COMMENTED, "sender", type="Bot"),
        {**COMMENTED, "sender": None},
        {**COMMENTED, "installation": None},
    ],
)
def test_what_a_person_did_not_say_is_no_command(body: dict[str, Any]) -> None:
    assert isinstance(event_of("issue_comment", body), Ignored)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("issue_comment", INLINE),
        ("issue_comment", {**COMMENTED, "comment": None}),
        ("issue_comment", {**COMMENTED, "repository": None}),
        ("pull_request_review", {**REVIEWED, "review": None}),
        ("pull_request_review", {**REVIEWED, "issue": ISSUE}),
        ("pull_request_review", {**REPLIED, "action": "dismissed", "comment": COMMENT}),
        ("push", {**PUSHED, "pull_request": PULL}),
        ("push", {**PUSHED, "ref": None}),
        ("pull_request_review_comment", {**INLINE, "review": {}}),
        ("pull_request_review_comment", but(INLINE, "comment", pull_request_review_id="5")),
        ("issues", {**COMMENTED, "action": "closed"}),
        ("pull_request", {**COMMENTED, "action": "closed"}),
        ("installation", {**COMMENTED, "action": "deleted"}),
    ],
)
def test_a_body_under_another_name_is_a_misfit(name: str, body: dict[str, Any]) -> None:
    with pytest.raises(Misfit):
        event_of(name, body, lambda: "d" * 64)


PULLED = {key: value for key, value in INLINE.items() if key != "comment"}


def test_a_push_names_who_pushed_and_the_branch() -> None:
    bot = {"id": 77, "login": "format[bot]", "type": "Bot"}
    body = {**PULLED, "action": "synchronize", "sender": bot}
    event = event_of("pull_request", body, lambda: "d" * 64)
    assert isinstance(event, Event) and event.sender == Person(77, "format[bot]", "Bot")
    assert (event.branch, event.told) == ("agent/issue-7-abc", "pull_request.synchronize")
    with pytest.raises(Misfit):
        event_of("pull_request", {**PULLED, "action": "edited", "changes": []}, lambda: "d")


# -- nudges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "body", "issue"),
    [
        ("issues", changed(action="closed"), 7),
        ("issues", changed(action="deleted"), 7),
        ("issues", changed(action="transferred"), 7),
        ("issues", changed(action="unlabeled"), 7),
        ("issues", changed(action="unlabeled", label__name="Agent:Running"), 7),
        ("pull_request", {**INLINE, "action": "closed", "comment": None} | {}, 7),
        ("pull_request", {**PULLED, "action": "synchronize"}, 7),
        ("pull_request", {**PULLED, "action": "reopened"}, 7),
        (
            "pull_request",
            {**PULLED, "action": "edited", "changes": {"base": {"ref": {"from": "main"}}}},
            7,
        ),
        ("installation", {"action": "suspend", "installation": {"id": 5}}, 0),
        ("installation", {"action": "deleted", "installation": {"id": 5}, "sender": None}, 0),
        ("repository", changed(action="archived", issue=GONE, label=GONE), 0),
    ],
)
def test_what_may_change_a_run_is_a_nudge(name: str, body: dict[str, Any], issue: int) -> None:
    body = {k: v for k, v in body.items() if k != "comment"}
    event = event_of(name, body, lambda: "d" * 64)
    assert isinstance(event, Event)
    assert (event.kind, event.key) == (EventKind.NUDGE, "nudge:" + "d" * 64)
    assert (event.issue, event.installation) == (issue, 5)
    assert event.told == f"{name}.{body['action']}"


@pytest.mark.parametrize(
    ("name", "body", "told", "branch"),
    [
        ("pull_request", {**PULLED, "action": "synchronize"}, "synchronize", "agent/issue-7-abc"),
        ("pull_request", {**PULLED, "action": "reopened"}, "reopened", "agent/issue-7-abc"),
        ("pull_request", {**PULLED, "action": "edited", "changes": {"base": {"ref": {}}}},
         "edited", "agent/issue-7-abc"),
        ("pull_request_review", REPLIED, "submitted", "agent/issue-7-abc"),
        ("pull_request_review", {**REPLIED, "action": "dismissed"}, "dismissed",
         "agent/issue-7-abc"),
        ("pull_request_review", {**REVIEWED, "action": "edited"}, "edited", "agent/issue-7-abc"),
        ("pull_request_review", but(REPLIED, "sender", type="Bot"), "submitted",
         "agent/issue-7-abc"),
        ("member", {**{k: v for k, v in PUSHED.items() if k != "ref"}, "action": "removed"},
         "removed", ""),
        ("push", PUSHED, "", "release/1"),
    ],
)  # fmt: skip
def test_what_may_change_an_approval_is_a_nudge(
    name: str, body: dict[str, Any], told: str, branch: str
) -> None:
    event = event_of(name, body, lambda: "d" * 64)
    assert isinstance(event, Event) and event.kind is EventKind.NUDGE
    assert (event.told, event.branch) == (f"{name}.{told}".rstrip("."), branch)
    assert event.issue == (7 if name.startswith("pull_request") else 0)
    assert event.pull == name.startswith("pull_request")
    assert isinstance(event_of(name, body), Ignored)  # without the body's digest it has no key


def test_a_press_on_a_check_run_names_the_run_that_made_it() -> None:
    body = {
        "action": "rerequested",
        "check_run": {"id": 4, "external_id": "run1", "head_sha": "a" * 40},
        **{key: BODY[key] for key in ("repository", "installation", "sender")},
    }
    event = event_of("check_run", body, lambda: "d" * 64)
    assert isinstance(event, Event) and event.kind is EventKind.NUDGE
    assert (event.told, event.text, event.issue) == ("check_run.rerequested", "run1", 0)
    assert event.sender == Person(1, "octocat", "User") and event.repository.id == 1296269
    for action in ("created", "completed", "requested_action"):
        assert isinstance(event_of("check_run", body | {"action": action}, str), Ignored)
    for odd in (None, [], "x", {"external_id": 7}):
        with pytest.raises(Misfit):
            event_of("check_run", body | {"check_run": odd}, str)


OURS = "agent/issue-7-abc"
ABOUT = {key: BODY[key] for key in ("repository", "installation", "sender")}


@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("check_run", {"check_run": {"check_suite": {"head_branch": OURS}}}, ".completed"),
        ("check_suite", {"check_suite": {"head_branch": OURS}}, ".completed"),
        ("status", {"branches": [{"name": "main"}, {"name": OURS}], "state": "success"}, ""),
    ],
)
def test_what_ci_says_about_a_branch_of_ours_is_a_nudge(
    name: str, part: dict[str, Any], told: str
) -> None:
    body = {**ABOUT, **part} | ({"action": "completed"} if told else {})
    assert worth_reading(name, str(body.get("action")))
    event = event_of(name, body, lambda: "d" * 64)
    assert isinstance(event, Event) and event.kind is EventKind.NUDGE
    assert (event.told, event.branch, event.issue) == (f"{name}{told}", OURS, 0)
    assert isinstance(event_of(name, body), Ignored)  # without the body's digest it has no key
    text = json.dumps(body).replace(OURS, "topic")
    assert isinstance(event_of(name, json.loads(text), str), Ignored)
    for odd in (body | {"repository": None}, body | {"comment": {}}, body | {"issue": {}}):
        with pytest.raises(Misfit):
            event_of(name, odd, str)


def test_what_a_look_of_ours_wrote_wakes_no_look() -> None:
    run = {"external_id": "gate:abc", "check_suite": {"head_branch": OURS}}
    body = {**ABOUT, "action": "completed", "check_run": run}
    assert isinstance(event_of("check_run", body, str), Ignored)


def test_a_nudge_names_the_branch_and_the_repositories_that_went() -> None:
    closed = {k: v for k, v in INLINE.items() if k != "comment"} | {"action": "closed"}
    event = event_of("pull_request", closed, lambda: "d" * 64)
    assert isinstance(event, Event) and event.branch == "agent/issue-7-abc"
    other = but(closed, "pull_request", head={"ref": "topic", "sha": "e" * 40})
    event = event_of("pull_request", {**other, "action": "opened"}, lambda: "d" * 64)
    assert isinstance(event, Event) and (event.branch, event.head) == ("topic", "e" * 40)
    narrowed = {"action": "removed", "installation": {"id": 5}, "repositories_removed": [{"id": 8}]}
    event = event_of("installation_repositories", narrowed, lambda: "d" * 64)
    assert isinstance(event, Event) and event.repositories == (8,)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("issues", changed(action="unlabeled", label__name="bug")),
        ("issues", changed(action="closed", installation=None)),
        ("pull_request", {**PULLED, "action": "labeled"}),
        ("pull_request", {**PULLED, "action": "edited", "changes": {"title": {"from": "x"}}}),
        ("pull_request_review", but(REPLIED, "pull_request", head={"ref": "topic"})),
        ("pull_request_review", {**REPLIED, "action": "started"}),
        ("push", {**PUSHED, "ref": "refs/tags/v1"}),
        ("push", {**PUSHED, "ref": "refs/heads/agent/issue-7-abc"}),
        ("push", {**PUSHED, "installation": None}),
        ("pull_request", {**INLINE, "action": "labeled"}),
        ("pull_request", {**PULLED, "action": "edited", "changes": {"title": {"from": "x"}}}),
        ("pull_request", {**PULLED, "action": "edited"}),
        ("installation", {"action": "created", "installation": {"id": 5}}),
        ("repository", changed(action="edited")),
    ],
)
def test_other_happenings_wake_nobody(name: str, body: dict[str, Any]) -> None:
    assert isinstance(event_of(name, body, lambda: "d" * 64), Ignored)


def test_real_payloads_start_nothing_but_their_own_kind() -> None:
    index = json.loads((shared_dir() / "data/webhooks/index.json").read_text())
    seen = 0
    for entry in index:
        body = json.loads((shared_dir() / "data/webhooks" / entry["file"]).read_text())
        assert isinstance(event_of(entry["event"], body), Ignored)
        if entry["event"] == "issues":
            seen += 1
            label = {**LABEL, "node_id": "x"}
            starts = body["sender"]["type"] == "User" and "pull_request" not in body["issue"]
            ours = {**body, "action": "labeled", "label": label, "installation": {"id": 5}}
            assert isinstance(event_of("issues", ours), Event) == starts
        elif "issue" in body or "pull_request" in body:
            with pytest.raises(Misfit):
                event_of("issues", body)
    assert seen > 10
