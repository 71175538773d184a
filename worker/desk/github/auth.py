"""The App's identity: its private key, its JWT, and installation tokens minted and revoked.

A token is always asked for one repository id with explicit permissions; what GitHub granted is
compared with what was asked, and anything else is revoked at once (security page, rows C1 to C3).
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    load_der_private_key,
    load_pem_private_key,
)

from app.domain.errors import (
    Halt,
    IntegrityError,
    Reason,
    Refused,
    Unavailable,
    Uncertain,
)
from app.domain.event import Repository
from app.domain.permissions import surplus
from app.domain.ports.tokens import Token
from worker.desk.github.refusals import fault, message_of
from worker.desk.github.wire import Answer, Wire

EARLY = 60  # seconds that the JWT's `iat` lies in the past, for hosts whose clock is ahead
LONG = 540  # seconds that it is good for; GitHub takes at most 600
SKEW = 30  # seconds of difference from GitHub's Date header that are worth a sentence
WAITS = (1.0, 2.0, 4.0)
UNKNOWN = 60.0  # seconds until a key that GitHub refused is tried again
log = logging.getLogger(__name__)


class KeyProblem(ValueError):
    """The App's private key cannot be used; the sentence never holds a part of it."""


def load_key(text: str) -> RSAPrivateKey:
    """The key from any of its usual spellings: PEM with LF, CRLF or literal `\\n`, in quotes,
    base64 of the PEM or of its DER, or the path of such a file. Raises `KeyProblem`."""
    plain = _unquoted(text)
    if not plain:
        raise KeyProblem("The App's private key is empty; give the .pem file from the App's page.")
    key = _parsed(plain)
    if key is None and "\n" not in plain and len(plain) < 1024:
        key = _from_file(plain)
    if key is None:
        raise KeyProblem(
            "The App's private key is neither PEM, nor base64 of it, nor the path of such a file; "
            "give the .pem file from the App's page, under Private keys."
        )
    if key.key_size < 2048:
        raise KeyProblem("The App's private key is shorter than 2048 bits; make a new one.")
    return key


def fresh_key(file: str, text: str) -> RSAPrivateKey | None:
    """The key as `file` holds it now, without one as `text` spells it; None where it cannot be
    used at this moment, which is logged."""
    try:
        return load_key(Path(file).read_text(encoding="utf-8") if file else text)
    except (OSError, ValueError) as problem:
        log.warning("the App's private key cannot be read anew: %s", problem)
        return None


def _from_file(name: str) -> RSAPrivateKey | None:
    try:
        path = Path(name).expanduser()
        content = path.read_bytes() if path.is_file() else b""
    except (OSError, RuntimeError, ValueError):
        return None
    try:
        return _parsed(_unquoted(content.decode()))
    except UnicodeDecodeError:
        return _der(content)


def _unquoted(text: str) -> str:
    plain = text.lstrip("\ufeff").strip()
    while len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'`":
        plain = plain[1:-1].strip()
    plain = plain.replace("\\r", "").replace("\\n", "\n")
    return "\n".join(line.strip() for line in plain.splitlines())


def _parsed(plain: str) -> RSAPrivateKey | None:
    if plain.startswith("-----BEGIN"):
        return _pem(plain.encode())
    try:
        raw = base64.b64decode("".join(plain.split()).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    if b"-----BEGIN" in raw:
        return _pem(_unquoted(raw.decode("ascii", "replace")).encode())
    return _der(raw)


def _pem(data: bytes) -> RSAPrivateKey:
    try:
        key = load_pem_private_key(data, password=None)
    except TypeError:
        raise KeyProblem("The App's private key has a password; give it without one.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise KeyProblem(
            "The App's private key looks like PEM and cannot be read; perhaps a part is missing. "
            "Give the .pem file as it was downloaded."
        ) from None
    if not isinstance(key, RSAPrivateKey):
        raise KeyProblem("The App's private key is not RSA; GitHub gives RSA keys.")
    return key


def _der(data: bytes) -> RSAPrivateKey | None:
    try:
        key = load_der_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, RSAPrivateKey) else None


