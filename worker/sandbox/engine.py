"""The only code that speaks to a Docker engine: containers by the profile, images, nothing else.

All methods raise `Unavailable` (engine away, slow or failing) or `Refused` (it said no; `Missing`
for what is not there). docker-py's raw create call is used, so that nothing of a user's client
configuration (proxy variables with credentials, say) can reach a container.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import docker
import requests
from docker.constants import DEFAULT_DOCKER_API_VERSION
from docker.errors import APIError, DockerException, NotFound

from app.domain.errors import Missing, Refused, Unavailable
from worker.sandbox import away
from worker.sandbox.container import Container, Ending
from worker.sandbox.profile import (
    LABEL,
    USERS,
    Limits,
    container_options,
    differences,
    host_options,
)
from worker.sandbox.protocol import Broken
from worker.sandbox.versions import api


@contextlib.contextmanager
def faults(doing: str) -> Iterator[None]:
    """Turn what the client library raises into our own endings."""
    try:
        yield
    except NotFound as error:
        raise Missing(f"{doing}: {_sentence(error.explanation)}", 404) from error
    except APIError as error:
        status = error.status_code or 500
        if 400 <= status < 500:
            said = _sentence(error.explanation)
            raise Refused(f"{doing}: the engine refused: {away.advised(said)}", status) from error
        said = _sentence(error.explanation)
        raise Unavailable(f"{doing}: the engine answered {status}: {said}") from error
    except (DockerException, requests.RequestException, OSError) as error:
        raise Unavailable(f"{doing}: {away.sentence(_sentence(error))}") from error


def _sentence(text: object) -> str:
    """The engine's words on one line."""
    return " ".join(str(text).split())[:300]


@dataclass(frozen=True)
class Facts:
    """What the engine says about itself."""

    version: str
    api: str
    swap_limit: bool
    warnings: tuple[str, ...]
    runc: str = ""
    runtimes: tuple[str, ...] = ()
    memory: int = 0  # bytes of the machine
    cpus: int = 0
    root: str = ""  # the folder of its images and containers, on its machine


class Users:
    """Hands out uids, each to one container at a time; safe from any thread.

    It begins somewhere else in each process: sandboxes of one engine do not know each other."""

    def __init__(self, users: range = USERS, first: int | None = None) -> None:
        self._users = users
        self._next = secrets.randbelow(len(users)) if first is None else first
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def take(self) -> int:
        """Raises `Unavailable` when every one is in use."""
        with self._lock:
            for _ in self._users:
                found = self._users[self._next % len(self._users)]
                self._next += 1
                if found not in self._taken:
                    self._taken.add(found)
                    return found
        raise Unavailable(f"all {len(self._users)} users of the sandbox are in use", 5.0)

    def give(self, user: int) -> None:
        with self._lock:
            self._taken.discard(user)


@dataclass(frozen=True)
class Found:
    """A container that carries our label. `finished` and `running` as the engine sees them."""

    id: str
    labels: Mapping[str, str]
    running: bool
    finished: str


@dataclass(frozen=True)
class Held:
    """An image on the engine's disk; `size`: the bytes that it adds to what it was made from."""

    id: str
    names: tuple[str, ...]
    size: int


