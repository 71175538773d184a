"""Makes the default image's root file system with debootstrap, where no registry can be reached.

Needs root on a Debian or Ubuntu machine; the mirror is the one that apt is configured with.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess  # noqa: TID251 - starting debootstrap is this file's one job
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from app.domain.errors import Refused
from worker.sandbox.profile import GROUP, USERS

SUITE = "bookworm"
LEFT_OUT = (
    "./var/cache/apt/*",
    "./var/lib/apt/lists/*",
    "./usr/share/doc/*",
    "./usr/share/man/*",
    "./usr/share/locale/*",
    "./var/log/*",
    "./dev/*",
)
CHANGES = ["USER 65534:65534", "WORKDIR /workspace"]
PIECE = 1 << 20
PROGRAMS = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def possible() -> str:
    """Why this machine cannot do it, "" when it can."""
    if os.geteuid() != 0:
        return "not root"
    missing = [name for name in ("debootstrap", "apt-get", "tar", "unshare") if not _path(name)]
    return f"{', '.join(missing)} not installed" if missing else ""


def _path(program: str) -> str:
    return shutil.which(program, path=PROGRAMS) or ""


def mirror_of(targets: str, own: str) -> tuple[str, str]:
    """(suite, mirror) out of apt's index targets, lines of `created-by|uri|codename|component`.

    Bookworm where apt knows it, else the machine's own suite. Raises `Refused`.
    """
    found: dict[str, str] = {}
    for line in targets.splitlines():
        made, uri, codename, component = [*line.split("|"), "", "", "", ""][:4]
        if made == "Packages" and component == "main" and uri.startswith(("http", "file:")):
            found.setdefault(codename, uri)
    for suite in (SUITE, own):
        if suite in found:
            return suite, found[suite]
    raise Refused(f"apt on this machine knows no mirror for {SUITE} or {own or 'its own release'}")


def _own_suite() -> str:
    for file in (Path("/etc/os-release"), Path("/usr/lib/os-release")):
        with contextlib.suppress(OSError):
            for line in file.read_text(encoding="utf-8").splitlines():
                key, _, value = line.partition("=")
                if key == "VERSION_CODENAME":
                    return value.strip('"')
    return ""


def _mirror() -> tuple[str, str]:
    shape = "$(CREATED_BY)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)"
    argv = [_path("apt-get"), "indextargets", "--format", shape]
    asked = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    return mirror_of(asked.stdout, _own_suite())


def names() -> str:
    """Lines of /etc/passwd: programs ask who they are, and each container has another user."""
    return "".join(f"sandbox{user}:x:{user}:{GROUP}::/tmp:/bin/sh\n" for user in USERS)


def _spoken(argv: Sequence[str], say: Callable[[str], None]) -> None:
    """Run a program, handing on its lines. Raises `Refused` with the last ones when it fails."""
    last: list[str] = []
    with subprocess.Popen(  # noqa: S603 - a fixed program with our own arguments
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        umask=0o022,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        try:
            for line in program.stdout:
                words = line.strip()
                last = [*last[-4:], words]
                if words.startswith(("I: ", "W: ", "E: ")):
                    say(words[3:])
        except BaseException:  # we are ending: leave nobody behind who still writes
            os.killpg(program.pid, signal.SIGKILL)
            raise
    if program.returncode != 0:
        raise Refused(f"{argv[0]} ended with {program.returncode}: {' / '.join(last)}")


@contextlib.contextmanager
def root_tar(
    packages: Sequence[str], folder: Path, say: Callable[[str], None]
) -> Iterator[Iterator[bytes]]:
    """The root file system as a stream of tar bytes; the folder for it is removed afterwards."""
    suite, mirror = _mirror()
    with tempfile.TemporaryDirectory(prefix="patchwarrant-root-", dir=folder) as made:
        root = Path(made) / "root"
        argv = [
            _path("unshare"),
            "--mount",  # whatever it mounts is gone with it: nothing foreign is ever removed
            "--",
            _path("debootstrap"),
            "--variant=minbase",
            f"--include={','.join(packages)}",
            suite,
            str(root),
            mirror,
        ]
        _spoken(argv, say)
        with (root / "etc" / "passwd").open("a", encoding="utf-8") as known:
            known.write(names())
        workspace = root / "workspace"
        workspace.mkdir()
        os.chown(workspace, 65534, 65534)
        say("packing the root file system")
        out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
        tar = [_path("tar"), "-C", str(root), "--numeric-owner", *out, "-cf", "-", "."]
        with subprocess.Popen(tar, stdout=subprocess.PIPE) as packing:  # noqa: S603
            assert packing.stdout is not None
            yield _pieces(packing.stdout)
        if packing.returncode != 0:
            raise Refused(f"packing the root file system failed with {packing.returncode}")


def _pieces(source: IO[bytes]) -> Iterator[bytes]:
    while piece := source.read(PIECE):
        yield piece
