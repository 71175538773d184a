"""Words in a conversation: comments, replies, labels, reactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.domain.errors import Exists, ForbiddenCall, Missing, Refused
from worker.desk.github import answers
from worker.desk.github.writes import Writes, same

LABEL_COLOR = "5319e7"


class TalkWrites(Writes):
    """Writes into issues and pull requests; our own comments are known by their marker."""

    def comment(
        self, issue: int, body: str, marker: str, known: int = 0, *, keep: bool = False
    ) -> int:
        """One comment with `marker` on an issue: the known one, else the one that carries the
        marker, is edited, or left as it is with `keep`; else it is created. A locked issue is a
        `Refused`."""
        body = self._redact(body)
        if marker not in body:
            raise ForbiddenCall("A comment without its marker could not be found again")
        if known:
            try:
                return self._edited(known, body)
            except Missing:
                pass  # somebody deleted it: look for it, or write a new one
        found = self._marked(issue, marker)
        if found is None:
            made = self._looking(
                lambda: self._client.call("create_comment", body={"body": body}, number=issue).data,
                lambda: self._marked(issue, marker),
            )
            return answers.number(made, "id") if isinstance(made, dict) else _first(made)
        number, text = found
        return number if keep or text == body else self._edited(number, body)

    def own_comments(self, issue: int) -> list[str]:
        """The texts of our App's own comments on an issue, oldest first."""
        texts = (
            answers.part(one, "body")
            for one in self._client.pages("comments", {}, number=issue)
            if self._made(one)
        )
        return [text for text in texts if isinstance(text, str)]

    def reply(self, pull: int, comment: int, body: str, marker: str) -> int:
        """One reply with `marker` in a thread; one that is there already is found by it."""
        body = self._redact(body)
        if marker not in body:
            raise ForbiddenCall("A reply without its marker could not be found again")
        found = self._replied(pull, marker)
        if found is not None:
            return found
        made = self._looking(
            lambda: (
                self._client.call("reply", body={"body": body}, number=pull, comment=comment).data
            ),
            lambda: self._replied(pull, marker),
        )
        return answers.number(made, "id") if isinstance(made, dict) else int(made)

    def _replied(self, pull: int, marker: str) -> int | None:
        """Our own comment on the diff that carries `marker`. GitHub does not say there which App
        wrote it, so that the author has to be a bot."""
        for one in self._client.pages("inline_comments", {}, number=pull):
            body = answers.part(one, "body")
            bot = answers.part(one, "user", "type") == "Bot"
            if isinstance(body, str) and marker in body and bot:
                return answers.number(one, "id")
        return None

    def add_labels(self, issue: int, labels: Sequence[str]) -> None:
        """Put labels on an issue; one that the repository does not know is created first."""
        body = {"labels": list(labels)}
        try:
            self._twice(lambda: self._client.call("add_labels", body=body, number=issue))
        except Refused as refusal:
            if refusal.status not in (404, 422):
                raise
            for name in labels:
                self._known_label(name)
            self._twice(lambda: self._client.call("add_labels", body=body, number=issue))

    def remove_label(self, issue: int, label: str) -> None:
        """Take a label off; one that is not there is off already."""
        try:
            self._twice(lambda: self._client.call("remove_label", number=issue, label=label))
        except Missing:
            return

    def react(self, issue: int, content: str) -> None:
        """A reaction; GitHub keeps one of a kind for each account."""
        body = {"content": content}
        self._twice(lambda: self._client.call("react", body=body, number=issue))

    def react_comment(self, comment: int, content: str, *, inline: bool = False) -> None:
        """A reaction to a comment of a conversation, or to an inline one of a review."""
        name = "react_inline" if inline else "react_comment"
        body = {"content": content}
        self._twice(lambda: self._client.call(name, body=body, comment=comment))

    def _edited(self, comment: int, body: str) -> int:
        data = self._twice(
            lambda: self._client.call("update_comment", body={"body": body}, comment=comment)
        ).data
        same("comment", answers.number(data, "id"), comment)
        return comment

    def _marked(self, issue: int, marker: str) -> tuple[int, str] | None:
        """Our own comment that carries `marker`, through all pages; the oldest one."""
        for one in self._client.pages("comments", {}, number=issue):
            body = answers.part(one, "body")
            if isinstance(body, str) and marker in body and self._made(one):
                return answers.number(one, "id"), body
        return None

    def _known_label(self, name: str) -> None:
        body = {"name": name, "color": LABEL_COLOR, "description": "Set by Patchwarrant"}
        try:
            self._twice(lambda: self._client.call("create_label", body=body))
        except Exists:
            return


def _first(found: Any) -> int:
    number, _text = found
    return int(number)
