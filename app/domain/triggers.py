"""From a webhook's name and body to an Event, or to why it starts nothing.

Takes plain mappings, so that receiver and poller share it. The event's key comes from the body
alone: the delivery's headers are not signed. Nothing here decides who may; the desk asks live.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from app.domain.commands import command_of
from app.domain.event import Event, EventKind, Ignored, Person, Repository

LABEL = "agent:fix"
RUNNING = "agent:running"
OPENED = "issues.opened"
FOUND = "found"  # by looking, not by being told
ONE_ACT = timedelta(seconds=10)
NO_PERSON = "the sender is not a person"
OURS = frozenset({LABEL, RUNNING})  # labels whose removal ends a run
GHOST = Person(0, "ghost")  # the author of an issue whose account is gone
NOWHERE = Repository(0, "", "")  # an installation's event names no repository

_ACTIONS = ("labeled", "opened")  # not a set: what is asked for may be any JSON
# A body of another event sent under this name; the name is not signed.
_FOREIGN = ("comment", "pull_request", "discussion", "review")
# Event -> actions that may change what a run may do; all else of them is ignored.
_NUDGES: dict[str, tuple[str, ...]] = {
    "check_run": ("completed", "rerequested"),
    "check_suite": ("completed",),
    "issues": ("closed", "deleted", "edited", "transferred", "unlabeled"),
    "member": ("added", "edited", "removed"),
    "pull_request": (
        "closed",
        "converted_to_draft",
        "edited",
        "opened",
        "ready_for_review",
        "reopened",
        "synchronize",
    ),
    "pull_request_review": ("dismissed", "edited", "submitted"),
    "installation": ("deleted", "suspend"),
    "installation_repositories": ("removed",),
    "repository": ("archived", "deleted", "transferred"),
}
_SPOKEN = {  # event -> the action that may hold a command
    "issue_comment": "created",
    "pull_request_review": "submitted",
    "pull_request_review_comment": "created",
}
PUSH = "push"
STATUS = "status"  # a commit status; the event names no action
READ = frozenset({*_SPOKEN, PUSH, STATUS, *_NUDGES})
# Event -> what its body holds besides the repository; all other parts make it a misfit.
_PARTS: dict[str, tuple[str, ...]] = {
    "issues": ("issue",),
    "pull_request": ("pull_request",),
    "pull_request_review": ("pull_request", "review"),
}
# What CI says about a commit; the branch that the event names is a hint where to look.
_REPORTED = frozenset({("check_run", "completed"), ("check_suite", "completed")})
CI_TOLD = frozenset({"check_run.completed", "check_suite.completed", STATUS})
OWN_CHECKS = ("approval:", "gate:")  # how external ids of checks begin that a look itself writes
AGENT = "agent/issue-"  # how the heads of our pull requests begin
_TIME = re.compile(r"[0-9TZ:.+-]{1,40}")
_LARGEST = 2**63

Body = Mapping[str, Any]


class Misfit(ValueError):
    """The body is not one of the event that it was sent as."""


def worth_reading(name: str, action: str) -> bool:
    """Whether a body of this event and action can be an event at all, before it is read."""
    if name == "issues" and action in _ACTIONS:
        return True
    if name in (PUSH, STATUS) or action == _SPOKEN.get(name):
        return True
    return action in _NUDGES.get(name, ())


def digest_of(body: Body) -> str:
    """The SHA-256 in hex of what a whole body says: the same for the bytes that were sent and for
    GitHub's own record of the delivery, which may order and escape them in another way."""
    plain = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


