"""GitHub's JSON as our values; every part is checked for its type, and every text is data."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from app.domain.commits import BranchCommit
from app.domain.contributors import PullCommit
from app.domain.errors import IntegrityError, Missing, Refused, Unavailable, Uncertain
from app.domain.event import Person
from app.domain.ports.views import (
    CommentView,
    CommitView,
    InlineView,
    IssueView,
    PullView,
    ReviewView,
)


def part(data: Any, *keys: str) -> Any:
    """The value under `keys`, None where any of them is missing."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def text(data: Any, *keys: str) -> str:
    """A text. Raises `IntegrityError`."""
    value = part(data, *keys)
    if not isinstance(value, str):
        raise IntegrityError(f"GitHub's answer has no text `{'.'.join(keys)}`")
    return value


def number(data: Any, *keys: str) -> int:
    """A whole number. Raises `IntegrityError`."""
    value = part(data, *keys)
    if type(value) is not int:
        raise IntegrityError(f"GitHub's answer has no number `{'.'.join(keys)}`")
    return value


def flag(data: Any, *keys: str) -> bool:
    """A truth value; anything but true is false."""
    return part(data, *keys) is True


def items(data: Any, *keys: str) -> list[Any]:
    """A list, [] where there is none."""
    value = part(data, *keys)
    return value if isinstance(value, list) else []


def person(data: Any) -> Person:
    """An account; a deleted one is GitHub's null, ours is id 0, login `ghost`."""
    if not isinstance(data, dict):
        return Person(0, "ghost")
    return Person(number(data, "id"), text(data, "login"), str(part(data, "type") or "User"))


def issue_view(data: Any) -> IssueView:
    labels = (one if isinstance(one, str) else part(one, "name") for one in items(data, "labels"))
    return IssueView(
        number=number(data, "number"),
        title=text(data, "title"),
        body=str(part(data, "body") or ""),
        state=text(data, "state"),
        locked=flag(data, "locked"),
        is_pull=part(data, "pull_request") is not None,
        labels=tuple(name for name in labels if isinstance(name, str)),
        author=person(part(data, "user")),
        updated_at=text(data, "updated_at"),
    )


def pull_view(data: Any) -> PullView:
    """A pull request; a head whose repository is gone has repository id 0."""
    repository = part(data, "head", "repo", "id")
    return PullView(
        number=number(data, "number"),
        url=text(data, "html_url"),
        state=text(data, "state"),
        draft=flag(data, "draft"),
        title=text(data, "title"),
        body=str(part(data, "body") or ""),
        head_ref=text(data, "head", "ref"),
        head_sha=text(data, "head", "sha"),
        head_repository=repository if type(repository) is int else 0,
        base_ref=text(data, "base", "ref"),
        author=person(part(data, "user")),
        merged=flag(data, "merged"),
        merge_commit=str(part(data, "merge_commit_sha") or "") if flag(data, "merged") else "",
        node=str(part(data, "node_id") or ""),
        asked=_each(data, "requested_reviewers", "login"),
        asked_teams=_each(data, "requested_teams", "slug"),
    )


def _each(data: Any, key: str, name: str) -> tuple[str, ...]:
    """`name` of all that a list holds; () where GitHub does not show the list."""
    listed = part(data, key)
    found = [part(one, name) for one in listed] if isinstance(listed, list) else []
    return tuple(one for one in found if isinstance(one, str))


def comment_view(data: Any) -> CommentView:
    """A comment; its issue is named by the address alone, 0 where that cannot be read."""
    tail = text(data, "issue_url").rpartition("/")[2]
    return CommentView(
        id=number(data, "id"),
        issue=int(tail) if tail.isdecimal() else 0,
        body=str(part(data, "body") or ""),
        author=person(part(data, "user")),
    )


def review_view(data: Any) -> ReviewView:
    return ReviewView(
        id=number(data, "id"),
        body=str(part(data, "body") or ""),
        author=person(part(data, "user")),
        state=str(part(data, "state") or ""),
    )


def inline_view(data: Any) -> InlineView:
    """A comment on a diff; of one that is outdated the line where it stood first."""
    line = _whole(data, "line") or _whole(data, "original_line")
    start = _whole(data, "start_line") or _whole(data, "original_start_line") or line
    whole = part(data, "subject_type") == "file"
    return InlineView(
        id=number(data, "id"),
        review=_whole(data, "pull_request_review_id"),
        root=_whole(data, "in_reply_to_id") or number(data, "id"),
        body=str(part(data, "body") or ""),
        author=person(part(data, "user")),
        path=text(data, "path"),
        line=0 if whole else line,
        start=0 if whole else start,
    )


def _whole(data: Any, key: str) -> int:
    value = part(data, key)
    return value if type(value) is int and value > 0 else 0


def pull_commit(data: Any) -> PullCommit:
    """A commit of a pull request with the accounts that GitHub attributes it to."""
    message = str(part(data, "commit", "message") or "")
    return PullCommit(
        sha=text(data, "sha"),
        author=_account(data, "author"),
        committer=_account(data, "committer"),
        subject=message.partition("\n")[0][:200],
    )


def _account(data: Any, key: str) -> Person:
    """The account, or the name that the commit itself gives, with the id 0."""
    if isinstance(part(data, key), dict) and type(part(data, key, "id")) is int:
        return person(part(data, key))
    return Person(0, str(part(data, "commit", key, "name") or "unknown")[:100])


def commit_view(data: Any) -> CommitView:
    return CommitView(
        sha=text(data, "sha"),
        tree=text(data, "tree", "sha"),
        parents=tuple(text(one, "sha") for one in items(data, "parents")),
        message=text(data, "message"),
        verified=flag(data, "verification", "verified"),
    )


def branch_commit(data: Any) -> BranchCommit:
    """A commit of a comparison, with the account that GitHub finds for its author."""
    return BranchCommit(
        sha=text(data, "sha"),
        author=person(part(data, "author")),
        name=str(part(data, "commit", "author", "name") or ""),
        parents=len(items(data, "parents")),
    )


def content(data: Any) -> bytes:
    """The bytes of a file as the contents API gives them. Raises `IntegrityError`."""
    if part(data, "type") != "file" or part(data, "encoding") != "base64":
        raise IntegrityError("GitHub gave no plain file of readable size")
    try:
        return base64.b64decode(text(data, "content"))
    except (binascii.Error, ValueError):
        raise IntegrityError("GitHub gave a file whose base64 cannot be read") from None


def mutated(data: Any) -> None:
    """That GraphQL, which answers 200 to everything, did it. Raises as it would be for REST."""
    errors = part(data, "errors")
    if not errors:
        return
    first = errors[0] if isinstance(errors, list) else errors
    said = " ".join(str(part(first, "message") or "(no message)").split())[:300]
    told = f"GitHub refused over GraphQL: {said}"
    kind = str(part(first, "type") or "")
    if kind in ("RATE_LIMIT", "RATE_LIMITED"):
        raise Unavailable(told, 60.0)
    if kind == "NOT_FOUND":
        raise Missing(told, 404)
    if kind:
        raise Refused(told, 403 if kind == "FORBIDDEN" else 422)
    raise Uncertain(told)  # such as a time-out within GitHub
