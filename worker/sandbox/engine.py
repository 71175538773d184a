"""The only code that speaks to a Docker engine: containers by the profile, images, nothing else.

All methods raise `Unavailable` (engine away, slow or failing) or `Refused` (it said no; `Missing`
for what is not there). docker-py's raw create call is used, so that nothing of a user's client
configuration (proxy variables with credentials, say) can reach a container.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

from app.domain.errors import Missing, Refused, Unavailable
from worker.sandbox.profile import LABEL, Limits, container_options, differences, host_options
from worker.sandbox.protocol import Broken, Cut, Inbox, Reply

PIECE = 1 << 18
TICK = 0.25  # seconds between looks at a cancellation
KILL_WAIT = 30.0  # seconds in which a killed container has to be gone


@contextlib.contextmanager
def faults(doing: str) -> Iterator[None]:
    """Turn what the client library raises into our own endings."""
    try:
        yield
    except NotFound as error:
        raise Missing(f"{doing}: {error.explanation}", 404) from error
    except APIError as error:
        status = error.status_code or 500
        if 400 <= status < 500:
            raise Refused(f"{doing}: the engine refused: {error.explanation}", status) from error
        raise Unavailable(f"{doing}: the engine answered {status}: {error.explanation}") from error
    except (DockerException, requests.RequestException, OSError) as error:
        raise Unavailable(
            f"{doing}: no answer from the Docker engine ({error}); is it running, and may this "
            "process open its socket?"
        ) from error


@dataclass(frozen=True)
class Facts:
    """What the engine says about itself."""

    version: str
    api: str
    swap_limit: bool
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """A container that carries our label. `finished` and `running` as the engine sees them."""

    id: str
    labels: Mapping[str, str]
    running: bool
    finished: str


@dataclass(frozen=True)
class Ending:
    """How a container ended, by the daemon."""

    code: int
    killed_for_memory: bool


class Engine:
    """One engine behind `host` (a socket's URL, "" for the usual one); one client a thread."""

    def __init__(self, host: str = "", timeout: int = 30) -> None:
        self._host = host or "unix:///var/run/docker.sock"
        self._timeout = timeout
        self._local = threading.local()
        with faults("asking the engine for its version"):
            first = docker.APIClient(base_url=self._host, version="auto", timeout=timeout)
            self._version = first.api_version
            self._local.api = first
            self._clients = [first]
            info = first.info()
        self.facts = Facts(
            version=str(info.get("ServerVersion", "")),
            api=self._version,
            swap_limit=bool(info.get("SwapLimit")),
            warnings=tuple(info.get("Warnings") or ()),
        )

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads."""
        for client in self._clients:
            client.close()

    def _api(self) -> Any:
        if not hasattr(self._local, "api"):
            with faults("connecting to the engine"):
                self._local.api = docker.APIClient(
                    base_url=self._host, version=self._version, timeout=self._timeout
                )
            self._clients.append(self._local.api)
        return self._local.api

    # -- containers -------------------------------------------------------------------------------

    def create(
        self, image: str, command: list[str], limits: Limits, labels: Mapping[str, str]
    ) -> Container:
        """A container by the profile, compared with it, attached to and started."""
        api = self._api()
        config = {
            **container_options(command),
            "Image": image,
            "Labels": {LABEL: "1", **labels},
            "HostConfig": host_options(limits),
        }
        with faults("creating a container"):
            made = str(api.create_container_from_config(config)["Id"])
        container = None
        try:
            with faults("inspecting a new container"):
                inspected = api.inspect_container(made)
            wrong = differences(inspected, limits, command, image, swap_limit=self.facts.swap_limit)
            if wrong:
                raise Refused("the engine weakens the sandbox's profile: " + "; ".join(wrong), 500)
            with faults("attaching to a container"):
                wires = api.attach_socket(
                    made, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                )
            container = Container(self, made, wires)
            with faults("starting a container"):
                api.start(made)
        except BaseException:
            if container is None:
                self.remove(made)
            else:
                container.remove()
            raise
        return container

    def kill(self, container: str) -> None:
        """SIGKILL to PID 1, and so to all; quiet where it is over already."""
        with contextlib.suppress(Refused), faults("killing a container"):
            self._api().kill(container, signal="SIGKILL")

    def remove(self, container: str) -> None:
        """Remove by force; never raises: the keeper tries again by label."""
        with contextlib.suppress(Refused, Unavailable), faults("removing a container"):
            self._api().remove_container(container, force=True, v=True)

    def ending(self, container: str) -> Ending:
        """Wait for the end (at most the client's time-out) and say how it was."""
        with faults("waiting for a container"):
            code = int(self._api().wait(container, timeout=self._timeout)["StatusCode"])
            state = self._api().inspect_container(container)["State"]
        return Ending(code, bool(state.get("OOMKilled")))

    def ours(self) -> list[Found]:
        """Every container with our label, whoever made it."""
        with faults("listing containers"):
            listed = self._api().containers(all=True, filters={"label": f"{LABEL}=1"})
        found = []
        for entry in listed:
            finished = ""
            running = entry.get("State") == "running"
            if not running:
                with contextlib.suppress(Missing), faults("inspecting a container"):
                    state = self._api().inspect_container(entry["Id"])["State"]
                    finished = str(state.get("FinishedAt", ""))
            found.append(Found(entry["Id"], entry.get("Labels") or {}, running, finished))
        return found

    # -- images -----------------------------------------------------------------------------------

    def image_id(self, name: str) -> str:
        """The id (`sha256:…`) of a local image by name, digest or id. Raises `Missing`."""
        with faults(f"looking for the image {name}"):
            return str(self._api().inspect_image(name)["Id"])

    def image_names(self, image: str) -> tuple[str, ...]:
        """Tags and digests that a local image has. Raises `Missing`."""
        with faults("looking at an image"):
            found = self._api().inspect_image(image)
        return (*(found.get("RepoTags") or ()), *(found.get("RepoDigests") or ()))

    def pull(self, name: str) -> None:
        """Pull an image by digest. Raises `Refused` with the registry's words."""
        with faults(f"pulling {name}"), self._slow() as api:
            for line in api.pull(name, stream=True, decode=True):
                if "error" in line:
                    raise Refused(f"pulling {name}: {line['error']}", 502)

    def build(self, context: BinaryIO, tag: str, say: Callable[[str], None]) -> None:
        """Build from a tar with a Dockerfile. Raises `Refused` with the engine's words."""
        with faults("building the image"), self._slow() as api:
            lines = api.build(
                fileobj=context, custom_context=True, tag=tag, rm=True, forcerm=True, decode=True
            )
            for line in lines:
                if "error" in line:
                    raise Refused(f"building the image: {line['error']}", 502)
                if words := str(line.get("stream", "")).strip():
                    say(words)

    def load_root(
        self, tar: Iterator[bytes], repository: str, tag: str, changes: list[str]
    ) -> None:
        """An image from the tar of a root file system."""
        with faults("importing the image"), self._slow() as api:
            api.import_image(
                src=tar, stream_src=True, repository=repository, tag=tag, changes=changes
            )

    def _slow(self) -> contextlib.closing[Any]:
        """A client for what may take minutes."""
        return contextlib.closing(
            docker.APIClient(base_url=self._host, version=self._version, timeout=1800)
        )


class Container:
    """One running container: bytes in and out in both directions at once, and its end."""

    def __init__(self, engine: Engine, container: str, wires: Any) -> None:
        self.id = container
        self._engine = engine
        self._wires = wires  # keeps the HTTP response, and with it the socket, alive
        self._sock: socket.socket = wires._sock
        self._sock.setblocking(False)
        self.gone = False
        self.cut = Cut.NONE

    def exchange(
        self,
        inbox: Inbox,
        feed: Iterator[bytes],
        seconds: float,
        cancelled: Callable[[], bool],
    ) -> Reply | None:
        """Write all of `feed` and read one reply; None when the container ended without one.

        Writing never blocks: a container that does not read cannot hold us. After `seconds` the
        container is killed and `cut` says TIME; when `cancelled()` turns true, CANCELLED. Raises
        `Broken`, and `Unavailable` when the engine's stream fails.
        """
        end = time.monotonic() + seconds
        pending = memoryview(b"")
        feeding = True
        reply: Reply | None = None
        with selectors.DefaultSelector() as watch:
            watch.register(self._sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while True:
                # An answer may come before the last byte is written: kept until it is.
                reply = reply or inbox.take()
                if self.gone or (reply is not None and not feeding):
                    return reply
                if not pending and feeding:
                    pending = memoryview(next(feed, b""))
                    feeding = bool(pending)
                    if not feeding:
                        watch.modify(self._sock, selectors.EVENT_READ)
                end = self._interrupt(end, cancelled)
                for _, ready in watch.select(max(0.0, min(TICK, end - time.monotonic()))):
                    if ready & selectors.EVENT_READ:
                        self._read(inbox)
                    if ready & selectors.EVENT_WRITE and pending and not self.gone:
                        pending = self._write(pending)

    def _interrupt(self, end: float, cancelled: Callable[[], bool]) -> float:
        """Kill when it is time to; the moment until which to wait."""
        late = time.monotonic() >= end
        if self.cut is not Cut.NONE:
            if late:
                raise Unavailable("a killed container does not end; is the Docker engine well?")
            return end
        if cancelled():
            self.cut = Cut.CANCELLED
        elif late:
            self.cut = Cut.TIME
        else:
            return end
        self.kill()
        return time.monotonic() + KILL_WAIT

    def _read(self, inbox: Inbox) -> None:
        try:
            piece = self._sock.recv(PIECE)
        except BlockingIOError:
            return
        except ConnectionError:
            piece = b""
        except OSError as error:
            raise Unavailable(f"the engine's stream failed: {error}") from error
        if piece:
            inbox.feed(piece)
        else:
            self.gone = True

    def _write(self, pending: memoryview) -> memoryview:
        try:
            return pending[self._sock.send(pending[:PIECE]) :]
        except BlockingIOError:
            return pending
        except OSError:  # it stopped reading; whether it ended is what reading tells
            return memoryview(b"")

    def kill(self) -> None:
        self._engine.kill(self.id)

    def ending(self) -> Ending:
        return self._engine.ending(self.id)

    def remove(self) -> None:
        """Close the stream and remove the container; never raises."""
        with contextlib.suppress(OSError):
            self._sock.close()
        self._wires.close()
        self._engine.remove(self.id)


__all__ = ["Broken", "Container", "Ending", "Engine", "Facts", "Found", "faults"]
