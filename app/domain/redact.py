"""Secrets out of any text: known values first, in every spelling, then what looks like one.

Every pattern either consumes what it looked at or looks at a bounded stretch, so that hostile text
costs time in proportion to its length.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from urllib.parse import quote, quote_plus

GONE = "[redacted]"
SHORTEST = 6  # a shorter value would redact ordinary words
_LINE = 24  # lines of a multi-line secret that are secret on their own

_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?!-----END)[A-Za-z0-9+/=\s\\:,-])*(?:-----END [A-Z0-9 ]{0,40}-----)?"
)
_TOKENS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("GitHub token", re.compile(r"gh[pousr]_[A-Za-z0-9._-]{36,}|github_pat_[A-Za-z0-9_]{22,}")),
    ("Anthropic key", re.compile(r"sk-ant-[A-Za-z0-9_-]{16,}")),
    ("OpenAI key", re.compile(r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}")),
    ("AWS access key id", re.compile(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}")),
    (
        "AWS secret key",
        re.compile(
            r"(?i:aws_?secret_?(?:access_?)?key)[\"']?\s{0,5}[=:]\s{0,5}[\"']?"
            r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"
        ),
    ),
    ("Google key", re.compile(r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}")),
    ("Slack token", re.compile(r"xox[abeoprs]-[A-Za-z0-9-]{12,}|xapp-[A-Za-z0-9-]{20,}")),
    ("Slack webhook", re.compile(r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}")),
    (
        "Discord webhook",
        re.compile(r"discord(?:app)?\.com/api/webhooks/\d{10,}/[A-Za-z0-9_-]{20,}"),
    ),
    ("Stripe key", re.compile(r"[rs]k_live_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{24,}")),
    ("GitLab token", re.compile(r"gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{20,}")),
    ("npm token", re.compile(r"npm_[A-Za-z0-9]{36}")),
    ("PyPI token", re.compile(r"pypi-[A-Za-z0-9_-]{40,}")),
    ("Hugging Face token", re.compile(r"hf_[A-Za-z0-9]{30,}")),
    ("DigitalOcean token", re.compile(r"do[opr]_v1_[a-f0-9]{64}")),
    ("Twilio key", re.compile(r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])")),
    ("SendGrid key", re.compile(r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}")),
)
# What could hold one of the tokens in another spelling.
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,4000}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){20,2000}")
_SEAM = re.compile(r"([\"'])\s{0,40}\+?\s{0,40}\1")  # between two halves of one text
_DOTTED = re.compile(r"eyJ[A-Za-z0-9_.-]*")
_USERINFO = re.compile(r"://(?!git@)([^/\s@]{1,400})@")
_LOGIN = re.compile(r"://([^/\s:@]{0,100}):([^/\s@]{8,300})@([A-Za-z0-9.-]{1,200})")
_PASSWORD = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|secret)[\"']?\s{0,5}(?:=|:|=>)\s{0,5}[\"']([^\s\"']{8,200})[\"']"
)
# What people write where a password would stand.
_STAND_IN = re.compile(
    r"(?i)pass|pwd|secret|change|example|sample|dummy|fake|test|demo|user|admin|root|guest|local"
    r"|your|here|todo|token|xxx|[$<{%*\[(]"
)
_LOCAL = re.compile(
    r"(?i)(?:localhost|127\.[\d.]+|.*\bexample(?:\.[a-z]+)?|.*\.(?:test|invalid))\.?"
)
_HEADER = re.compile(
    r"(?i)((?:proxy-)?authorization|x-api-key|private-token|set-cookie)([\"']?\s{0,5}[:=]\s{0,5}"
    r"[\"']?)(?:(?:bearer|basic|token|digest)\s{1,5})?[^\s\"']+"
)
_BEARER = re.compile(r"(?i)\b(bearer)\s{1,5}[A-Za-z0-9._~+/=-]{16,}")
_NAMED = re.compile(
    r"(?i)(?:secret|token|passw(?:or)?d|api_?key|private_?key|credential)[A-Za-z0-9_]{0,40}"
    r"[\"']?\s{0,5}(?:=|:|=>)\s{0,5}[\"']([A-Za-z0-9+/=_.~!@#$%^&*-]{20,400})[\"']"
)


class Redactor:
    """Knows some secrets by value, and the shape of many more. Its repr shows neither."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        """`values` shorter than `SHORTEST` are not looked for."""
        forms = {form for value in values if len(value) >= SHORTEST for form in _forms(value)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __repr__(self) -> str:
        return "Redactor()"

    def redact(self, text: str) -> str:
        """`text` with each secret replaced by `GONE`."""
        if self._known is not None:
            text = self._known.sub(GONE, text)
        text = _PEM.sub(GONE, text)
        text = _USERINFO.sub(f"://{GONE}@", text)
        text = _HEADER.sub(rf"\1\2{GONE}", text)
        text = _BEARER.sub(rf"\1 {GONE}", text)
        for _, pattern in _TOKENS:
            text = pattern.sub(GONE, text)
        return _DOTTED.sub(_unless_ordinary, text)

    def knows(self, text: str) -> bool:
        """Whether one of the known values is in `text`, in any spelling."""
        return self._known is not None and self._known.search(text) is not None


def without_secrets(text: str) -> str:
    """`text` with everything that `secret_kinds` would report replaced by `GONE`: no page and no
    record shows what a change must not hold. A secret cut in two halves is not put together."""
    text = _PEM.sub(lambda found: GONE if len(found.group()) > 120 else found.group(), text)
    for _, pattern in _TOKENS:
        text = pattern.sub(GONE, text)
    text = _DOTTED.sub(_unless_ordinary, text)
    if "://" in text:
        text = _USERINFO.sub(_only_group(lambda one: _random(one[1].rpartition(":")[2])), text)
        text = _LOGIN.sub(_only_group(lambda one: _login(*one.groups()), 2), text)
    text = _PASSWORD.sub(_only_group(lambda one: _drawn(one[1], 3)), text)
    text = _NAMED.sub(_only_group(lambda one: _random(one[1])), text)
    for pattern in (_HEX, _BASE64):
        text = pattern.sub(lambda found: GONE if _encoded(found.group()) else found.group(), text)
    return text


def _only_group(
    secret: Callable[[re.Match[str]], bool], group: int = 1
) -> Callable[[re.Match[str]], str]:
    """Replaces one group of a match where `secret` says so."""

    def written(found: re.Match[str]) -> str:
        whole, start = found.group(), found.start()
        if not secret(found):
            return whole
        return whole[: found.start(group) - start] + GONE + whole[found.end(group) - start :]

    return written


def secret_kinds(added_lines: Iterable[str]) -> tuple[str, ...]:
    """Which kinds of secrets the lines added by a patch hold, sorted; never the secrets.

    The lines are looked at as one text, so that a key over many lines is found.
    """
    text = "\n".join(added_lines).replace("\0", "")  # UTF-16 read as if it were UTF-8
    joined = _SEAM.sub("", text)
    kinds = {kind for kind, one in _TOKENS if one.search(text) or one.search(joined)}
    for pattern in (_HEX, _BASE64):
        kinds |= {kind for found in pattern.finditer(text) for kind in _encoded(found.group())}
    if any(len(found.group()) > 120 for found in _PEM.finditer(text)):
        kinds.add("private key")
    if any(_is_jwt(found.group()) for found in _DOTTED.finditer(text)):
        kinds.add("JSON web token")
    if any(_random(found.group(1).rpartition(":")[2]) for found in _USERINFO.finditer(text)):
        kinds.add("password in a URL")
    if any(_login(*found.groups()) for found in _LOGIN.finditer(text)):
        kinds.add("password in a URL")
    if any(_drawn(found.group(1), 3) for found in _PASSWORD.finditer(text)):
        kinds.add("password")
    if any(_random(found.group(1)) for found in _NAMED.finditer(text)):
        kinds.add("random value under a secret's name")
    return tuple(sorted(kinds))


def _encoded(run: str) -> set[str]:
    """Which tokens a run of hexadecimal digits or base64 holds, encoded as a whole."""
    try:
        data = bytes.fromhex(run) if _HEX.fullmatch(run) else _unbased(run)
    except ValueError:
        return set()
    text = data.decode("latin-1")
    return {kind for kind, pattern in _TOKENS if pattern.search(text)}


def _unbased(run: str) -> bytes:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    bare = bare[: len(bare) - (len(bare) % 4 == 1)]
    return base64.b64decode(bare + "=" * (-len(bare) % 4))


def _forms(value: str) -> Iterable[str]:
    """The spellings in which a value could turn up."""
    data = value.encode("utf-8", errors="surrogatepass")
    whole = value.strip()
    yield from (value, whole) if len(whole) >= SHORTEST else (value,)
    yield from (quote(value, safe="", errors="replace"), quote_plus(value, errors="replace"))
    yield re.sub("%[0-9A-F]{2}", lambda code: code.group().lower(), quote(value, errors="replace"))
    yield from (data.hex(), data.hex().upper(), json.dumps(value)[1:-1])
    encoders: tuple[Callable[[bytes], bytes], ...] = (
        base64.b64encode,
        base64.urlsafe_b64encode,
    )
    for encode in encoders:
        for shift in range(3):
            # What is encoded together with up to two bytes before and after still shows this.
            inner = encode(b"\0" * shift + data).decode().rstrip("=")
            start, end = (0, 2, 3)[shift], len(inner) - ((len(data) + shift) % 3 != 0)
            yield inner[start:end]  # never shorter than the value
    if "\n" in value:
        yield from (line.strip() for line in value.splitlines() if _secret_line(line.strip()))


def _secret_line(line: str) -> bool:
    return len(line) >= _LINE and not line.startswith("-----")


def _unless_ordinary(found: re.Match[str]) -> str:
    return GONE if _is_jwt(found.group()) else found.group()


def _is_jwt(run: str) -> bool:
    """Three long parts with dots between them, somewhere in the run."""
    parts = [len(part) >= 10 for part in run.split(".")]
    return any(all(parts[at : at + 3]) for at in range(len(parts) - 2))


def _login(user: str, password: str, host: str) -> bool:
    """Whether user and password of an address are somebody's: neither a stand-in nor local."""
    return password != user and not _LOCAL.fullmatch(host) and _drawn(password, 2)


def _drawn(value: str, kinds: int) -> bool:
    """Whether a value is no stand-in and mixes at least `kinds` of small and capital letters,
    digits and signs."""
    mixed = sum(bool(re.search(one, value)) for one in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]"))
    return mixed >= kinds and not _STAND_IN.search(value)


def _random(value: str) -> bool:
    """Whether a value looks drawn, not written: long, mixed, and dense in information."""
    if len(value) < 20 or not (re.search("[0-9]", value) and re.search("[A-Za-z]", value)):
        return False
    size = len(value)
    entropy = -sum(n / size * math.log2(n / size) for n in Counter(value).values())
    return entropy >= 3.5
