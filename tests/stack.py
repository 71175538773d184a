"""The whole product on this machine: stand-ins, Redis and the four roles, each its own process.

Every role gets an environment of its own with nothing but what it may hold. Used by the
demonstration and by the end-to-end tests; only GitHub's and the model's servers are stood in for.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.run import Run
from app.domain.state import ENDS
from tests.redis_server import Server, redis_server
from tests.shared_data import REPOSITORY
from tests.standins.anthropic import AnthropicStandin
from tests.standins.github import AppKeys, GitHubStandin
from tests.tied import tied
from tests.worker.sandbox.setting_up import BUNDLE, networks
from worker.attest.signing import Signer
from worker.store.connect import connect
from worker.store.ledger import Ledger
from worker.store.sealing import new_secret

PORTS = (12_000, 32_000)  # below what Linux gives out by itself (ip_local_port_range)
READY_S = 120  # until a role answers that was just started
ROLES = ("receiver", "sandbox", "desk", "runner")
PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "read",
}


@dataclass
class Stack:
    """Everything that is up. `model_key` and `model_url` are the real model's where one is used."""

    folder: Path
    redis: Server
    hub: GitHubStandin
    model: AnthropicStandin | None
    model_key: str
    model_url: str
    owner: str
    say: Callable[[str], None]
    extra: Mapping[str, Mapping[str, str]]
    app: AppKeys = field(init=False)
    installation: int = 0
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    port: int = 0

    @property
    def ledger(self) -> Ledger:
        return Ledger(connect(self.redis.url))

    def secret(self, name: str, value: str) -> str:
        path = self.folder / name
        path.write_text(value, encoding="utf-8")
        path.chmod(0o600)
        return str(path)

    def prepare(self) -> None:
        """Keys, the App, its webhook address."""
        self.port = free_port()
        self.app = self.hub.create_app(
            "patchwarrant",
            permissions=PERMISSIONS,
            webhook_url=f"http://127.0.0.1:{self.port}/webhooks/github",
            webhook_secret=secrets.token_hex(20),
        )
        self.secret("webhook-secret", self.app.webhook_secret)
        self.secret("app-key.pem", self.app.private_key)
        self.secret("seal", new_secret())
        self.secret("model-key", self.model_key)
        self.public_key = Signer.load(self.folder / "signing-key.pem").public_pem

    def environment(self, role: str) -> dict[str, str]:
        """What this role may know."""
        place = self.folder
        known = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(place),
            "PYTHONPATH": str(REPOSITORY),
            "PATCHWARRANT_STATE": str(place / "state"),
        }
        if role != "sandbox":
            known["PATCHWARRANT_REDIS_URL"] = self.redis.url
        if role in ("runner", "sandbox"):
            known["PATCHWARRANT_SANDBOX"] = str(place / "sandbox" / "sandbox.sock")
        own = {
            "receiver": {
                "PATCHWARRANT_WEBHOOK_SECRET_FILE": str(place / "webhook-secret"),
                "PATCHWARRANT_PORT": str(self.port),
            },
            "desk": {
                "PATCHWARRANT_APP_ID": str(self.app.app_id),
                "PATCHWARRANT_APP_KEY_FILE": str(place / "app-key.pem"),
                "PATCHWARRANT_SEAL_FILE": str(place / "seal"),
                "PATCHWARRANT_SIGNING_KEY_FILE": str(place / "signing-key.pem"),
                "PATCHWARRANT_OWNERS": self.owner,
                "PATCHWARRANT_WRITE_PAUSE_SECONDS": "0.02",
                "PATCHWARRANT_WRITES_PER_HOUR": "0",
                "PATCHWARRANT_RUNS_PER_HOUR": "user=9999,repository=9999,installation=9999",
                "GITHUB_API_URL": self.hub.url,
                "GITHUB_SERVER_URL": self.hub.git_url,
            },
            "runner": {
                "ANTHROPIC_API_KEY_FILE": str(place / "model-key"),
                "PATCHWARRANT_MODEL_URL": self.model_url,
                "GITHUB_SERVER_URL": self.hub.git_url,
            },
            "sandbox": {
                "DOCKER_HOST": os.environ.get("DOCKER_HOST", ""),
                # a machine whose registries are behind an authority of its own
                "PATCHWARRANT_SETUP_CERTIFICATES": os.environ.get("SSL_CERT_FILE", "")
                or (str(BUNDLE) if BUNDLE.exists() else ""),
                "PATCHWARRANT_SETUP_NETWORKS": " ".join(networks()),
            },
        }[role]
        return {**known, **{k: v for k, v in own.items() if v}, **self.extra.get(role, {})}

    def start(self, role: str) -> None:
        """Start one role; its output goes to a file of its own."""
        word = "receive" if role == "receiver" else role
        log = (self.folder / f"{role}.log").open("ab")
        with log:
            self.processes[role] = subprocess.Popen(
                [sys.executable, "-m", "app.cli", word],
                cwd=self.folder,
                env=self.environment(role),
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=tied(),
            )

    def stop(self, role: str, number: signal.Signals = signal.SIGTERM) -> None:
        """Signal one role's main process and wait for its end; SIGKILL goes to nobody else."""
        process = self.processes.pop(role, None)
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def living(self, role: str) -> bool:
        """Whether it was started and has not ended."""
        process = self.processes.get(role)
        return process is not None and process.poll() is None

    def log(self, role: str) -> str:
        path = self.folder / f"{role}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def await_ready(self) -> None:
        """The receiver and the sandbox answer. Raises `RuntimeError` with a role's last words."""
        self.await_receiver()
        sock = Path(self.environment("sandbox")["PATCHWARRANT_SANDBOX"])
        self._until(lambda: _listens(sock), 600, "sandbox")

    def await_receiver(self) -> None:
        """The receiver answers: what is told before that would be lost. Raises `RuntimeError`."""
        address = f"http://127.0.0.1:{self.port}/readyz"
        self._until(lambda: _answers(address), READY_S, "receiver")

    def _until(self, true: Callable[[], bool], seconds: float, role: str) -> None:
        ends = time.monotonic() + seconds
        while not true():
            process = self.processes[role]
            if process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(f"{role} did not get ready:\n{self.log(role)[-3000:]}")
            time.sleep(0.1)

    def await_true(self, true: Callable[[], bool], seconds: float) -> None:
        """Returns once `true()` holds; `TimeoutError` when it does not in time."""
        ends = time.monotonic() + seconds
        while not true():
            if time.monotonic() > ends:
                raise TimeoutError(f"not true within {seconds} s")
            time.sleep(0.1)

    def kill(self, role: str) -> None:
        """kill -9 for a role and all of its descendants at once, as when a machine dies."""
        process = self.processes.pop(role)
        for pid in [*descendants(process.pid), process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()

    def containers(self, run: str) -> list[str]:
        """Ids of the containers of a run, by the engine's own list: made for it, which a label
        says, or started ahead and given to it, which the name says."""
        found: set[str] = set()
        for words in (f"label=patchwarrant.run={run}", f"name=^/?patchwarrant\\.{run}\\."):
            listing = ["docker", "ps", "-aq", "--filter", words]
            done = subprocess.run(listing, capture_output=True, text=True, check=True)
            found |= set(done.stdout.split())
        return sorted(found)

    def run_of(self, issue: int, seconds: float = 120, after: str = "") -> Run:
        """The newest run of an issue, once it exists and is not the run `after`."""
        return self.await_run(lambda run: run.issue == issue and run.id != after, seconds)

    def await_run(self, wanted: Callable[[Run], bool], seconds: float) -> Run:
        ends = time.monotonic() + seconds
        ledger = self.ledger
        while time.monotonic() < ends:
            for run in ledger.runs(20):
                if wanted(run):
                    return run
            time.sleep(0.1)
        states = [(run.id, str(run.state), run.wait) for run in ledger.runs(20)]
        logs = "\n".join(f"--- {role}\n{self.log(role)[-2500:]}" for role in ROLES)
        raise TimeoutError(f"no such run within {seconds} s; runs: {states}\n{logs}")

    def await_end(self, issue: int, seconds: float = 240, after: str = "") -> Run:
        """The issue's newest run when it has ended and said so."""
        return self.await_run(
            lambda run: (
                run.issue == issue and run.id != after and run.state in ENDS and run.explained
            ),
            seconds,
        )


@contextmanager
def stack(
    owner: str,
    *,
    folder: Path | None = None,
    model: tuple[str, str] | None = None,
    say: Callable[[str], None] = lambda _words: None,
    extra: Mapping[str, Mapping[str, str]] | None = None,
    roles: tuple[str, ...] = ROLES,
) -> Iterator[Stack]:
    """Bring everything up, and down again. `model` is (address, key) of a real model."""
    with ExitStack() as exits:
        place = folder or Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="pw-")))
        say("Redis")
        redis = exits.enter_context(redis_server())
        say("GitHub's stand-in")
        hub = exits.enter_context(GitHubStandin(root=place / "github"))
        standin = None
        if model is None:
            say("the model's stand-in")
            key = f"sk-ant-standin-{secrets.token_hex(8)}"
            standin = exits.enter_context(AnthropicStandin(key=key))
            model = (standin.url, key)
        made = Stack(place, redis, hub, standin, model[1], model[0], owner, say, extra or {})
        made.prepare()
        exits.callback(lambda: [made.stop(role) for role in reversed(ROLES)])
        for role in roles:
            say(role)
            made.start(role)
        if "sandbox" in roles:
            made.await_ready()
        yield made


def descendants(pid: int) -> list[int]:
    """All processes below one, from the kernel's own table."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                children.setdefault(int(parent), []).append(int(folder.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def free_port() -> int:
    """A port that nobody listens at, for a process that is started, and started again, later.

    Not one of the kernel's own range: from there it would be given to somebody's next connection
    or listener before that process takes it.
    """
    while True:
        port = random.SystemRandom().randrange(*PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
