"""From bodies to events: a table of what starts a run, what is ignored, what is no such body."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.event import Event, EventKind, Ignored, Person, Repository
from app.domain.triggers import Misfit, event_of
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
    opened = changed(action="opened", label=GONE)
    assert event_of("issues", opened) == event_of("issues", BODY)


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


@pytest.mark.parametrize("name", ["ping", "issue_comment", "brand_new", "", "Issues"])
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