def event_of(
    name: str,
    body: Body,
    digest: Callable[[], str] | None = None,
    bots: frozenset[int] = frozenset(),
) -> Event | Ignored:
    """The event that `body` tells of, sent under the event name `name`.

    `digest` gives `digest_of` the whole body, which is a nudge's key; without it nudges are
    ignored. `bots` are the ids of accounts of type Bot that the operator lets trigger. Raises
    `Misfit` when a part that decides is missing or of another type. Null is no misfit where GitHub
    sends it (a user who is gone, an empty body, no installation).
    """
    if name == "issues" and body.get("action") not in _NUDGES["issues"]:
        return _issues(body, bots)
    if name == "issue_comment":
        return _commented(body, bots)
    action = body.get("action")
    if name == "pull_request_review_comment" or (name, action) == (
        "pull_request_review",
        "submitted",
    ):
        asked = _reviewed(name, body, bots)
        if isinstance(asked, Event) or name != "pull_request_review":
            return asked
    if name == PUSH:
        return _pushed(body, digest)
    if name == STATUS or (name, action) in _REPORTED:
        return _reported(name, body, digest)
    if name not in _NUDGES or not isinstance(action, str) or action not in _NUDGES[name]:
        return Ignored("this event starts nothing")
    return _nudge(name, action, body, digest)


def _issues(body: Body, bots: frozenset[int]) -> Event | Ignored:
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
    if sender is None or not _may_be(sender, bots):
        return Ignored(NO_PERSON)
    told = OPENED if action == "opened" else ""
    return _labeled(issue, _repository(repository), installation, sender, label, told)


def _commented(body: Body, bots: frozenset[int]) -> Event | Ignored:
    """A new comment in a conversation whose first own words are a command."""
    if body.get("action") != "created":
        return Ignored("only a new comment can be a command")
    issue, comment = _part(body, "issue"), _part(body, "comment")
    if issue is None or comment is None or any(other in body for other in _FOREIGN[1:]):
        raise Misfit("this is not the body of an `issue_comment` event")
    spoken = _spoken(body, comment, bots)
    if isinstance(spoken, Ignored):
        return spoken
    repository, installation, sender = spoken
    number = _id(comment, "id")
    return _asked(
        f"comment:{number}", EventKind.COMMENT, repository, installation, sender, issue,
        pull=issue.get("pull_request") is not None, comment=number, text=_text(comment, "body"),
    )  # fmt: skip


def _reviewed(name: str, body: Body, bots: frozenset[int]) -> Event | Ignored:
    """A review or one of its inline comments: both have the review's key, since both are one."""
    inline = name == "pull_request_review_comment"
    part = "comment" if inline else "review"
    if body.get("action") != ("created" if inline else "submitted"):
        return Ignored("only a new review can hold a command")
    pull, said = _part(body, "pull_request"), _part(body, part)
    others = {"issue", "discussion", "comment", "review"} - {part}
    if pull is None or said is None or any(other in body for other in others):
        raise Misfit(f"this is not the body of a `{name}` event")
    spoken = _spoken(body, said, bots)
    if isinstance(spoken, Ignored):
        return spoken
    repository, installation, sender = spoken
    whole = "pull_request_review_id" if inline else "id"
    alone = said.get(whole) is None  # a reply may belong to no review
    key = f"inline:{_id(said, 'id')}" if alone else f"review:{repository.id}:{_id(said, whole)}"
    line = said.get("line") if inline else 0
    return _asked(
        key, EventKind.INLINE if inline else EventKind.REVIEW,
        repository, installation, sender, pull, pull=True, comment=_id(said, "id"),
        text=_text(said, "body"), path=_text(said, "path") if inline else "",
        line=line if type(line) is int else 0,
    )  # fmt: skip


def _spoken(
    body: Body, said: Body, bots: frozenset[int]
) -> tuple[Repository, int, Person] | Ignored:
    """Where and by whom a command was said; why it is none where a person did not say it."""
    if command_of(_text(said, "body")) is None:
        return Ignored("the comment's first own words are no command")
    repository, installation = _part(body, "repository"), _part(body, "installation")
    sender, author = _part(body, "sender"), _part(said, "user")
    if repository is None:
        raise Misfit("no repository is named")
    if installation is None:
        return Ignored("no installation is named: the delivery is not the App's")
    if sender is None or not _may_be(sender, bots):
        return Ignored(NO_PERSON)
    if author is None or _id(author, "id") != _id(sender, "id"):
        return Ignored("the comment is not its sender's own")
    if sender.get("type") == "User" and said.get("performed_via_github_app") is not None:
        return Ignored("an app wrote this comment in a person's name")
    return _repository(repository), _id(installation, "id"), _person(sender)


