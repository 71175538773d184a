"""What the provider's errors mean for us: worth another try (`Unavailable`) or not (`Refused`).

The status alone does not tell: an overloaded provider may say so inside a stream that began with
200, and an account's spending limit comes as 429 like an ordinary rate limit.
"""

from __future__ import annotations

import re

import anthropic

from app.domain.errors import Refused, Unavailable

_RETRIED_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_RETRIED_STATUS = frozenset({408, 409, 429})
_OPERATOR = {
    401: "The provider refused the model key. The operator sets a working key.",
    402: "The provider wants the account's billing settled. The operator does that.",
    403: "The model key may not use this model. The operator gives it the permission.",
    404: "The provider does not know this model or address. The operator corrects the setting.",
    413: "The request is larger than the provider takes.",
}
_SPEND = re.compile(r"spend|credit|billing|usage limit|monthly|quota", re.IGNORECASE)
_MESSAGE_CAP = 300


def fault_of(error: Exception) -> Refused | Unavailable:
    """Our error for one of the SDK's, of its HTTP client's or of a broken stream's."""
    if isinstance(error, anthropic.APIStatusError):
        return _status(error)
    if isinstance(error, UnicodeEncodeError):
        return Refused(f"The request cannot be written as UTF-8: {error.reason}.", 400)
    return Unavailable(f"The model's provider could not be read: {_said(str(error))}")


def _status(error: anthropic.APIStatusError) -> Refused | Unavailable:
    status, kind = error.status_code, str(error.type or "")
    said = _said(error.api_message or error.message)
    wait = _retry_after(error)
    if status == 429 and wait is None and _SPEND.search(said):
        return Refused(
            "The spending limit of the model account is reached. The operator raises it with the "
            f"provider, then the issue can be labelled again. The provider says: {said}",
            429,
        )
    if status >= 500 or status in _RETRIED_STATUS or (status < 400 and kind in _RETRIED_TYPES):
        return Unavailable(f"The model's provider answers {status} {kind}: {said}", wait)
    if status < 400:  # an error event in a stream that began well
        status = _of_kind(kind)
    hint = _OPERATOR.get(status, "The provider refuses this request.")
    return Refused(f"{hint} The provider says: {said}", status)


def _of_kind(kind: str) -> int:
    return {
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
    }.get(kind, 400)


def _retry_after(error: anthropic.APIStatusError) -> float | None:
    """Seconds that the provider asks us to wait, None where it names none that make sense."""
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 86_400 else None


def _said(text: str) -> str:
    """The provider's words, as one short line: they end up in messages for people."""
    line = " ".join(text.split())
    return line if len(line) <= _MESSAGE_CAP else line[:_MESSAGE_CAP] + "…"
