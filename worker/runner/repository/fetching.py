"""Bringing one commit of one repository into the store, over HTTPS, with a read-only token.

libgit2 follows redirects and asks for credentials again with the other host's address, so the
callback answers its own origin, once. It also reads git's configuration files of user and machine,
where `url.insteadOf` could turn an address into another one, so it is shown none.
"""

from __future__ import annotations

import ipaddress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pygit2
from pygit2.enums import ConfigLevel

from app.domain.errors import IntegrityError, Missing, Refused, Unavailable

CONNECT_MS = 5_000
SILENCE_MS = 60_000
MAX_RECEIVED = 512 << 20  # bytes on the wire

_NOWHERE = "/nonexistent"


@cache
def settle() -> None:
    """The process-wide settings of libgit2, once: no configuration but the store's, time-outs, and
    objects checked against their ids."""
    for level in (
        ConfigLevel.SYSTEM,
        ConfigLevel.XDG,
        ConfigLevel.GLOBAL,
        ConfigLevel.PROGRAMDATA,
    ):
        pygit2.settings.search_path[level] = _NOWHERE
    pygit2.settings.server_connect_timeout = CONNECT_MS
    pygit2.settings.server_timeout = SILENCE_MS
    pygit2.settings.enable_strict_hash_verification(True)
    pygit2.settings.enable_strict_object_creation(True)


class Callbacks(pygit2.RemoteCallbacks):
    """Credentials for one origin, given once; the transfer is cut at `limit` bytes."""

    def __init__(self, origin: tuple[str, str, int | None], token: str, limit: int) -> None:
        super().__init__()
        self._origin = origin
        self._token = token
        self._limit = limit
        self._asked = False

    def credentials(self, url: str, username_from_url: str | None, allowed_types: Any) -> Any:
        if origin_of(url) != self._origin:
            raise Refused("The git server redirects to another host, which is given no token.")
        if self._asked:
            raise Refused("The git server refuses the token of this run.", 401)
        self._asked = True
        return pygit2.UserPass("x-access-token", self._token)

    def transfer_progress(self, stats: Any) -> None:
        if stats.received_bytes > self._limit:
            raise Refused(
                f"The commit is larger than {self._limit >> 20} MiB on the wire, which is the most "
                "that is fetched."
            )


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of an address."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port


def checked(url: str) -> tuple[str, str, int | None]:
    """The origin of an address that a token may go to: HTTPS, or HTTP to this machine (stand-in).

    Raises `Refused` for any other, and for one that carries credentials itself.
    """
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise Refused("A git address may not carry credentials.")
    local = parts.scheme == "http" and _loopback(parts.hostname or "")
    if parts.scheme != "https" and not local:
        raise Refused("A git address must be https.")
    return origin_of(url)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def fetch(repo: pygit2.Repository, url: str, token: str, commit: str, ref: str, limit: int) -> None:
    """Fetch `commit`, depth 1, to `ref`, and read the ref back.

    Raises `Refused` (address, token, size), `Missing` (repository or commit), `Unavailable`,
    `IntegrityError` (the ref is not the commit).
    """
    callbacks = Callbacks(checked(url), token, limit)
    remote = repo.remotes.create_anonymous(url)
    try:
        remote.fetch([f"+{commit}:{ref}"], callbacks=callbacks, depth=1, message="fetch")
    except (pygit2.GitError, ValueError, KeyError) as error:
        raise _fault(str(error), commit) from None
    finally:
        (Path(repo.path) / "FETCH_HEAD").unlink(missing_ok=True)  # it would name the server
    found = repo.references.get(ref)
    if found is None:
        raise Missing(f"The git server sent no commit {commit}.", 404)
    if str(found.target) != commit:
        raise IntegrityError(f"The git server sent {found.target} for the commit {commit}.")


def _fault(text: str, commit: str) -> Exception:
    """libgit2's words as one of our faults. Its errors carry no code, so its words must do."""
    low = text.lower()
    if "status code: 404" in low:
        return Missing("The git server does not know the repository, or this token does not.", 404)
    if "status code: 401" in low or "status code: 403" in low or "authentication" in low:
        return Refused("The git server refuses the token of this run.", 403)
    if "specific object" in low or "unexpected packet" in low or "not found" in low:
        return Missing(f"The git server does not have the commit {commit}.", 404)
    if "certificate" in low or "ssl" in low:
        return Refused(f"The git server's certificate is not trusted: {text}")
    return Unavailable(f"The git server could not be read: {text}")