def _may_be(sender: Body, bots: frozenset[int]) -> bool:
    """A person, or a bot that the operator named by its id."""
    return sender.get("type") == "User" or (
        sender.get("type") == "Bot" and _id(sender, "id") in bots
    )


def _asked(
    key: str, kind: EventKind, repository: Repository, installation: int, sender: Person,
    thread: Body, **more: Any,
) -> Event:  # fmt: skip
    updated, author = thread.get("updated_at"), _part(thread, "user")
    if not isinstance(updated, str) or not _TIME.fullmatch(updated):
        raise Misfit("updated_at is not a time")
    return Event(
        key=key,
        kind=kind,
        installation=installation,
        repository=repository,
        issue=_id(thread, "number"),
        sender=sender,
        label="",
        title=_text(thread, "title"),
        body=_text(thread, "body"),
        author=GHOST if author is None else _person(author),
        updated_at=updated,
        **more,
    )


def _nudge(name: str, action: str, body: Body, digest: Callable[[], str] | None) -> Event | Ignored:
    """Something that may change what a run may do; what it was is only a hint where to look."""
    parts = _PARTS.get(name, ())
    foreign = {"issue", *_FOREIGN} - set(parts)
    thread = _part(body, parts[0]) if parts else None
    if any(_part(body, one) is None for one in parts) or any(other in body for other in foreign):
        raise Misfit(f"this is not the body of a `{name}` event")
    installation, sender = _part(body, "installation"), _part(body, "sender")
    if installation is None:
        return Ignored("no installation is named: the delivery is not the App's")
    if name == "pull_request" and action == "edited" and not _retargeted(body):
        return Ignored("its base branch is the same")  # title and body decide nothing
    label = _part(body, "label") if action == "unlabeled" else None
    if action == "unlabeled" and (label is None or _text(label, "name").lower() not in OURS):
        return Ignored("the label is none of ours")
    repository = _part(body, "repository")
    pressed = _part(body, "check_run") if name == "check_run" else None
    if name == "check_run" and pressed is None:
        raise Misfit("this is not the body of a `check_run` event")
    head = _part(thread or {}, "head") if name.startswith("pull_request") else None
    if name == "pull_request_review" and not _text(head or {}, "ref").startswith(AGENT):
        return Ignored("the review is of no pull request of ours")
    removed = body.get("repositories_removed") or ()
    if not isinstance(removed, list | tuple):
        raise Misfit("repositories_removed is not a list")
    if digest is None:
        return Ignored("no key can be made for a nudge")
    return Event(
        key=f"nudge:{digest()}",
        kind=EventKind.NUDGE,
        installation=_id(installation, "id"),
        repository=NOWHERE if repository is None else _repository(repository),
        issue=_id(thread, "number") if thread is not None else 0,
        sender=GHOST if sender is None else _person(sender),
        label=_text(label, "name") if label is not None else "",
        title="",
        body="",
        author=GHOST,
        updated_at=_text(thread or {}, "updated_at")[:40],
        pull=name.startswith("pull_request") or (thread or {}).get("pull_request") is not None,
        text=_text(pressed, "external_id")[:80] if pressed is not None else "",
        told=f"{name}.{action}",
        branch=_text(head, "ref") if head is not None else "",
        head=_text(head, "sha")[:40] if head is not None else "",
        repositories=tuple(_id(one, "id") for one in removed if isinstance(one, Mapping)),
    )


