"""The App's webhook deliveries as GitHub keeps them: listed, read, and asked for once more.

GitHub keeps them for three days and never repeats one by itself. A repetition has the same GUID and
an id of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from worker.desk.github.auth import App

PATH = "/app/hook/deliveries"
PAGE = 100
PAGES_CAP = 200  # 20,000 deliveries in one look
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="next"')


@dataclass(frozen=True)
class Delivery:
    """One attempt to hand an event to the receiver. `at` is when it was made, epoch milliseconds as
    GitHub says them; `code` the receiver's HTTP status, 0 or 502 and the like where none came."""

    id: int
    guid: str
    at: int
    code: int
    event: str
    action: str
    installation: int
    repository: int

    @property
    def taken(self) -> bool:
        """The receiver answered that it has it."""
        return 200 <= self.code < 300


@dataclass
class Deliveries:
    """Every method raises `Unavailable` and `Refused`, as the App's calls do.

    `tags` are (the ETag of the newest page as it was looked at last, as it was worked off last)."""

    app: App
    tags: tuple[str, str] = ("", "")

    def since(self, at: int) -> Iterator[Delivery]:
        """The attempts made at `at` (epoch milliseconds) or later, newest first."""
        ask: dict[str, str | int] = {"per_page": PAGE}
        for _ in range(PAGES_CAP):
            answer = self.app.call("GET", PATH, ask=ask)
            items = answer.data if isinstance(answer.data, list) else []
            for item in items:
                one = _delivery(item)
                if one is None:
                    continue
                if one.at < at:
                    return
                yield one
            cursor = _cursor(answer.headers.get("link", ""))
            if not items or not cursor:
                return
            ask = {"per_page": PAGE, "cursor": cursor}

    def unchanged(self) -> bool:
        """Whether nothing is new since `seen` was said: GitHub does not count this question."""
        known = self.tags[1]
        answer = self.app.call("GET", PATH, ask={"per_page": PAGE}, known=known)
        self.tags = (answer.headers.get("etag", ""), known)
        return answer.status == 304

    def seen(self) -> None:
        """All that the last look showed is worked off."""
        self.tags = (self.tags[0], self.tags[0])

    def body(self, delivery: int) -> dict[str, Any]:
        """What was sent, as JSON; {} where GitHub does not keep it any more. It is not signed: the
        App's own key vouches for it, as it came from GitHub's API. Raises `Missing`."""
        data = self.app.call("GET", f"{PATH}/{int(delivery)}").data
        request = data.get("request") if isinstance(data, Mapping) else None
        payload = request.get("payload") if isinstance(request, Mapping) else None
        return dict(payload) if isinstance(payload, Mapping) else {}

    def again(self, delivery: int) -> None:
        """Have GitHub send this one once more. Raises `Missing` past its retention."""
        self.app.call("POST", f"{PATH}/{int(delivery)}/attempts")


def _delivery(item: object) -> Delivery | None:
    """A line of the list; None for one that cannot be read."""
    if not isinstance(item, Mapping) or type(item.get("id")) is not int:
        return None
    try:
        at = datetime.fromisoformat(str(item.get("delivered_at")))
    except ValueError:
        return None
    return Delivery(
        id=int(item["id"]),
        guid=str(item.get("guid") or item["id"]),
        at=round(at.timestamp() * 1000),
        code=_number(item, "status_code"),
        event=str(item.get("event") or ""),
        action=str(item.get("action") or ""),
        installation=_number(item, "installation_id"),
        repository=_number(item, "repository_id"),
    )


def _number(item: Mapping[str, Any], name: str) -> int:
    value = item.get(name)
    return value if type(value) is int else 0


def _cursor(link: str) -> str:
    """The next page's cursor in a Link header, "" on the last page."""
    found = _NEXT.search(link)
    return parse_qs(urlsplit(found[1]).query).get("cursor", [""])[0] if found else ""
