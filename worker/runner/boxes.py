"""The sandbox's client: `ports.Sandbox` and `ports.Box` over a unix socket or TLS.

The service shows a sign of life every second while a check runs; `look` is called at each, and when
it raises the connection is closed, which ends the container.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpcore
import httpx

from app.domain.check import Outcome
from app.domain.errors import IntegrityError, Missing, Refused, Unavailable
from app.domain.ports.sandbox import Job
from app.domain.setup import SetupOutcome, SetupPlan
from app.domain.unread import known
from worker.runner.setup_request import files_tar, outcome_of, plan_json

PIECE = 1 << 20
LOOK_EVERY = 1.0  # seconds
CONNECT = 5.0  # seconds
KEPT = 3.0  # seconds that an unused connection stays open; the service closes it after five
SILENCE = 30.0  # seconds without a sign of life after which the service counts as gone

Look = Callable[[], None]


def never() -> None:
    """For calls that nobody can cancel."""


class _Frames:
    """Reads frames of one streamed answer, looking up between the pieces."""

    def __init__(self, pieces: Iterator[bytes], look: Look) -> None:
        self._pieces = pieces
        self._look = look
        self._kept = bytearray()
        self._looked = time.monotonic()

    def exact(self, count: int) -> bytes:
        while len(self._kept) < count:
            piece = next(self._pieces, None)
            if piece is None:
                raise Unavailable("the sandbox's answer ended early; its process may have died")
            self._kept += piece
            if time.monotonic() - self._looked >= LOOK_EVERY / 2:
                self._look()
                self._looked = time.monotonic()
        taken = bytes(self._kept[:count])
        del self._kept[:count]
        return taken

    def answer(self) -> tuple[dict[str, Any], list[bytes]]:
        length = 0
        while not length:  # a length of 0 is a sign of life
            length = struct.unpack(">I", self.exact(4))[0]
        head = json.loads(self.exact(length))
        return head, [self.exact(size) for size in head["sizes"]]


def _refusal(status: int, message: str, retry_after: float | None) -> Exception:
    if status >= 500:
        return Unavailable(f"sandbox: {message}", retry_after)
    if status in (404, 410):
        return Missing(f"sandbox: {message}", status)
    return Refused(f"sandbox: {message}", status)


def _number(text: str | None) -> float | None:
    with contextlib.suppress(ValueError):
        return float(text) if text else None
    return None


def _body(header: Mapping[str, Any], look: Look, *rest: bytes) -> Iterator[bytes]:
    text = json.dumps(header).encode()
    yield struct.pack(">I", len(text)) + text
    looked = time.monotonic()
    for data in rest:
        view = memoryview(data)
        for start in range(0, len(data), PIECE):
            yield bytes(view[start : start + PIECE])
            if time.monotonic() - looked >= LOOK_EVERY:
                look()
                looked = time.monotonic()


def _job(job: Job) -> dict[str, Any]:
    return {**asdict(job), "argv": list(job.argv), "env": dict(job.env)}


def _outcome(job: Job, head: Mapping[str, Any], bodies: list[bytes]) -> Outcome:
    """Raises `IntegrityError` when another command was run than the one that was sent."""
    found = _read(head, bodies)
    if found.digest != job.digest():
        raise IntegrityError(
            f"the sandbox ran another command than {job.name or job.argv[0]!r}: its digest is "
            f"{found.digest[:16]}, not {job.digest()[:16]}"
        )
    return found


def _read(head: Mapping[str, Any], bodies: list[bytes]) -> Outcome:
    try:
        said, (stdout, stderr, report) = head["outcome"], bodies
        return Outcome(
            exit_code=said["exit_code"],
            limit=str(said["limit"]),
            ms=int(said["ms"]),
            stdout=stdout,
            stderr=stderr,
            seen=(int(said["seen"][0]), int(said["seen"][1])),
            report=report if said["report"] else None,
            error=str(said["error"]),
            ceiling=int(said["ceiling"]),
            digest=str(said["digest"]),
            unread=known(said.get("unread")),  # an older sandbox does not say it
            report_size=int(said.get("report_size", 0)),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Unavailable(f"the sandbox's answer cannot be read: {error!r}") from error


def _tls(certs: str) -> ssl.SSLContext:
    """TLS 1.3 with a certificate of our own. Raises `Refused`."""
    folder = Path(certs)
    try:
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    except (OSError, ssl.SSLError) as error:
        raise Refused(
            f"a sandbox on another machine needs ca.pem, cert.pem and key.pem in "
            f"PATCHWARRANT_SANDBOX_TLS={certs!r}: {error}"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


class _Knocking(httpcore.SyncBackend):
    """Knocks before it connects: the library leaks the socket of a connection that is refused."""

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(CONNECT)
            try:
                probe.connect(path)
            except OSError as error:
                raise httpcore.ConnectError(str(error)) from error
        return super().connect_unix_socket(path, timeout, socket_options)


def _near(path: str) -> httpx.HTTPTransport:
    """Connections to a unix socket, kept open between the calls."""
    made = httpx.HTTPTransport()
    made.close()
    made._pool = httpcore.ConnectionPool(
        uds=path,
        network_backend=_Knocking(),
        max_connections=None,  # who may come in is the sandbox's to say
        max_keepalive_connections=8,
        keepalive_expiry=KEPT,
    )
    return made


class SandboxClient:
    """`ports.Sandbox` against the service at `address`, a socket's path or `https://host:port`.

    Safe from any thread.

    All methods raise `Unavailable` (away, busy with `retry_after`, engine trouble) or `Refused`.
    """

    def __init__(self, address: str, certs: str = "") -> None:
        """`certs` is a folder with ca.pem (who signed the sandbox's certificate), cert.pem and
        key.pem (this caller's own), for an `https://` address. Raises `Refused`."""
        self._address = address
        self._tenant = ""
        self._far = urlsplit(address) if address.startswith("https://") else None
        transport = httpx.HTTPTransport(verify=_tls(certs)) if self._far else _near(address)
        self._http = httpx.Client(
            transport=transport,
            base_url=address if self._far else "http://sandbox",
            timeout=httpx.Timeout(SILENCE, connect=CONNECT),
            trust_env=False,
        )

    def of(self, tenant: str) -> SandboxClient:
        """The same connection in the name of one installation, for its fair share."""
        made = copy(self)
        made._tenant = tenant
        return made

    def close(self) -> None:
        self._http.close()

    def image(self, name: str) -> tuple[str, str]:
        head, _ = self.ask("/images", (json.dumps({"name": name}).encode(),), never)
        return str(head["image"]), str(head["profile"])

    def set_up(self, run: str, image: str, plan: SetupPlan, look: Look) -> SetupOutcome:
        tar = files_tar(plan)
        header = {"run": run, "image": image, "tenant": self._tenant, "plan": plan_json(plan)}
        body = _body(header, look, struct.pack(">Q", len(tar)), tar)
        return outcome_of(*self.ask("/setups", body, look))

    def certify(self, run: str, image: str, job: Job, tar: bytes, look: Look) -> Outcome:
        header = {"run": run, "image": image, "job": _job(job), "tenant": self._tenant}
        body = _body(header, look, struct.pack(">Q", len(tar)), tar)
        return _outcome(job, *self.ask("/certify", body, look))

    def open(self, run: str, image: str, tar: bytes, look: Look = never) -> ClientBox:
        header = {"run": run, "image": image, "tenant": self._tenant}
        body = _body(header, look, struct.pack(">Q", len(tar)), tar)
        head, _ = self.ask("/boxes", body, look)
        return ClientBox(self, run, str(head["box"]))

    def stop(self, run: str) -> int:
        """End every check and box of a run; how many there were."""
        with self._faults():
            answer = self._http.delete(
                f"/runs/{quote(run, safe='')}", params={"tenant": self._tenant}
            )
        self._verdict(answer)
        return int(answer.json()["stopped"])

    def healthy(self) -> bool:
        """Whether the service answers; never raises."""
        with contextlib.suppress(Unavailable), self._faults():
            return self._http.get("/healthz").status_code == 200
        return False

    # -- for the boxes ----------------------------------------------------------------------------

    def ask(self, path: str, body: Any, look: Look) -> tuple[dict[str, Any], list[bytes]]:
        """POST and the last frame of the answer; `look` may raise, which hangs up."""
        with self._faults(), self._http.stream("POST", path, content=body) as answer:
            if answer.status_code != 200:
                answer.read()
                self._verdict(answer)
            head, bodies = _Frames(answer.iter_raw(), look).answer()
        if fault := head.get("fault"):
            raise _refusal(int(fault["status"]), str(fault["message"]), fault["retry_after"])
        return head, bodies

    def forget(self, run: str, box: str) -> None:
        """Ask for the removal of a box; never raises."""
        with contextlib.suppress(Unavailable), self._faults():
            self._http.delete(f"/boxes/{box}", params={"run": run, "tenant": self._tenant})

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unavailable(
                f"no sandbox listens on {self._address} ({error}); is its process running, and do "
                "the certificates fit?"
            ) from error
        except httpx.HTTPError as error:
            if "ALERT_" in str(error) or "CERTIFICATE_REQUIRED" in str(error):
                raise Unavailable(
                    f"the sandbox at {self._address} does not take cert.pem in "
                    f"PATCHWARRANT_SANDBOX_TLS ({error}); renew it, or let its CA sign one"
                ) from error
            raise Unavailable(f"the sandbox's connection broke: {error!r}") from error

    def _verdict(self, answer: httpx.Response) -> None:
        if answer.status_code < 400:
            return
        try:
            message = str(answer.json()["error"])
        except (ValueError, KeyError, TypeError):
            message = f"answered {answer.status_code}"
        after = _number(answer.headers.get("retry-after"))
        raise _refusal(answer.status_code, message, after)


class ClientBox:
    """`ports.Box`: one kept container of one run."""

    def __init__(self, client: SandboxClient, run: str, name: str) -> None:
        self._client = client
        self._run = run
        self._name = name

    def run(self, job: Job, files: Mapping[str, bytes], look: Look) -> Outcome:
        laid = [{"path": path, "size": len(data)} for path, data in files.items()]
        header = {
            "run": self._run,
            "job": _job(job),
            "files": laid,
            "tenant": self._client._tenant,
        }
        body = _body(header, look, *files.values())
        return _outcome(job, *self._client.ask(f"/boxes/{self._name}/run", body, look))

    def close(self) -> None:
        self._client.forget(self._run, self._name)
