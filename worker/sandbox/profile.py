"""The complete container profile in one place: what is asked for, and how a container is compared.

Every container of the sandbox is created from `host_options` and `container_options` and nothing
else; after creation the engine's own description is compared by `differences`, so that an option
dropped by a refactoring or by another engine refuses instead of weakening. `security` facts: no
interface, no capability, no new privileges, read-only root, sized tmpfs, hard memory, pids.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.sandbox.seccomp import OPTION as SECCOMP

MIB = 1 << 20
GIB = 1 << 30

GROUP = 65534
USERS = range(60_600, 61_112)  # one each: the kernel counts some things for all of one user's
ANY_USER = "UID"  # in what is published: the number differs from container to container
NO_NETWORK = "none"
WORKSPACE = "/workspace"
PIDS = 256
CPU_PERIOD = 100_000  # µs
CPU_QUOTA = 200_000  # µs in each period: two cores
INODES = 100_000
FILE_SIZE = 256 * MIB
FLOOD = 512 * MIB  # stdout and stderr together; beyond it the check is killed
ULIMITS = {"nofile": 1024, "core": 0, "fsize": FILE_SIZE, "memlock": 65536, "msgqueue": 0}
RUNTIME = "runc"
ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108
    "LANG": "C.UTF-8",
    "LC_ALL": "C",  # for PID 1 alone: no locale of an image is read by it
    "PYTHONDONTWRITEBYTECODE": "1",
}

LABEL = "patchwarrant"
LABEL_RUN = "patchwarrant.run"
LABEL_DEADLINE = "patchwarrant.deadline"
LABEL_PROFILE = "patchwarrant.profile"
LABEL_OWNER = "patchwarrant.owner"

# Must be empty in what the engine reports: each one would be a way to the host or to its network.
EMPTY_HOST = (
    "Binds",
    "Mounts",
    "VolumesFrom",
    "CapAdd",
    "Devices",
    "DeviceRequests",
    "DeviceCgroupRules",
    "GroupAdd",
    "Links",
    "ExtraHosts",
    "Dns",
    "DnsOptions",
    "DnsSearch",
    "PortBindings",
    "PidMode",
    "UTSMode",
    "UsernsMode",
    "Sysctls",
    "OomKillDisable",
    "Privileged",
    "PublishAllPorts",
    "AutoRemove",
    "Init",
    "MemorySwappiness",
)


@dataclass(frozen=True)
class Limits:
    """What one container may use; `memory` in bytes, shared by processes and tmpfs. `runtime` is
    the operator's choice of who runs it, `network` none or the loopback of a check's services,
    `user` the uid that no other container has at the same time."""

    memory: int
    runtime: str = RUNTIME
    network: str = NO_NETWORK
    user: int | str = ANY_USER

    @property
    def workspace(self) -> int:
        """Bytes of the workspace: half of the memory, so that a full disk is not a dead PID 1."""
        return self.memory // 2

    @property
    def scratch(self) -> int:
        return min(256 * MIB, self.memory // 8)

    @property
    def shm(self) -> int:
        return min(64 * MIB, self.memory // 32)


def tmpfs(limits: Limits) -> dict[str, str]:
    owner = f"uid={limits.user},gid={GROUP}"
    kept = "rw,exec,nosuid,nodev"  # exec: compilers and test runners build into /tmp
    return {
        WORKSPACE: f"{kept},size={limits.workspace},nr_inodes={INODES},{owner},mode=0755",
        "/tmp": f"{kept},size={limits.scratch},nr_inodes={INODES},{owner},mode=1777",  # noqa: S108
    }


def host_options(limits: Limits) -> dict[str, Any]:
    """The engine's `HostConfig`, all of it."""
    return {
        "Runtime": limits.runtime,
        "NetworkMode": limits.network,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true", SECCOMP],
        "ReadonlyRootfs": True,
        "Privileged": False,
        "PidsLimit": PIDS,
        "Memory": limits.memory,
        "MemorySwap": limits.memory,
        "MemorySwappiness": 0,
        "OomKillDisable": False,
        "OomScoreAdj": 500,
        "CpuPeriod": CPU_PERIOD,
        "CpuQuota": CPU_QUOTA,
        "CpuShares": 512,
        "IpcMode": "private",  # "none" has no /dev/shm: multiprocessing.Lock() fails there
        "ShmSize": limits.shm,
        "CgroupnsMode": "private",
        "Tmpfs": tmpfs(limits),
        "Ulimits": [{"Name": name, "Soft": n, "Hard": n} for name, n in sorted(ULIMITS.items())],
        "LogConfig": {"Type": "none", "Config": {}},
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "Init": False,  # tini would be dumpable: a test could write frames through its stdout
        "AutoRemove": False,
        "PublishAllPorts": False,
    }


