"""Runs inside the builder, as root and with loopback alone: installs what a plan says.

Standard library only; the image's own python3 reads it from its command line. The network is one
unix socket, behind which the allow-list proxy decides. What this program prints is the set-up's
log; lines that begin with MARK are for the service.

files: IN/plan.json and IN/tree/... before the start; SEEN/hosts is written by the service.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess  # noqa: TID251 - running the steps is this file's one job
import sys
import threading
import time
from pathlib import Path
from typing import Any

IN = Path("/opt/.patchwarrant-setup")
SEEN = Path("/run/patchwarrant")
HOME = Path("/opt/patchwarrant")
WORKSPACE = Path("/workspace")
ROOT = Path("/")
PORT = 3128
PROXY = f"http://127.0.0.1:{PORT}"
MARK = "patchwarrant-setup:"
WAIT = 20.0  # seconds for the service to allow what the clients are set to
PIECE = 1 << 16
USER = 65534
URL = re.compile(r"https?://(?:[^/@\s'\"]*@)?([A-Za-z0-9.-]+)")
CLIENTS = {  # who tells where packages come from; the answers become the allow-list
    "python3 -m pip config list": "pip",
    'python3 -c "from pip._internal.models.index import PyPI as p; '
    "print('https://' + p.netloc, 'https://' + p.file_storage_domain)\"": "pip",
    "npm config get registry": "npm",
    "yarn config get registry": "npm",
    "yarn config get npmRegistryServer": "npm",  # of its later versions
    "go env GOPROXY": "go",
    "go env GOSUMDB | sed 's,^,https://,'": "go",
    "gem sources": "gem",
}
CACHES = ("/root/.npm", "/root/.cache", "/var/cache/apt/archives", "/var/lib/apt/lists", "/var/log")


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def joined(client: socket.socket) -> None:
    with client, socket.socket(socket.AF_UNIX) as proxy, contextlib.suppress(OSError):
        proxy.connect(str(SEEN / "proxy.sock"))
        back = threading.Thread(target=pump, args=(proxy, client), daemon=True)
        back.start()
        pump(client, proxy)
        back.join()


def reach() -> None:
    """Ends the set-up where the runtime lets no socket of the host through."""
    with socket.socket(socket.AF_UNIX) as proxy:
        try:
            proxy.connect(str(SEEN / "proxy.sock"))
        except OSError as error:
            say(f"{MARK}sealed {json.dumps(str(error))}")
            sys.exit(1)


def listen() -> None:
    server = socket.create_server(("127.0.0.1", PORT), backlog=128)

    def serve() -> None:
        while True:
            client, _ = server.accept()
            threading.Thread(target=joined, args=(client,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


def environment(plan: dict[str, Any], own: dict[str, str]) -> dict[str, str]:
    """What a command gets: the image's own, the proxy, the operator's, and `own`.

    With the plan's own variables only the steps run: they say what a client asks and what an
    interpreter loads, so nothing that decides about the allow-list may see them."""
    found = {
        **os.environ,  # noqa: TID251 - the container's own
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
        "npm_config_update_notifier": "false",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PATCHWARRANT_PIP": "--break-system-packages" if managed() else "",
        **own,
        **plan["builder_env"],
    }
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "CARGO_HTTP_PROXY"):
        found[name] = PROXY
    for name in ("no_proxy", "NO_PROXY"):
        found.pop(name, None)
    java = " ".join(
        f"-D{one}.proxyHost=127.0.0.1 -D{one}.proxyPort={PORT}" for one in ("http", "https")
    )
    found["MAVEN_OPTS"] = f"{found.get('MAVEN_OPTS', '')} {java}".strip()
    found["GRADLE_OPTS"] = java
    if plan["certificates"]:
        path = SEEN / "certificates.pem"
        for name in [
            "SSL_CERT_FILE",
            "PIP_CERT",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "NODE_EXTRA_CA_CERTS",
            "GIT_SSL_CAINFO",
            "CARGO_HTTP_CAINFO",
            "BUNDLE_SSL_CA_CERT",
            "npm_config_cafile",
        ]:
            found[name] = str(path)
    return found


def managed() -> bool:
    """Whether the distribution asks pip to keep out; in a builder nobody else owns the system."""
    return any(Path("/usr/lib").glob("python3*/EXTERNALLY-MANAGED"))


def ran(command: str, env: dict[str, str], folder: Path = WORKSPACE, quiet: bool = False) -> int:
    out = subprocess.DEVNULL if quiet else None
    return subprocess.run(  # noqa: S603 - the plan's commands, in a container made for them
        ["/bin/sh", "-euc", command],
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=out,
        check=False,
    ).returncode


def must(title: str, command: str, env: dict[str, str], folder: Path = WORKSPACE) -> None:
    say(f"== {title}")
    started = time.monotonic()
    code = ran(command, env, folder)
    how = f"ended with {code}" if code else "done"
    say(f"-- {title}: {how}, {time.monotonic() - started:.1f} s")
    if code:
        say(f"{MARK}failed {json.dumps([title, code])}")
        sys.exit(3)


def sources() -> set[str]:
    """Hosts of the distribution's packages, as the image is set up."""
    apt = Path("/etc/apt")
    files = [apt / "sources.list", *apt.glob("sources.list.d/*.list")]
    files += apt.glob("sources.list.d/*.sources")
    found: set[str] = set()
    for file in files:
        with contextlib.suppress(OSError):
            for line in file.read_text(errors="replace").splitlines():
                if not line.lstrip().startswith("#"):
                    found.update(URL.findall(line))
    return found


