"""Runs in an image before a set-up and tells which of its files PID 1 needs, as one JSON object.

Given as argument text, with PID 1's own text as argument: one file, standard library only, Python
3.8 or newer. The answer is the file `ground` of the workspace; its shape is `ground.Ground`.
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251 - tar has to run to be looked at
import sys
import tarfile

PROGRAMS = ("python3", "tar")
CONFIGURED = ("pyvenv.cfg", "pybuilddir.txt", "python._pth", "python3._pth")
LOADER = ("/etc/ld.so.cache", "/etc/ld.so.preload")


def walked(path: str, exact: set[str]) -> str:
    """Every step to a path, links followed and noted; where it ends, also when nothing is there."""
    rest, here, hops = [part for part in path.split("/") if part], "", 0
    while rest:
        part = rest.pop(0)
        if part == "..":
            here = here.rpartition("/")[0]
            continue
        if part == ".":
            continue
        step = here + "/" + part
        exact.add(step)
        if os.path.islink(step) and hops < 40:  # noqa: PTH114
            hops += 1
            aim = os.readlink(step)  # noqa: PTH115
            here = "" if aim.startswith("/") else here
            rest = [one for one in aim.split("/") if one] + rest
        else:
            here = step
    return here


def mapped(pid: str) -> set[str]:
    """Files whose code a process runs."""
    found = set()
    with open("/proc/" + pid + "/maps") as lines:  # noqa: PTH123
        for line in lines:
            fields = line.split(None, 5)
            if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
                found.add(fields[5].strip())
    return found


def running_tar() -> set[str]:
    """The code of a tar in the midst of its work: it has read more than a pipe holds."""
    member = tarfile.TarInfo("footing")
    member.size = 1 << 20
    words = ["tar", "-xpf", "-", "-C", "/workspace"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, bufsize=0) as tar:  # noqa: S603
        assert tar.stdin is not None
        for piece in (member.tobuf(), *[bytes(1 << 16)] * 4):
            tar.stdin.write(piece)
        found = mapped(str(tar.pid))
        tar.kill()
    return found


def programs(exact: set[str]) -> None:
    """What is found on the path, and the places where it would be found before."""
    for program in PROGRAMS:
        for place in os.environ.get("PATH", os.defpath).split(":"):  # noqa: TID251
            path = place.rstrip("/") + "/" + program
            walked(path, exact)
            if os.access(path, os.X_OK):
                break


def loaded(exact: set[str]) -> tuple[set[str], set[str]]:
    """(folders that the loader looks in, names that it looks for there)."""
    folders, names = set(), set()
    for path in mapped("self") | running_tar():
        ends = walked(path, exact)
        if ".so" not in os.path.basename(ends):  # noqa: PTH119
            continue
        home = os.path.dirname(ends)  # noqa: PTH120
        folders.add(home)
        for name in os.listdir(home):  # noqa: PTH208
            if os.path.realpath(home + "/" + name) == ends:
                names.add(name)
                walked(home + "/" + name, exact)
    for start in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"):
        if os.path.isdir(start):  # noqa: PTH112
            folders.add(walked(start, exact))
    for path in (*LOADER, "/etc/ld-musl-" + os.uname().machine + ".path"):
        walked(path, exact)
    return folders, names


def modules(exact: set[str]) -> set[str]:
    found = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not file:
            continue
        home, name = os.path.split(walked(file, exact))
        if name.startswith("__init__."):
            home, name = os.path.split(home)
        found.add(home + "/" + name.partition(".")[0])
    return found


def main() -> None:
    exec(compile(sys.argv[1], "pid1", "exec"), {"__name__": "measured"})  # noqa: S102
    exact: set[str] = set()
    programs(exact)
    libraries, sonames = loaded(exact)
    folders = {os.path.dirname(path) for path in (sys.executable, os.path.realpath(sys.executable))}  # noqa: PTH120
    for folder in folders:
        for name in CONFIGURED:
            walked(folder + "/" + name, exact)
        walked(os.path.dirname(folder) + "/pyvenv.cfg", exact)  # noqa: PTH120
    ends = {walked(path, exact) for path in sys.path}
    told = {
        "exact": sorted(exact),
        "stdlib": sorted(end for end in ends if os.path.isdir(end)),  # noqa: PTH112
        "imported": sorted(modules(exact)),
        "libraries": sorted(libraries),
        "sonames": sorted(sonames),
        "beside": sorted(folder + "/" + name for folder in folders for name in ("lib", "lib64")),
    }
    with open("ground", "w") as out:  # noqa: PTH123
        json.dump(told, out)


if __name__ == "__main__":
    main()
