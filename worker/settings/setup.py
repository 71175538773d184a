"""The operator's settings for set-ups, read at the sandbox's door."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from worker.settings.door import Door
from worker.settings.usual import DAY, MIBS


@dataclass(frozen=True)
class SetupSettings:
    """`hosts` besides the usual registries, `certificates` as PEM bytes, `environment` for the
    builder alone; names may lead into `networks`; `memory` and `disk` in bytes; `runtime` is who
    runs builders, "" for who runs checks."""

    on: bool = True
    hosts: tuple[str, ...] = ()
    certificates: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    shared: bool = False
    seconds: int = 1800
    memory: int = 4 << 30
    disk: int = 8 << 30
    networks: tuple[str, ...] = ()
    runtime: str = ""


def setup_settings(door: Door) -> SetupSettings:
    """What is wrong is added to the door's list."""
    return SetupSettings(
        on=door.flag("PATCHWARRANT_SETUP", default=True),
        hosts=tuple(door.text("PATCHWARRANT_SETUP_HOSTS", "").replace(",", " ").split()),
        certificates=_pem(door),
        environment=_pairs(door),
        shared=door.flag("PATCHWARRANT_SETUP_SHARED", default=False),
        seconds=door.whole("PATCHWARRANT_SETUP_SECONDS", 1800, most=DAY),
        memory=door.whole("PATCHWARRANT_SETUP_MEMORY_MIB", 4096, least=64, most=MIBS) << 20,
        disk=door.whole("PATCHWARRANT_SETUP_DISK_MIB", 8192, most=MIBS) << 20,
        networks=tuple(door.text("PATCHWARRANT_SETUP_NETWORKS", "").replace(",", " ").split()),
        runtime=door.text("PATCHWARRANT_SETUP_RUNTIME", ""),
    )


def _pem(door: Door) -> bytes:
    name = "PATCHWARRANT_SETUP_CERTIFICATES"
    path = door.text(name, "")
    if not path:
        return b""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        door.missing.append(f"{name}: {path} cannot be read: {error}")
        return b""
    if b"-----BEGIN CERTIFICATE-----" not in data:
        door.missing.append(f"{name}: {path} holds no certificate in PEM form")
    return data


def _pairs(door: Door) -> dict[str, str]:
    """`NAME=value` words, quoted as a shell would."""
    name = "PATCHWARRANT_SETUP_ENV"
    found: dict[str, str] = {}
    try:
        words = shlex.split(door.text(name, ""))
    except ValueError as error:
        door.missing.append(f"{name}: {error}")
        return found
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.isidentifier():
            door.missing.append(f"{name}: NAME=value words are wanted, not {word!r}")
        found[key] = value
    return found