def clients(env: dict[str, str]) -> set[str]:
    """Hosts that the package clients are set to by the image and the operator; `env` is theirs."""
    found: set[str] = set()
    for command, kind in CLIENTS.items():
        asked = subprocess.run(  # noqa: S603 - fixed questions
            ["/bin/sh", "-c", command],
            env=env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        hosts = URL.findall(asked.stdout) if asked.returncode == 0 else []
        found.update(hosts)
        if kind == "gem":
            found.update(f"*.{host}" for host in hosts)
    return found


def allow(hosts: set[str]) -> None:
    """Ask the service to let `hosts` through and wait until it has."""
    say(f"{MARK}hosts {json.dumps(sorted(hosts))}")
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if hosts <= set((SEEN / "hosts").read_text().split()):
                return
        time.sleep(0.05)


def distribution(packages: list[str], env: dict[str, str]) -> None:
    if not packages:
        return
    options = "-o APT::Sandbox::User=root -o Acquire::Retries=2 -o Dpkg::Use-Pty=0"
    options += " -o Acquire::Languages=none -o Dpkg::Options::=--force-unsafe-io"
    options += " -o Dpkg::Options::=--path-exclude=/usr/share/doc/*"
    options += " -o Dpkg::Options::=--path-exclude=/usr/share/man/*"
    if "SSL_CERT_FILE" in env:
        options += f" -o Acquire::https::CaInfo={env['SSL_CERT_FILE']}"
    for section in range(1, 9):  # slim images lack them, and some packages link into them
        Path(f"/usr/share/man/man{section}").mkdir(parents=True, exist_ok=True)
    words = " ".join(sorted(set(packages)))
    must("distribution packages: index", f"apt-get {options} -qq update", env, ROOT)
    install = f"apt-get {options} -qq install -y --no-install-recommends {words}"
    must(f"distribution packages: {words}", install, env, ROOT)


def tools(plan: dict[str, Any], env: dict[str, str]) -> None:
    """Outside of the workspace, where the repository's files could speak to the clients."""
    missing = [one for one in plan["tools"] if ran(one["probe"], env, ROOT, quiet=True)]
    packages = [name for one in missing for name in one["packages"]] + plan["packages"]
    distribution(packages, env)
    installs = [one for one in missing if one["install"]]
    if installs:
        allow(clients(env))
    for one in installs:
        must(f"tool {one['name']}", one["install"], env, ROOT)


def keep(links: list[str]) -> None:
    """Move what the steps made for the workspace to where each check finds it."""
    place = HOME / "deps"
    for link in sorted(links, key=len, reverse=True):
        made = WORKSPACE / link
        if made.is_dir() and not made.is_symlink():
            target = place / link
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(made, target)
    for link in links:  # relative links of a package manager lead to the workspace's own packages
        top = link.partition("/")[0]
        if (place / link).exists() and "/" in link and not (place / top).exists():
            (place / top).symlink_to(WORKSPACE / top)
    outside(place, place)


def outside(place: Path, folder: Path) -> None:
    """Relative links out of the kept folders (workspace packages) lead to the workspace instead."""
    if not folder.is_dir():
        return
    for module in [*folder.glob("**/node_modules/*"), *folder.glob("**/node_modules/@*/*")]:
        if module.is_symlink() and not module.exists():
            aim = os.path.normpath(module.parent / module.readlink())
            inside = os.path.relpath(aim, place)
            if not inside.startswith(".."):
                module.unlink()
                module.symlink_to(WORKSPACE / inside)


def clean() -> None:
    """Nothing of the set-up's own stays in the image."""
    for one in WORKSPACE.iterdir():
        shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
    for cache in CACHES:
        shutil.rmtree(cache, ignore_errors=True)
        Path(cache).mkdir(parents=True, exist_ok=True)
    Path("/var/cache/apt/archives/partial").mkdir(parents=True, exist_ok=True)
    os.chown(WORKSPACE, USER, USER)


def main() -> None:
    os.umask(0o022)
    plan = json.loads((IN / "plan.json").read_bytes())
    WORKSPACE.mkdir(exist_ok=True)
    os.chown(WORKSPACE, 0, 0)
    shutil.copytree(IN / "tree", WORKSPACE, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(IN)
    HOME.mkdir(parents=True, exist_ok=True)
    reach()
    listen()
    asking, env = environment(plan, {}), environment(plan, plan["env"])
    allow(sources())
    tools(plan, asking)
    if plan["steps"]:
        allow(sources() | clients(asking))
        say(f"{MARK}steps []")
    for step in plan["steps"]:
        must(step["title"], step["run"], env, WORKSPACE / step["folder"])
    keep(plan["links"])
    clean()
    say(f"{MARK}done []")


if __name__ == "__main__":
    main()