def container_options(
    command: list[str], network: str = NO_NETWORK, user: int | str = ANY_USER
) -> dict[str, Any]:
    """The rest of the create call but image, host configuration and labels.

    With services, host name and network are those of the container that the check joins. The
    whole command is the entry point, so that nothing of the image's own is added to it."""
    return {
        "Hostname": "sandbox" if network == NO_NETWORK else "",
        "Domainname": "",
        "User": f"{user}:{GROUP}",
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,  # the service's death closes stdin, and PID 1 ends with it
        "Tty": False,
        "Env": [f"{key}={value}" for key, value in ENVIRONMENT.items()],
        "Entrypoint": command,
        "Cmd": [],
        "WorkingDir": WORKSPACE,
        "NetworkDisabled": network == NO_NETWORK,
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
    }


def described(command: list[str], runtime: str = RUNTIME) -> dict[str, Any]:
    """The whole profile at the default memory, as `recipe/profile.json` publishes it."""
    host = host_options(Limits(2 * GIB, runtime))
    if words := host.get("SecurityOpt"):
        host["SecurityOpt"] = [_named(word) for word in words]
    return {"host": host, "container": container_options(command)}


def _named(word: str) -> str:
    """The list of system calls by its digest: nobody reads a line of 6,000 characters."""
    key, _, value = word.partition("=")
    return f"{key}=sha256:{hashlib.sha256(value.encode()).hexdigest()}" if value else word


def departures(published: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """Where the profile differs from the published one, a sentence each.

    The runtime is the operator's, and PID 1's program is named by the digest instead."""
    wrong = []
    for part in ("host", "container"):
        theirs, ours = published.get(part, {}), made.get(part, {})
        for key in sorted({*theirs, *ours} - {"Runtime", "Entrypoint"}):
            if key not in ours:
                wrong.append(f"{key} is missing")
            elif key not in theirs:
                wrong.append(f"{key} is not in the published profile")
            elif theirs[key] != ours[key]:
                wrong.append(f"{key} should be {theirs[key]!r} and is {ours[key]!r}")
        wrong += [
            f"{key} is missing" for key in ("Runtime", "Entrypoint") if _lost(key, part, ours)
        ]
    return wrong


def _lost(key: str, part: str, ours: Mapping[str, Any]) -> bool:
    return (part == "host") == (key == "Runtime") and not ours.get(key)


def digest(command: list[str], runtime: str = RUNTIME) -> str:
    """SHA-256 of the profile at the default memory, PID 1's program included."""
    asked = described(command, runtime)
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _same(key: str, asked: Any, found: Any, *, swap_limit: bool) -> bool:
    if key == "SecurityOpt":  # the engine may add its own; taking one away or "unconfined" is not
        extra = [str(item) for item in found or []]
        return set(asked) <= set(extra) and not any("unconfined" in item for item in extra)
    if key == "Ulimits":
        order = sorted(found or [], key=lambda item: str(item.get("Name")))
        return bool(order == asked)
    if key == "MemorySwap" and not swap_limit:  # the kernel counts no swap; the engine says -1
        return found in (asked, -1)
    if key == "Env":  # the image's own come first
        return set(asked) <= set(found or [])
    if key in EMPTY_HOST or key in ("Cmd", "Domainname"):
        return not found
    return bool(found == asked)


def differs(asked: Mapping[str, Any], host: Mapping[str, Any], *, swap_limit: bool) -> list[str]:
    """Where a made container's `HostConfig` is not what was asked for, a sentence each."""
    return [
        f"{key} should be {value!r} and is {host.get(key)!r}"
        for key, value in asked.items()
        if not _same(key, value, host.get(key), swap_limit=swap_limit)
    ]


def differences(
    inspected: Mapping[str, Any],
    limits: Limits,
    command: list[str],
    image: str,
    *,
    swap_limit: bool,
) -> list[str]:
    """What the engine made differently from the profile, a sentence each; empty when equal."""
    host, config = inspected.get("HostConfig") or {}, inspected.get("Config") or {}
    wrong = differs(host_options(limits), host, swap_limit=swap_limit)
    # AttachStdin and its like say how the client asked, not what the container may do.
    wrong += [
        f"{key} should be {asked!r} and is {config.get(key)!r}"
        for key, asked in container_options(command, limits.network, limits.user).items()
        if not key.startswith("Attach")
        and not (key == "Hostname" and not asked)
        and key != "NetworkDisabled"  # left out by newer engines; NetworkMode says it
        and not _same(key, asked, config.get(key), swap_limit=swap_limit)
    ]
    wrong += [f"{key} should be empty and is {host[key]!r}" for key in EMPTY_HOST if host.get(key)]
    if inspected.get("Mounts"):
        wrong.append(f"Mounts should be empty and is {inspected['Mounts']!r}")
    if config.get("Volumes"):
        wrong.append(f"Volumes should be empty and is {config['Volumes']!r}")
    if inspected.get("Image") != image:
        wrong.append(f"Image should be {image} and is {inspected.get('Image')!r}")
    return wrong
