"""Each role is a process of its own that holds its secrets and nobody else's."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import FIX, Town
from tests.stack import ROLES, Stack, descendants

pytestmark = pytest.mark.docker

MAY_KNOW = {
    "receiver": {"PATCHWARRANT_WEBHOOK_SECRET_FILE"},
    "desk": {"PATCHWARRANT_APP_KEY_FILE", "PATCHWARRANT_SEAL_FILE"},
    "runner": {"ANTHROPIC_API_KEY_FILE"},
    "sandbox": set(),
}
SECRETS = set().union(*MAY_KNOW.values()) | {
    name.removesuffix("_FILE") for names in MAY_KNOW.values() for name in names
}
FILES = ("webhook-secret", "app-key.pem", "seal", "signing-key.pem", "model-key")


def family(up: Stack, role: str) -> list[int]:
    pid = up.processes[role].pid
    return [pid, *descendants(pid)]


def seen_of(pid: int, *names: str) -> bytes:
    """What the kernel shows of a process; nothing of one that ended since it was listed."""
    try:
        return b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in names)
    except (FileNotFoundError, ProcessLookupError):
        return b""


def environment(pid: int) -> dict[str, str]:
    raw = seen_of(pid, "environ").decode().split("\0")
    return dict(part.partition("=")[::2] for part in raw if part)


def opened(pid: int) -> set[str]:
    """Names of the files that a process has open."""
    found = set()
    for link in listed(Path(f"/proc/{pid}/fd")):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.add(link.readlink().name)
    return found


def listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


@pytest.mark.parametrize("role", ROLES)
def test_the_environment_names_no_secret_of_another_role(town: Town, role: str) -> None:
    assert environment(town.up.processes[role].pid)
    for pid in family(town.up, role):
        assert set(environment(pid)) & SECRETS <= MAY_KNOW[role]


@pytest.mark.parametrize("role", ROLES)
def test_no_value_of_a_secret_is_in_an_environment_or_a_command_line(town: Town, role: str) -> None:
    values = [(town.up.folder / name).read_text(encoding="utf-8").strip() for name in FILES]
    for pid in family(town.up, role):
        seen = seen_of(pid, "environ", "cmdline")
        assert not [name for name, v in zip(FILES, values, strict=True) if v.encode() in seen]


@pytest.mark.parametrize("role", ROLES)
def test_no_secret_file_stays_open(town: Town, role: str) -> None:
    """A process that has just begun may be reading its own."""
    assert opened(town.up.processes[role].pid)
    town.up.await_true(
        lambda: not {name for pid in family(town.up, role) for name in opened(pid)} & {*FILES}, 60
    )


def test_only_the_sandbox_talks_to_the_engine(town: Town) -> None:
    """While a check runs, whose sockets are at the other end of the engine's?"""
    name = town.repository()
    town.patches(name, FIX)
    number = town.ask(name)
    ours = {pid: role for role in ROLES for pid in family(town.up, role)}
    seen: set[str] = set()

    def ended() -> bool:
        ours.update({pid: role for role in ROLES for pid in family(town.up, role)})
        seen.update(ours[pid] for pid in clients_of_the_engine() if pid in ours)
        runs = [run for run in town.up.ledger.runs(20) if run.repository.full_name == name]
        return any(run.issue == number and run.explained for run in runs)

    town.up.await_true(ended, 240)  # all the way: publishing and explaining, too
    assert seen == {"sandbox"}


def clients_of_the_engine() -> set[int]:
    """Pids of the processes connected to a socket named docker.sock."""
    text = subprocess.run(["ss", "-xpnH"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    peers = {row[7] for row in rows if len(row) > 7 and row[4].endswith("docker.sock")}
    found = set()
    for row in rows:
        if len(row) > 8 and row[5] in peers and not row[4].endswith("docker.sock"):
            found |= {int(pid) for pid in re.findall(r"pid=(\d+)", row[8])}
    return found


def test_no_secret_reaches_redis_a_log_or_github(town: Town) -> None:
    name = town.repository()
    town.patches(name, FIX)
    number = town.ask(name)
    run = town.end(name, number)
    texts = [(town.up.folder / file).read_text(encoding="utf-8").strip() for file in FILES]
    values = ["ghs_", "-----BEGIN", *(line for text in texts for line in telling(text))]
    assert len(values) > 20, "a PEM is looked for line by line: a repr writes its line ends apart"
    sinks = {f"log of {role}": town.up.log(role) for role in ROLES}
    sinks["redis"] = everything(town.up)
    sinks["github"] = str(town.up.hub.comments(name, number)) + str(town.up.hub.pulls(name))
    sinks["github"] += str(town.up.hub.check_runs(name, run.publication.commit))
    assert town.up.model is not None
    sinks["model"] = str([request.body for request in town.up.model.requests()])
    found = [(sink, value[:8]) for sink, text in sinks.items() for value in values if value in text]
    assert found == []


def telling(secret: str) -> list[str]:
    """The lines of a secret that give it away: all but a PEM's head, foot and short last line."""
    return [line for line in secret.splitlines() if len(line) >= 24 and "-----" not in line]


def test_every_minted_token_was_revoked(town: Town) -> None:
    """Of this run: a desk that another test killed between minting and shelving leaves one that
    nobody holds (the security page says so)."""
    before = {token["id"] for token in town.up.hub.tokens()}
    name = town.repository()
    town.patches(name, FIX)
    town.end(name, town.ask(name))
    minted = [token["id"] for token in town.up.hub.tokens() if token["id"] not in before]
    assert len(minted) > 5

    def revoked() -> bool:
        alive = [token for token in town.up.hub.tokens() if not token["revoked"]]
        return not [token for token in alive if token["id"] in minted]

    town.up.await_true(revoked, 120)
    town.up.await_true(lambda: town.up.ledger.tokens() == [], 120)


def everything(up: Stack) -> str:
    """All keys of the ledger with all of their values."""
    parts: list[object] = []
    with up.redis.client() as client:
        for key in client.scan_iter():
            kind = client.type(key)
            read = {
                b"string": lambda k: client.get(k),
                b"hash": lambda k: client.hgetall(k),
                b"list": lambda k: client.lrange(k, 0, -1),
                b"set": lambda k: client.smembers(k),
                b"zset": lambda k: client.zrange(k, 0, -1),
                b"stream": lambda k: client.xrange(k),
                b"none": lambda _k: None,  # it ended between the listing and the look
            }[kind]
            parts.append((key, read(key)))
    return repr(parts)
