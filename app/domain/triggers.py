"""From a webhook's name and body to an Event, or to why it starts nothing.

Takes plain mappings, so that receiver and poller share it. The event's key comes from the body
alone: the delivery's headers are not signed. Nothing here decides who may; the desk asks live.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from app.domain.event import Event, EventKind, Ignored, Person, Repository

LABEL = "agent:fix"
GHOST = Person(0, "ghost")  # the author of an issue whose account is gone

_ACTIONS = ("labeled", "opened")  # not a set: what is asked for may be any JSON
# A body of another event sent under this name; the name is not signed.
_FOREIGN = ("comment", "pull_request", "discussion", "review")
_TIME = re.compile(r"[0-9TZ:.+-]{1,40}")
_LARGEST = 2**63

Body = Mapping[str, Any]


class Misfit(ValueError):
    """The body is not one of the event that it was sent as."""


def event_of(name: str, body: Body) -> Event | Ignored:
    """The event that `body` tells of, sent under the event name `name`.

    Raises `Misfit` when a part that decides is missing or of another type. Null is no misfit where
    GitHub sends it (a user who is gone, an empty body, no installation).
    """
    if name != "issues":
        return Ignored("this event starts nothing")
    action = body.get("action")
    issue, repository = _part(body, "issue"), _part(body, "repository")
    if issue is None or repository is None or any(other in body for other in _FOREIGN):
        raise Misfit("this is not the body of an `issues` event")
    if action not in _ACTIONS:
        return Ignored("this action starts nothing")
    if issue.get("pull_request") is not None:
        return Ignored("this is a pull request")
    label = _label(action, body, issue)
    if label is None:
        return Ignored(f"the label is not {LABEL}")
    installation, sender = _part(body, "installation"), _part(body, "sender")
    if installation is None:
        return Ignored("no installation is named: the delivery is not the App's")
    if sender is None or sender.get("type") != "User":
        return Ignored("the sender is not a person")
    return _labeled(issue, _repository(repository), installation, sender, label)


def _labeled(
    issue: Body, repository: Repository, installation: Body, sender: Body, label: Body
) -> Event:
    number, updated = _id(issue, "number"), issue.get("updated_at")
    if not isinstance(updated, str) or not _TIME.fullmatch(updated):
        raise Misfit("issue.updated_at is not a time")
    author = _part(issue, "user")
    return Event(
        key=f"issue:{repository.id}:{number}:{_id(label, 'id')}:{updated}",
        kind=EventKind.ISSUE_LABELED,
        installation=_id(installation, "id"),
        repository=repository,
        issue=number,
        sender=_person(sender),
        label=_text(label, "name"),
        title=_text(issue, "title"),
        body=_text(issue, "body"),
        author=GHOST if author is None else _person(author),
        updated_at=updated,
    )


def _label(action: str, body: Body, issue: Body) -> Body | None:
    """Our label, if this event is about it."""
    if action == "labeled":
        added = _part(body, "label")
        return added if added is not None and _ours(added) else None
    labels = issue.get("labels") or ()
    if not isinstance(labels, list | tuple):
        raise Misfit("issue.labels is not a list")
    return next((one for one in labels if isinstance(one, Mapping) and _ours(one)), None)


def _ours(label: Body) -> bool:
    name = label.get("name")
    return isinstance(name, str) and name.lower() == LABEL


def _repository(part: Body) -> Repository:
    owner = _part(part, "owner")
    login, name = _text(owner or {}, "login"), _text(part, "name")
    if not login or not name:
        raise Misfit("the repository has no owner or no name")
    return Repository(_id(part, "id"), login, name)


def _person(part: Body) -> Person:
    return Person(_id(part, "id"), _text(part, "login"), _text(part, "type"))


def _part(body: Body, name: str) -> Body | None:
    part = body.get(name)
    # The exact type first: asking an abstract one costs more than all the rest of this file.
    if part is None or type(part) is dict or isinstance(part, Mapping):
        return cast("Body | None", part)
    raise Misfit(f"{name} is not an object")


def _text(part: Body, name: str) -> str:
    """A text; null and missing are "": GitHub sends both for an empty one."""
    value = part.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise Misfit(f"{name} is not a text")


def _id(part: Body, name: str) -> int:
    value = part.get(name)
    if type(value) is int and 0 < value < _LARGEST:  # a bool is an int, and no id
        return value
    raise Misfit(f"{name} is not an id")
