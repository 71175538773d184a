"""What an error of Redis' client means, in one sentence with what to do next; no secret is in it.

The same words for every role and command. The client's library is not known here: its errors are
told apart by their class names and by the server's first word.
"""

from __future__ import annotations

_NAME = "PATCHWARRANT_REDIS_URL"
REFUSED = (
    f"Redis refuses the user or the password in {_NAME}: give this program the user and the "
    "password that it has there (manifests/redis/users.acl has a user for each program; a "
    "password with / : @ or % in it is written percent-encoded)."
)
NAMELESS = (
    f"Redis asks for a password, and {_NAME} has none: write it as "
    "redis://USER:PASSWORD@HOST:6379/0, with this program's user of manifests/redis/users.acl."
)
NEEDLESS = (
    f"Redis knows no password for this user, and {_NAME} has one: take it out there, or set one "
    "in Redis (manifests/redis/users.acl)."
)
REACH = f"Start Redis, or correct {_NAME}."
GRANTS = (
    "Give this program's user its line of manifests/redis/users.acl as it is today, and load it "
    "with ACL LOAD; nothing is lost meanwhile."
)
_CREDENTIALS = frozenset({"AuthenticationError", "AuthenticationWrongNumberOfArgsError"})
_FULL = ("OOM", "READONLY", "MISCONF", "NOREPLICAS", "MASTERDOWN")
_KINDS_OF_FULL = frozenset({"OutOfMemoryError", "ReadOnlyError"})


def refuses(error: BaseException) -> bool:
    """Whether the server turned this user away: waiting changes nothing about that."""
    names = _names(_inner(error))
    return bool(names & _CREDENTIALS) or "NoPermissionError" in names


def told(error: BaseException) -> str:
    """The sentence about an error of the client's."""
    error = _inner(error)
    names, said = _names(error), str(error).strip().rstrip(".")
    if names & _CREDENTIALS:
        return _credentials(said.lower())
    if "NoPermissionError" in names:
        return f"Redis does not let this program do its work ({said}). {GRANTS}"
    if names & _KINDS_OF_FULL or said.startswith(_FULL):
        return (
            f"Redis cannot write ({said}). Look at its memory, its disk and whether it is a "
            "replica; nothing that was acknowledged is lost."
        )
    if "BusyLoadingError" in names:
        return "Redis is reading its data from the disk and answers when it is done; just wait."
    if names & {"ConnectionError", "TimeoutError", "OSError"}:
        return f"Redis is away: {_why(error, said)}. {REACH}"
    return f"Redis refuses what it was asked ({said}). Look at its log and at docs/settings.md."


def _credentials(said: str) -> str:
    if "no password is set" in said or "without any password configured" in said:
        return NEEDLESS
    if "authentication required" in said or "already authenticated" in said:  # of a HELLO
        return NAMELESS
    return REFUSED


def _why(error: BaseException, said: str) -> str:
    """The system's own word for it where there is one, beside the client's, which names host and
    port and never a password."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and type(seen).__name__.startswith("SSL"):
            return (
                f"the TLS connection failed ({said}); rediss:// needs a server that speaks TLS "
                "with a certificate that this machine trusts"
            )
        seen = seen.__cause__ or seen.__context__
    return said or "no answer came"


def _inner(error: BaseException) -> BaseException:
    """A refusal that the client wraps into a lost connection, as its asynchronous half does."""
    seen: BaseException | None = error
    while seen is not None:
        if _names(seen) & (_CREDENTIALS | {"NoPermissionError"}):
            return seen
        seen = seen.__cause__
    return error


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}