@dataclass(frozen=True)
class App:
    """Speaks to GitHub as the App itself. `now` gives epoch seconds, `clock` seconds that only
    grow, `sleep` waits for seconds. `fresh` reads the key anew once GitHub refused it: it may have
    been replaced meanwhile."""

    id: str
    key: RSAPrivateKey = field(repr=False)
    api_url: str
    now: Callable[[], float]
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    fresh: Callable[[], RSAPrivateKey | None] = lambda: None
    newer: list[RSAPrivateKey] = field(default_factory=list, repr=False)  # at most one

    def jwt(self) -> str:
        """A JWT for the App: `iss` as text, `iat` in the past, short-lived."""
        at = int(self.now())
        claims = {"iss": str(self.id), "iat": at - EARLY, "exp": at + LONG}
        return jwt.encode(claims, self._present(), algorithm="RS256")

    def _present(self) -> RSAPrivateKey:
        return self.newer[-1] if self.newer else self.key

    def _renewed(self) -> bool:
        """Whether another key is there than the one that was refused; it is used from now on."""
        found = self.fresh()
        known = self._present().public_key().public_numbers()
        if found is None or found.public_key().public_numbers() == known:
            return False
        self.newer[:] = [found]
        log.warning("the App's private key was replaced; the new one is used")
        return True

    def slug(self) -> str:
        """The App's slug; a start-up check that key, id and clock are right."""
        data = self.call("GET", "/app").data
        if str(self.id) not in (str(_of(data, "id")), str(_of(data, "client_id"))):
            raise IntegrityError("GitHub named another App than ours; check the App id.")
        return str(_of(data, "slug"))

    def mint(self, installation: int, repository_id: int, permissions: Mapping[str, str]) -> Token:
        """A token for exactly this repository and these permissions.

        Raises `Halt(INSTALLATION)` where the installation is gone, suspended or narrower,
        `Unavailable` where GitHub does not know the App's key, `IntegrityError` (and revokes) where
        GitHub granted anything else than was asked.
        """
        if not repository_id or not permissions:
            raise IntegrityError("A token is never asked without a repository and permissions.")
        path = f"/app/installations/{int(installation)}/access_tokens"
        body = {"repository_ids": [repository_id], "permissions": dict(permissions)}
        minted = self.clock()
        try:
            answer = self.call("POST", path, body)
        except Refused as refusal:
            raise _no_installation(refusal) from refusal
        token, amiss = _token(answer, repository_id, permissions, minted)
        if amiss:
            self.revoke(_of(answer.data, "token"))
            raise IntegrityError(
                "GitHub granted another token than was asked for, so it was revoked: "
                + "; ".join(amiss)
            )
        assert token is not None
        return token

    def mint_survey(self, installation: int) -> Token:
        """The one token for a whole installation: it can list the repositories and nothing else.

        Raises `Halt(INSTALLATION)`, `Unavailable`, `IntegrityError` (and revokes) where it could do
        more.
        """
        minted, asked = self.clock(), {"metadata": "read"}
        path = f"/app/installations/{int(installation)}/access_tokens"
        try:
            data = self.call("POST", path, {"permissions": asked}).data
        except Refused as refusal:
            raise _no_installation(refusal) from refusal
        granted = _of(data, "permissions")
        amiss = surplus(asked, granted if isinstance(granted, dict) else {})
        secret, expires = _of(data, "token"), _moment(_of(data, "expires_at"))
        if amiss or expires is None or not isinstance(secret, str):
            self.revoke(secret)
            raise IntegrityError(f"GitHub granted another token than was asked for: {amiss}")
        return Token(secret, Repository(0, "", ""), asked, expires, minted)

    def as_installation(
        self, secret: str, method: str, path: str, ask: Mapping[str, str | int]
    ) -> Answer:
        """A read with an installation's token. Raises `Unavailable`, `Refused`."""
        with Wire(f"token {secret}", self.api_url) as wire:
            try:
                answer = wire.send(method, path, ask=ask)
            except Uncertain as lost:
                raise Unavailable(str(lost)) from lost
        if answer.status >= 300:
            raise fault(answer, writes=False, what=f"{method} {path}")
        return answer

    def revoke(self, secret: object) -> None:
        """End a token. One that is no longer known is ended already. Raises `Unavailable`."""
        if not isinstance(secret, str) or not secret:
            return
        with Wire(f"token {secret}", self.api_url) as wire:
            for wait in (*WAITS, None):
                try:
                    answer = wire.send("DELETE", "/installation/token")
                except (Unavailable, Uncertain):
                    answer = None
                if answer is not None and answer.status in (204, 401, 404):
                    return
                if wait is not None:
                    self.sleep(wait)
        raise Unavailable("GitHub did not revoke a token; it is kept sealed and tried again.")

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        ask: Mapping[str, str | int] | None = None,
        known: str = "",
    ) -> Answer:
        """A call as the App; `known` is the ETag of what one has, and then a 304 costs nothing.

        What did not reach GitHub or failed there is repeated a few times (a token whose answer was
        lost is narrow, unknown to all, and over within the hour; an event that is delivered twice
        is one event). Raises `Unavailable`, `Refused`, `Missing`.
        """
        for wait in (*WAITS, None):
            try:
                with Wire(f"Bearer {self.jwt()}", self.api_url) as wire:
                    answer = wire.send(method, path, body=body, ask=ask, known=known)
            except (Unavailable, Uncertain) as away:
                if wait is None:
                    raise Unavailable(str(away)) from away
            else:
                if answer.status < 300 or (known and answer.status == 304):
                    return answer
                if answer.status == 401 and self._renewed():
                    continue
                if answer.status == 401:
                    raise _unknown_app(answer, self.now())
                if answer.status < 500 or wait is None:
                    raise fault(answer, writes=False, what=f"{method} {path}")
            self.sleep(wait or 0.0)
        raise AssertionError("unreachable")