def _reported(name: str, body: Body, digest: Callable[[], str] | None) -> Event | Ignored:
    """CI said something about a commit; `branch` is ours, or the event starts nothing."""
    if any(other in body for other in ("issue", *_FOREIGN)):
        raise Misfit(f"this is not the body of a `{name}` event")
    part = body if name == STATUS else _part(body, name)
    if part is None:
        raise Misfit(f"this is not the body of a `{name}` event")
    if name == "check_run" and _text(part, "external_id").startswith(OWN_CHECKS):
        return Ignored("a look of ours wrote this check")
    branch = next((one for one in _branches(name, part) if one.startswith(AGENT)), "")
    if not branch:
        return Ignored("the commit is on no branch of ours")
    repository = _part(body, "repository")
    if repository is None:
        raise Misfit(f"a `{name}` event names its repository")
    told = STATUS if name == STATUS else f"{name}.completed"
    return _of_branch(told, branch, repository, body, digest)


def _of_branch(
    told: str, branch: str, repository: Body, body: Body, digest: Callable[[], str] | None
) -> Event | Ignored:
    """The nudge about a branch, whatever told of it."""
    installation, sender = _part(body, "installation"), _part(body, "sender")
    if installation is None:
        return Ignored("no installation is named: the delivery is not the App's")
    if digest is None:
        return Ignored("no key can be made for a nudge")
    return Event(
        key=f"nudge:{digest()}",
        kind=EventKind.NUDGE,
        installation=_id(installation, "id"),
        repository=_repository(repository),
        issue=0,
        sender=GHOST if sender is None else _person(sender),
        label="",
        title="",
        body="",
        author=GHOST,
        updated_at="",
        told=told,
        branch=branch,
    )


def _branches(name: str, part: Body) -> list[str]:
    if name == STATUS:
        listed = part.get("branches") or ()
        if not isinstance(listed, list | tuple):
            raise Misfit("branches is not a list")
        return [_text(one, "name") for one in listed if isinstance(one, Mapping)]
    suite = part if name == "check_suite" else _part(part, "check_suite")
    return [_text(suite or {}, "head_branch")]


def _retargeted(body: Body) -> bool:
    """Whether an edit gave a pull request another base."""
    changes = _part(body, "changes")
    return changes is not None and changes.get("base") is not None


def _pushed(body: Body, digest: Callable[[], str] | None) -> Event | Ignored:
    """A branch moved; `branch` is its name. It may be the base of a pull request of ours."""
    if any(other in body for other in ("issue", *_FOREIGN)):
        raise Misfit("this is not the body of a `push` event")
    repository, ref = _part(body, "repository"), _text(body, "ref")
    if repository is None or not ref:
        raise Misfit("a push names its repository and its ref")
    branch = ref.removeprefix("refs/heads/")
    if branch == ref or branch.startswith(AGENT):  # what happens to ours is told as synchronize
        return Ignored("no branch that anything could go into")
    return _of_branch(PUSH, branch, repository, body, digest)


def _labeled(
    issue: Body, repository: Repository, installation: Body, sender: Body, label: Body, told: str
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
        told=told,
    )


def one_act(first: Event, second: Event) -> bool:
    """Whether two events tell of one act of one person: an issue opened with our label is told as
    `opened` and as `labeled`, whose times may be seconds apart; what was found may be told late."""
    ways = {first.told, second.told}
    if first.key == second.key or len(ways) == 1 or not ways & {OPENED, FOUND}:
        return False
    same = all(
        one.kind is EventKind.ISSUE_LABELED and one.label.lower() == LABEL
        for one in (first, second)
    )
    where = [(one.repository.id, one.issue, one.sender.id) for one in (first, second)]
    if not same or where[0] != where[1]:
        return False
    try:
        apart = datetime.fromisoformat(first.updated_at) - datetime.fromisoformat(second.updated_at)
    except (ValueError, TypeError):
        return False
    return abs(apart) <= ONE_ACT


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