class Engine:
    """One engine behind `host` (a socket's URL, "" for the usual one); one client a thread.

    `certs` is a folder with ca.pem, cert.pem and key.pem, for a `tcp://` address."""

    def __init__(self, host: str = "", timeout: int = 30, certs: str = "") -> None:
        self._host = host or "unix:///var/run/docker.sock"
        self._timeout = timeout
        away.sound(self._host)
        self._tls = _tls(self._host, certs)
        self.users = Users()
        self._local = threading.local()
        self._clients: list[Any] = []
        with faults(f"asking the engine at {self._host} for its version"):
            first = self._client(DEFAULT_DOCKER_API_VERSION, timeout)
            self._clients.append(first)
            said = first.version(api_version=False)
            try:
                self._version = api(str(said.get("MinAPIVersion", "")), str(said["ApiVersion"]))
            except (ValueError, KeyError) as error:
                self.close()
                raise Refused(f"this Docker engine cannot be used: {error}") from error
            info = self._api().info()
        self.facts = _facts(said, info, self._version)

    @property
    def local(self) -> bool:
        """Whether the engine's disks may be this machine's."""
        return self._host.startswith("unix://")

    def _client(self, version: str, timeout: int) -> Any:
        made = docker.APIClient(
            base_url=self._host, version=version, timeout=timeout, tls=self._tls or False
        )
        made.trust_env = False  # no proxy, and no other CA than the one that was given
        return made

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
                self._local.api = self._client(self._version, self._timeout)
            self._clients.append(self._local.api)
        return self._local.api

    # -- containers -------------------------------------------------------------------------------

    def create(
        self, image: str, command: list[str], limits: Limits, labels: Mapping[str, str]
    ) -> Container:
        """A container by the profile, compared with it, attached to and started."""
        user = self.users.take()
        try:
            made = self._create(image, command, replace(limits, user=user), labels)
        except BaseException:
            self.users.give(user)
            raise
        made.after = lambda: self.users.give(user)
        return made

    def _create(
        self, image: str, command: list[str], limits: Limits, labels: Mapping[str, str]
    ) -> Container:
        api = self._api()
        config = {
            **container_options(command, limits.network, limits.user),
            "Image": image,
            "Labels": {LABEL: "1", **labels},
            "HostConfig": host_options(limits),
        }
        name = f"{LABEL}-{secrets.token_hex(8)}"
        try:
            with faults("creating a container"):
                made = str(api.create_container_from_config(config, name)["Id"])
        except Unavailable:  # its answer may be lost, and the container there
            self.remove(name)
            raise
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

    def still(self, image: str, labels: Mapping[str, str]) -> str:
        """The id of a container that is never started: its files are the image's."""
        config = {"Image": image, "Cmd": ["true"], "Labels": {LABEL: "1", **labels}}
        with faults("making a container to look at"):
            return str(self._api().create_container_from_config(config)["Id"])

    def name(self, container: str, run: str) -> None:
        """Show whose a container is that was made before it was anybody's; quiet if refused."""
        with contextlib.suppress(Refused), faults("naming a container"):
            self._api().rename(container, f"{LABEL}.{run}.{secrets.token_hex(6)}")

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

    def images(self) -> list[Held]:
        """Every image that has a name."""
        with faults("listing images"):
            listed = self._api().images()
        whole = {str(one["Id"]): int(one.get("Size") or 0) for one in listed}

        def added(one: Mapping[str, Any]) -> int:
            return max(0, whole[str(one["Id"])] - whole.get(str(one.get("ParentId")), 0))

        return [
            Held(str(one["Id"]), tuple(one.get("RepoTags") or ()), added(one)) for one in listed
        ]

    def remove_image(self, image: str) -> None:
        """Remove an image that nothing uses. Raises `Refused` where something does."""
        with faults("removing an image"):
            for name in self.image_names(image):
                self._api().remove_image(name)

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
        return contextlib.closing(self._client(self._version, 1800))


def _tls(host: str, certs: str) -> docker.tls.TLSConfig | None:
    """Raises `Refused` for an address that would hand the engine to whoever reaches it."""
    if not host.startswith("tcp://"):
        return None
    if not certs:
        raise away.without_tls(host)
    folder = Path(certs)
    missing = [n for n in ("ca.pem", "cert.pem", "key.pem") if not (folder / n).is_file()]
    if missing:
        raise Refused(
            f"DOCKER_CERT_PATH={certs} lacks {', '.join(missing)}; put there what the engine's CA "
            "signed for this caller"
        )
    return docker.tls.TLSConfig(
        client_cert=(str(folder / "cert.pem"), str(folder / "key.pem")),
        ca_cert=str(folder / "ca.pem"),
        verify=True,
    )


def _facts(said: Mapping[str, Any], info: Mapping[str, Any], version: str) -> Facts:
    parts = {str(part.get("Name")): part for part in said.get("Components") or ()}
    return Facts(
        version=str(info.get("ServerVersion", "")),
        api=version,
        swap_limit=bool(info.get("SwapLimit")),
        warnings=tuple(info.get("Warnings") or ()),
        runc=str(parts.get("runc", {}).get("Version", "")),
        runtimes=tuple(sorted(info.get("Runtimes") or ())),
        memory=int(info.get("MemTotal") or 0),
        cpus=int(info.get("NCPU") or 0),
        root=str(info.get("DockerRootDir", "")),
    )


__all__ = ["Broken", "Container", "Ending", "Engine", "Facts", "Found", "faults"]
