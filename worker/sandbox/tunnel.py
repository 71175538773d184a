"""Runs `ssh` so that a far engine's socket is a socket here; starting it is this file's one job."""

from __future__ import annotations

import contextlib
import shutil
import subprocess  # noqa: TID251 - the one job
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from app.domain.errors import Refused, Unavailable
from worker.sandbox.folders import temporary, tied

FAR = "/var/run/docker.sock"
START_SECONDS = 20.0
AGAIN_SECONDS = 2.0  # before a lost connection is made anew
OPTIONS = (
    "BatchMode=yes",  # nobody is there to type a password
    "ExitOnForwardFailure=yes",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=2",
    "StreamLocalBindUnlink=yes",
    "ControlMaster=no",
    "ControlPath=none",
)


def words(host: str, near: Path) -> list[str]:
    """The command for `ssh://[user@]machine[:port][/path/of/socket]`. Raises `Refused`."""
    try:
        parts = urlsplit(host)
        port, machine = parts.port, parts.hostname or ""
    except ValueError as error:
        raise Refused(f"DOCKER_HOST={host!r} is no address: {error}") from None
    if parts.scheme != "ssh" or not machine or machine.startswith("-") or parts.password:
        raise Refused(f"DOCKER_HOST={host!r} should read ssh://user@machine, with a key for ssh")
    options = [word for option in OPTIONS for word in ("-o", option)]
    where = ["-p", str(port)] if port else []
    user = ["-l", parts.username] if parts.username else []
    far = parts.path if len(parts.path) > 1 else FAR
    return ["ssh", "-nNT", *options, *where, *user, "-L", f"{near}:{far}", "--", machine]


class Tunnel:
    """A running `ssh`, made anew when it ends before `close`."""

    def __init__(self, command: Sequence[str], near: Path) -> None:
        self._command = list(command)
        self._near = near
        self._over = threading.Event()
        self._process = self._start()
        self._thread = threading.Thread(target=self._watch, name="ssh", daemon=True)
        self._thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        """Raises `Unavailable` with the last words of an ssh that does not get through."""
        if not shutil.which(self._command[0]):
            raise Unavailable(f"{self._command[0]} could not be started; install it")
        self._near.unlink(missing_ok=True)
        try:
            made = subprocess.Popen(  # noqa: S603 - words made above
                tied(self._command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise Unavailable(f"no child could be started ({error})") from error
        end = time.monotonic() + START_SECONDS
        while not self._near.exists():
            if made.poll() is not None or time.monotonic() > end:
                made.kill()
                said = made.communicate()[1].decode("utf-8", "replace").strip().splitlines()
                why = said[-1] if said else "it said nothing"
                raise Unavailable(
                    f"the way to the engine by ssh did not open: {why}; it has to work without "
                    "questions for this user (try `ssh` to that machine), and that one has to be "
                    "allowed to open the engine's socket there"
                )
            time.sleep(0.02)
        return made

    def _watch(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError, ValueError):
                self._process.communicate()
            if self._over.wait(AGAIN_SECONDS):
                return
            with contextlib.suppress(Unavailable):
                self._process = self._start()

    def close(self) -> None:
        self._over.set()
        self._process.kill()
        self._thread.join(AGAIN_SECONDS)


@contextlib.contextmanager
def reached(host: str) -> Iterator[str]:
    """`host` as the engine's client can open it; `ssh://…` becomes a socket in a closed folder."""
    if not host.startswith("ssh://"):
        yield host
        return
    with temporary("pw-ssh-") as folder:
        near = folder / "engine.sock"
        tunnel = Tunnel(words(host, near), near)
        try:
            yield f"unix://{near}"
        finally:
            tunnel.close()