def _token(
    answer: Answer, repository_id: int, permissions: Mapping[str, str], minted: float
) -> tuple[Token | None, tuple[str, ...]]:
    data = answer.data
    granted = _of(data, "permissions")
    repositories = _of(data, "repositories")
    amiss = list(surplus(permissions, granted if isinstance(granted, dict) else {}))
    if _of(data, "repository_selection") != "selected":
        amiss.append("it is not limited to selected repositories")
    ids = [_of(each, "id") for each in repositories] if isinstance(repositories, list) else []
    if ids != [repository_id]:
        amiss.append(f"it names the repositories {ids!r}, not [{repository_id}]")
    secret, expires = _of(data, "token"), _moment(_of(data, "expires_at"))
    if not isinstance(secret, str) or expires is None:
        amiss.append("it has no token or no end")
    if amiss or not isinstance(repositories, list) or expires is None:
        return None, tuple(amiss)
    owner, _, name = str(_of(repositories[0], "full_name")).partition("/")
    repository = Repository(repository_id, owner, name)
    return Token(str(secret), repository, dict(permissions), expires, minted), ()


def _moment(text: object) -> int | None:
    try:
        return round(datetime.fromisoformat(str(text)).timestamp() * 1000)
    except ValueError:
        return None


def _of(data: object, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _unknown_app(answer: Answer, now: float) -> Refused:
    """A 401 to the App's JWT, in words; a clock that is off is measured by the Date header."""
    said = message_of(answer)
    try:
        theirs = parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except (ValueError, TypeError):
        theirs = now
    off = round(now - theirs)
    if abs(off) > SKEW:
        return Refused(
            f"GitHub refused the App's JWT: the clock of this host is off by about {off} s. "
            f"Set it by NTP. (GitHub: {said})",
            401,
        )
    return Refused(
        f"GitHub refused the App's JWT: check that the App id and the private key belong together. "
        f"(GitHub: {said})",
        401,
    )


def _no_installation(refusal: Refused) -> Halt | Unavailable:
    if refusal.status == 401:  # no run's fault: it waits until the operator has mended it
        return Unavailable(f"{refusal} The operator must mend the App's key or clock.", UNKNOWN)
    return Halt(
        Reason.INSTALLATION,
        f"The App cannot work on this repository any more: {refusal}",
        "Install the App on this repository again, or accept its permissions; then label again.",
    )
