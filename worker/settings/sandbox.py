"""The sandbox's settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from worker.settings.door import Door, listed
from worker.settings.setup import SetupSettings, setup_settings
from worker.settings.usual import DAY, MIBS, SANDBOX_SOCKET

PLACES = 4096  # containers at the same time at most
AHEAD = 64


@dataclass(frozen=True)
class SandboxSettings:
    """What the sandbox holds: the engine's address, and the way in for runners elsewhere.

    `memory` and `seconds` are ceilings of one check, `total` bytes for all together (0: four fifths
    of the machine), `concurrency` 0 is two a core. `certs` and `tls` are folders with ca.pem,
    cert.pem and key.pem: the engine's, and the sandbox's own door's."""

    socket: str
    docker_host: str
    concurrency: int
    images: tuple[str, ...]
    memory: int
    seconds: int
    certs: str = ""
    runtime: str = "runc"
    strict: bool = False
    total: int = 0
    per_run: int = 0
    per_tenant: int = 0
    ahead: int = 0
    floor: int = 0
    image_days: float = 14
    image_bytes: int = 20 << 30
    listen: str = ""
    tls: str = ""
    setup: SetupSettings = field(default_factory=SetupSettings)


def sandbox_settings(door: Door) -> SandboxSettings:
    made = SandboxSettings(
        socket=door.socket("PATCHWARRANT_SANDBOX", SANDBOX_SOCKET),
        docker_host=door.text("DOCKER_HOST", "unix:///var/run/docker.sock"),
        concurrency=door.whole("PATCHWARRANT_SANDBOXES", 0, least=0, most=PLACES),
        images=listed(door.text("PATCHWARRANT_IMAGES", "")),
        memory=door.whole("PATCHWARRANT_SANDBOX_MEMORY_MIB", 4096, least=64, most=MIBS) << 20,
        seconds=door.whole("PATCHWARRANT_SANDBOX_SECONDS", 1800, most=DAY),
        certs=door.text("DOCKER_CERT_PATH", ""),
        runtime=door.text("PATCHWARRANT_SANDBOX_RUNTIME", "runc"),
        strict=door.flag("PATCHWARRANT_SANDBOX_STRICT", default=False),
        total=door.whole("PATCHWARRANT_SANDBOX_TOTAL_MIB", 0, least=0, most=MIBS) << 20,
        per_run=door.whole("PATCHWARRANT_SANDBOXES_PER_RUN", 4, least=0, most=PLACES),
        per_tenant=door.whole("PATCHWARRANT_SANDBOXES_PER_INSTALLATION", 0, least=0, most=PLACES),
        ahead=door.whole("PATCHWARRANT_SANDBOXES_AHEAD", 2, least=0, most=AHEAD),
        floor=door.whole("PATCHWARRANT_SANDBOX_DISK_FLOOR_MIB", 2048, least=0, most=MIBS) << 20,
        image_days=door.number("PATCHWARRANT_IMAGE_DAYS", 14, most=36_500),
        image_bytes=door.whole("PATCHWARRANT_IMAGES_MIB", 20480, most=MIBS) << 20,
        setup=setup_settings(door),
        listen=door.text("PATCHWARRANT_SANDBOX_LISTEN", ""),
        tls=door.text("PATCHWARRANT_SANDBOX_TLS", ""),
    )
    door.close()
    return made
