"""What of a set-up's changes concerns PID 1, and where the loader's cache leads."""

from __future__ import annotations

import struct
import tarfile

import pytest

from worker.sandbox.ground import MAGIC, Change, Found, Ground, leads, same

LIB = "/usr/lib/python3.11"
GROUND = Ground(
    exact=frozenset({"/usr", "/usr/bin", "/usr/bin/python3.11", "/etc/ld.so.cache", LIB}),
    stdlib=(LIB, f"{LIB}/lib-dynload"),
    imported=frozenset({f"{LIB}/json", f"{LIB}/selectors", f"{LIB}/lib-dynload/_json"}),
    libraries=("/usr/lib",),
    sonames=frozenset({"libc.so.6"}),
    beside=("/usr/bin/lib",),
)


@pytest.mark.parametrize(
    ("path", "kind", "suspect"),
    [
        ("/usr/bin/python3.11", 0, True),
        ("/usr/bin/pip", 1, False),
        ("/usr/bin/lib/python3.11/os.py", 1, True),
        (f"{LIB}/selectors.cpython-311-x86_64-linux-gnu.so", 1, True),
        (f"{LIB}/selectors/__init__.py", 1, True),
        (f"{LIB}/__pycache__/selectors.cpython-311.pyc", 1, True),
        (f"{LIB}/json/more.py", 1, True),
        (f"{LIB}/lib-dynload/_tkinter.cpython-311-x86_64-linux-gnu.so", 1, False),
        (f"{LIB}/lib-dynload/_json.so", 1, True),
        (f"{LIB}/distutils/core.py", 1, False),
        (f"{LIB}/smtplib.py", 0, True),
        (f"{LIB}/test/x.py", 2, False),
        (f"{LIB}/json/decoder.py", 2, True),
        (f"{LIB}/site-packages/json/x.py", 1, False),
        ("/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libc.so.6", 1, True),
        ("/usr/lib/python3/dist-packages/a.libs/libc.so.6", 1, False),
        ("/opt/x/libc.so.6", 1, False),
    ],
)
def test_what_could_matter_to_pid_1_is_looked_at(path: str, kind: int, suspect: bool) -> None:
    assert bool(GROUND.suspects([Change(path, kind)])) is suspect


def cache(*entries: tuple[str, str]) -> bytes:
    names = b"".join(f"{key}\0{value}\0".encode() for key, value in entries)
    start, table = 48 + 24 * len(entries), b""
    for key, value in entries:
        table += struct.pack("=iIIIQ", 0x0303, start, start + len(key) + 1, 0, 0)
        start += len(key) + len(value) + 2
    return MAGIC + struct.pack("=I", len(entries)) + bytes(24) + table + names


def found(data: bytes) -> Found:
    return Found(tarfile.REGTYPE, "", 0o644, (0, 0), data.hex(), data)


OWN = ("libc.so.6", "/lib/libc.so.6")


@pytest.mark.parametrize(
    ("entries", "equal"),
    [
        ((OWN, ("libmine.so.1", "/opt/libmine.so.1")), True),
        ((("libmine.so.1", "/opt/libmine.so.1"),), True),  # the usual folders are looked at by name
        ((("libc.so.6", "/opt/libc.so.6"), OWN), False),
        ((OWN, ("libc.so.06", "/opt/libc.so.6")), False),  # equal to the loader
    ],
)
def test_a_loaders_cache_may_grow_but_not_lead_elsewhere(
    entries: tuple[tuple[str, str], ...], equal: bool
) -> None:
    before, after = found(cache(OWN)), found(cache(*entries))
    assert same("/etc/ld.so.cache", before, after, GROUND) is equal


def test_a_cache_that_cannot_be_read_is_another_one() -> None:
    for broken in (b"ld.so-1.7.0\0" + cache(OWN), cache(OWN)[:60], cache(OWN)[:-1]):
        with pytest.raises(ValueError, match="cache"):
            leads(broken, {"libc.so.6"})
        assert not same("/etc/ld.so.cache", found(cache(OWN)), found(broken), GROUND)


def test_a_folder_stays_a_folder() -> None:
    folder = Found(tarfile.DIRTYPE, "", 0, (0, 0), "")
    link = Found(tarfile.SYMTYPE, "/opt/x", 0o777, (0, 0), "")
    assert same("/usr/bin", folder, folder, GROUND)
    assert same("/usr/local/sbin", None, folder, GROUND)
    assert not same("/usr/bin", folder, link, GROUND)
    assert not same("/usr/bin", folder, None, GROUND)
