"""What an answer outside 2xx means: one of the errors of `domain/errors`, in GitHub's own words."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from app.domain.errors import (
    Exists,
    Fault,
    Halt,
    Limited,
    Missing,
    Reason,
    Refused,
    Unavailable,
    Uncertain,
)
from worker.desk.github.wire import Answer

NO_HINT = 60.0  # seconds to wait for a rate limit that does not say how long
SAID_CAP = 300  # characters of GitHub's own words that we repeat


def fault(answer: Answer, *, writes: bool, what: str) -> Fault | Halt:
    """The error that an answer outside 2xx is; `what` names the call for the message."""
    said = message_of(answer)
    told = f"GitHub answered {answer.status} to {what}: {said}"
    low = said.lower()
    if answer.status >= 500:
        return (Uncertain if writes else Unavailable)(told)
    limit = _limited(answer, low)
    if limit is not None:
        return Limited(told, limit)
    if answer.status == 401:
        return Unavailable(f"{told} (the token is not accepted any more)")
    if answer.status == 403 and "suspended" in low:
        return Halt(
            Reason.INSTALLATION,
            "The App's installation is suspended, so nothing more can be done here.",
            "Unsuspend it in the owner's settings, then label the issue again.",
        )
    if answer.status in (404, 410):
        return Missing(told, answer.status)
    if answer.status in (301, 302, 307, 308):
        return Missing(f"{told} (it has moved to another address)", answer.status)
    if answer.status == 422 and ("already exists" in low or "already_exists" in low):
        return Exists(told, answer.status)
    return Refused(told, answer.status)


def limit_of(answer: Answer) -> tuple[float, bool] | None:
    """Seconds for which GitHub limits whoever got this answer, and whether it said so itself; None
    where it does not. A good answer may say that it was the last one."""
    if answer.status < 300 and answer.headers.get("x-ratelimit-remaining") == "0":
        return max(1.0, _until_reset(answer.headers)), True
    seconds = _limited(answer, message_of(answer).lower())
    if seconds is None:
        return None
    after = answer.headers.get("retry-after", "").isdecimal()
    return seconds, after or answer.headers.get("x-ratelimit-remaining") == "0"


def _limited(answer: Answer, low: str) -> float | None:
    """Seconds to wait for a rate limit, None when the answer is none."""
    if answer.status not in (403, 429):
        return None
    after = answer.headers.get("retry-after", "")
    if after.isdecimal():
        return max(1.0, float(after))
    if answer.headers.get("x-ratelimit-remaining") == "0":
        return max(1.0, _until_reset(answer.headers))
    if answer.status == 429 or after or "rate limit" in low or "abuse detection" in low:
        return NO_HINT
    return None


def _until_reset(headers: Mapping[str, str]) -> float:
    """Seconds from GitHub's own Date to its reset, so that our clock does not matter."""
    try:
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
        return float(headers.get("x-ratelimit-reset", "")) - now
    except (ValueError, TypeError):
        return NO_HINT


def limit_words(answer: Answer) -> str:
    """Why GitHub limits whoever got this answer. A good answer's own text (a commit's message, say)
    is no reason, so that its headers speak."""
    return _used_up(answer.headers) if answer.status < 300 else message_of(answer)


def _used_up(headers: Mapping[str, str]) -> str:
    """The primary limit by GitHub's headers: how many, and until when."""
    limit = headers.get("x-ratelimit-limit", "")
    many = f"all {int(limit):,}" if limit.isdecimal() and len(limit) < 10 else "all"
    try:
        until = datetime.fromtimestamp(int(headers.get("x-ratelimit-reset", "")), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return f"{many} requests of this hour are used up"
    return f"{many} requests of this hour are used up until {until:%H:%M} UTC"


def message_of(answer: Answer) -> str:
    """GitHub's own words, as data: one line, printable, short. Where it said none to a limit, what
    its headers say."""
    data = answer.data if isinstance(answer.data, dict) else {}
    parts = [data.get("message")]
    errors = data.get("errors")
    for error in errors if isinstance(errors, list) else []:
        parts.append(
            (error.get("message") or error.get("code")) if isinstance(error, dict) else error
        )
    text = "; ".join(part for part in parts if isinstance(part, str) and part)
    line = " ".join(text.split()) or _unsaid(answer)
    shown = "".join(c if unicodedata.category(c)[0] != "C" else "?" for c in line)
    return shown[:SAID_CAP]


def _unsaid(answer: Answer) -> str:
    spent = answer.headers.get("x-ratelimit-remaining") == "0"
    if answer.status in (403, 429) and spent:
        return _used_up(answer.headers)
    return "it gave no reason"
