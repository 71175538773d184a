"""The places where the sandbox listens: a closed unix socket, and TLS with client certificates."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import resource
import socket
import ssl
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from app.domain.errors import Refused

GRACE_SECONDS = 1  # running checks are stopped, not waited for: their runs come back
HANDSHAKE = 5.0  # seconds in which a caller from outside has to show its certificate
UNFINISHED = 32  # greetings at once
FAR_MOST = 1024  # connections from outside at once
AGAIN = 0.1  # seconds
FILES = ("ca.pem", "cert.pem", "key.pem")


@dataclass(frozen=True)
class Remote:
    """Where callers from other machines come in: `host:port`, and a folder with ca.pem (who signs
    the callers' certificates), cert.pem and key.pem (the sandbox's own)."""

    address: str
    certs: str


@contextlib.contextmanager
def place(path: Path) -> Iterator[None]:
    """The socket's folder, closed to others and held by this process alone.

    Raises `Refused` where it is open to others or another sandbox holds it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(
            f"the folder {path.parent} of the sandbox's socket cannot be made: {error.strerror}; "
            "set PATCHWARRANT_SANDBOX to a path in a folder of this user"
        ) from None
    folder = path.parent.stat()
    if folder.st_uid != os.geteuid() or folder.st_mode & 0o077:
        raise Refused(
            f"the folder {path.parent} of the sandbox's socket must belong to this user and be "
            f"closed to others. Use a folder of its own, such as {path.parent / 'patchwarrant'}, "
            "which is made closed: set PATCHWARRANT_SANDBOX to a path in there, here and for the "
            "runner"
        )
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"a sandbox already runs on {path}; stop that one first") from None
        yield


@contextlib.contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """The listening socket, 0600; who holds the place may replace what lies there."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    try:
        before = os.umask(0o177)
        try:
            made.bind(str(path))
        finally:
            os.umask(before)
        made.listen(128)
        made.setblocking(False)
        yield made
    finally:
        made.close()
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def far(remote: Remote | None) -> Iterator[tuple[socket.socket, ssl.SSLContext] | None]:
    """The listening TCP socket and its TLS, None without a remote door. Raises `Refused`."""
    if remote is None:
        yield None
        return
    context = tls(remote.certs)
    host, _, port = remote.address.rpartition(":")
    try:
        if not 0 <= int(port) < 1 << 16:
            raise ValueError(f"{port} is no port")
        made = socket.create_server((host.strip("[]"), int(port)), family=_family(host), backlog=64)
    except (OSError, ValueError) as error:
        raise Refused(
            f"the sandbox cannot listen on {remote.address!r} ({error}); "
            "PATCHWARRANT_SANDBOX_LISTEN should read address:port"
        ) from error
    with made:
        made.setblocking(False)
        yield made, context


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def tls(certs: str) -> ssl.SSLContext:
    """TLS 1.3 that takes nobody without a certificate of the CA. Raises `Refused`."""
    folder = Path(certs)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if not certs:
        raise Refused(
            "PATCHWARRANT_SANDBOX_LISTEN opens a door to other machines: set "
            "PATCHWARRANT_SANDBOX_TLS to a folder with ca.pem, cert.pem and key.pem"
        )
    if missing:
        raise Refused(
            f"PATCHWARRANT_SANDBOX_TLS={certs} lacks {', '.join(missing)}; without them nobody "
            "could tell who calls"
        )
    if (folder / "key.pem").stat().st_mode & 0o077:
        raise Refused(f"{folder / 'key.pem'} is open to others; type: chmod 600 {folder}/key.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        context.load_verify_locations(folder / "ca.pem")
    except (OSError, ssl.SSLError) as error:
        raise Refused(f"the certificates in {folder} cannot be read: {error}") from error
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def raised(share: int = 4) -> int:
    """Raise this process's limit of open files as far as it goes; the part that the TLS door may
    use, so that the near door and the engine always have the rest."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return max(UNFINISHED, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // share, FAR_MOST))


class _Beside(uvicorn.Server):
    """The TLS door, a second server of one process: signals belong to the first.

    It accepts by itself, because strangers come that far: a greeting has HANDSHAKE seconds, only
    UNFINISHED of them are under way, and a newer one takes the place of the oldest."""

    def __init__(self, config: uvicorn.Config, context: ssl.SSLContext, most: int) -> None:
        super().__init__(config)
        self._context = context
        self._most = most
        self._greeted: dict[asyncio.Task[None], None] = {}
        self._accepting: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        self.servers = []
        self._accepting = asyncio.create_task(self._accept((sockets or [])[0]))
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in (self._accepting, *self._greeted):
            if task is not None:
                task.cancel()
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if len(self.server_state.connections) + len(self._greeted) >= self._most:
                await asyncio.sleep(AGAIN)
                continue
            try:
                came, _ = await loop.sock_accept(listening)
            except OSError:  # no descriptor is left, or it went away again
                await asyncio.sleep(AGAIN)
                continue
            if len(self._greeted) >= UNFINISHED:
                next(iter(self._greeted)).cancel()
            task = asyncio.create_task(self._greet(came))
            self._greeted[task] = None
            task.add_done_callback(lambda done: self._greeted.pop(done, None))

    async def _greet(self, came: socket.socket) -> None:
        def protocol() -> asyncio.Protocol:
            return self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
                _loop=asyncio.get_running_loop(),
            )

        came.setblocking(False)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                protocol, came, ssl=self._context, ssl_handshake_timeout=HANDSHAKE
            )
        except (OSError, asyncio.CancelledError):  # a stranger, or one who took too long
            with contextlib.suppress(RuntimeError):  # the loop holds it, and closes it
                came.close()


def _config(app: Starlette, lifespan: str) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on" if lifespan == "on" else "off",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


async def answer(
    app: Starlette, near: socket.socket, beyond: tuple[socket.socket, ssl.SSLContext] | None
) -> None:
    """Serve both doors until a signal ends the first."""
    first = uvicorn.Server(_config(app, "on"))
    if beyond is None:
        await first.serve(sockets=[near])
        return
    second = _Beside(_config(app, "off"), beyond[1], raised())
    aside = asyncio.create_task(second.serve(sockets=[beyond[0]]))
    try:
        await first.serve(sockets=[near])
    finally:
        second.should_exit = True
        await aside
