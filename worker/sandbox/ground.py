"""What PID 1 stands on, compared between the image before a set-up and the one it would make.

A set-up runs as root and may write anywhere; whoever exchanges the interpreter, the loader or tar
could let PID 1 tell other exit codes. What counts is measured in a container of the image before,
by that image's own programs; what changed and how is the engine's word, from the stopped builder.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import tarfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import PurePosixPath

import msgspec

from app.domain.errors import Missing, Refused, Unavailable
from app.domain.ports.sandbox import Job
from worker.sandbox.cell import Maker, Tree, certify
from worker.sandbox.engine import Engine, faults
from worker.sandbox.protocol import command
from worker.sandbox.setup_engine import Builder

MEMORY = 256 << 20
SECONDS = 60
REPORT_CAP = 1 << 20
CHANGES_CAP = 64 << 20  # bytes of the engine's list of changed files
FILE_CAP = 256 << 20
SUSPECTS_MOST = 1000
SHOWN = 3
ADDED, DELETED = 1, 2  # kinds of a change, as the engine counts them
CACHE = "/etc/ld.so.cache"
MAGIC = b"glibc-ld.so.cache1.1"
HEADER, ENTRY = 48, 24  # bytes, of the loader's cache
FOREIGN = ("site-packages", "dist-packages")  # PID 1 runs with -S: it never looks there
EMPTY_TAR = bytes(10240)


class Change(msgspec.Struct, frozen=True):
    """One line of the engine's list: a path of the image, and whether it was added or deleted."""

    Path: str
    Kind: int


class Ground(msgspec.Struct, frozen=True):
    """Measured in an image: `exact` paths, links and absent ones on the way included; `imported`
    names (folder/module) below `stdlib`; `sonames` that the loader looks for in `libraries`;
    `beside`, folders where the interpreter would first look for its library."""

    exact: frozenset[str]
    stdlib: tuple[str, ...]
    imported: frozenset[str]
    libraries: tuple[str, ...]
    sonames: frozenset[str]
    beside: tuple[str, ...]

    def suspects(self, changes: Iterable[Change]) -> list[str]:
        """The changed paths that could matter; whether they do, their content says."""
        return [one.Path for one in changes if self._touches(one.Path, one.Kind)]

    def _touches(self, path: str, kind: int) -> bool:
        if path in self.exact or any(_below(path, one) for one in self.beside):
            return True
        if PurePosixPath(path).name in self.sonames:
            return any(_below(path, one) for one in self.libraries) and not _foreign(path)
        return any(self._shadows(path, kind, one) for one in self.stdlib if _below(path, one))

    def _shadows(self, path: str, kind: int, library: str) -> bool:
        if _foreign(path):
            return False
        here = library
        for part in path[len(library) + 1 :].split("/"):
            if part == "__pycache__":
                continue
            if f"{here}/{part.partition('.')[0]}" in self.imported:
                return True
            here = f"{here}/{part}"
        return kind not in (ADDED, DELETED)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _foreign(path: str) -> bool:
    return any(f"/{name}/" in path for name in FOREIGN)


@dataclass(frozen=True)
class Found:
    """What lies at a path: the kind of a tar's member, its link, mode, owner and bytes."""

    kind: bytes
    link: str
    mode: int
    owner: tuple[int, int]
    digest: str
    data: bytes = b""


@dataclass
class Grounds:
    """Grounds by image, each measured once."""

    maker: Maker
    known: dict[str, Ground] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def shaken(self, base: str, made: Builder) -> str:
        """What an ended builder of `base` changed below PID 1, as a sentence; "" for nothing.

        Raises `Unavailable`, `Refused`."""
        ground = self.of(base)
        try:
            suspects = ground.suspects(changed(made))
        except Refused as error:
            return str(error)
        if not suspects:
            return ""
        if len(suspects) > SUSPECTS_MOST:
            return _sentence(suspects)
        engine = self.maker.engine
        before = self.maker.still(base)
        try:
            wrong = [
                path
                for path in suspects
                if not same(path, at(engine, before, path), at(engine, made.id, path), ground)
            ]
        finally:
            engine.remove(before)
        return _sentence(wrong) if wrong else ""

    def of(self, image: str) -> Ground:
        """Raises `Unavailable` where it cannot be measured."""
        with self.lock:
            known = self.known.get(image)
        if known is None:
            known = measured(self.maker, image)
            with self.lock:
                self.known[image] = known
        return known


def measured(maker: Maker, image: str) -> Ground:
    text = resources.files("worker.sandbox").joinpath("footing.py").read_text(encoding="utf-8")
    program = command()
    argv = (*program[:-1], text, program[-1])
    job = Job(argv, {}, "", "ground", SECONDS, report_cap=REPORT_CAP, memory=MEMORY, name="ground")
    tree = Tree(io.BytesIO(EMPTY_TAR), len(EMPTY_TAR))
    found = certify(maker, "ground", image, job, tree, lambda: False)
    try:
        return msgspec.json.decode(found.report or b"", type=Ground)
    except msgspec.DecodeError:
        said = (found.error or found.stderr.decode("utf-8", "replace"))[-500:]
        raise Unavailable(
            f"what PID 1 stands on could not be measured in {image}: {said}"
        ) from None


def changed(made: Builder) -> list[Change]:
    """What a builder changed in its image, by the engine. Raises `Refused` for too long a list."""
    with faults("asking what a set-up changed"), made.engine._slow() as api:
        url = api._url("/containers/{0}/changes", made.id)
        told = bytearray()
        with api.get(url, stream=True, timeout=600) as answer:
            api._raise_for_status(answer)
            for piece in answer.iter_content(1 << 20):
                told += piece
                if len(told) > CHANGES_CAP:
                    raise Refused(
                        f"it changed too many files to be looked through (their names alone are "
                        f"over {CHANGES_CAP >> 20} MiB)"
                    )
    return msgspec.json.decode(bytes(told), type=list[Change] | None) or []


def at(engine: Engine, container: str, path: str) -> Found | None:
    """What lies at a path of a container that does not run; None for nothing."""
    try:
        with faults("reading a set-up's file"):
            pieces, told = engine._api().get_archive(container, path, chunk_size=1 << 20)
    except Missing:
        return None
    if int(told.get("mode", 0)) & (1 << 31):  # a folder: whether it is one is all that matters
        pieces.close()
        return Found(tarfile.DIRTYPE, "", 0, (0, 0), "")
    if int(told.get("size", 0)) > FILE_CAP:
        pieces.close()
        return Found(b"?", "", 0, (0, 0), f"{told['size']} bytes")
    kept = io.BytesIO()
    with faults("reading a set-up's file"):
        for piece in pieces:
            kept.write(piece)
    kept.seek(0)
    with tarfile.open(fileobj=kept) as tar:
        entry = tar.next()
        if entry is None:
            return None
        source = tar.extractfile(entry) if entry.isreg() else None
        data = source.read() if source else b""
    return Found(
        entry.type,
        entry.linkname,
        entry.mode,
        (entry.uid, entry.gid),
        hashlib.sha256(data).hexdigest(),
        data if path == CACHE else b"",
    )


def same(path: str, before: Found | None, after: Found | None, ground: Ground) -> bool:
    """Whether a changed path still means the same to PID 1."""
    folder = after is not None and after.kind == tarfile.DIRTYPE
    if folder:  # what is in it was looked at by name
        return before is None or before == after
    if path == CACHE and before is not None and after is not None:
        wanted = {_plain(name) for name in ground.sonames}
        try:
            return leads(after.data, wanted) <= leads(before.data, wanted)
        except ValueError:
            return before == after
    return before == after


def leads(cache: bytes, wanted: set[str]) -> set[tuple[object, ...]]:
    """Where the loader's cache leads for some libraries; every entry, not only those that a search
    would meet. Raises `ValueError` for another format."""
    if not cache.startswith(MAGIC) or len(cache) < HEADER:
        raise ValueError("not the loader's cache as it is known here")
    count = struct.unpack_from("=I", cache, len(MAGIC))[0]
    if HEADER + count * ENTRY > len(cache):
        raise ValueError("a cache that ends early")
    found: set[tuple[object, ...]] = set()
    for number in range(count):
        flags, key, value, version, features = struct.unpack_from(
            "=iIIIQ", cache, HEADER + number * ENTRY
        )
        name = _text(cache, key)
        if _plain(name) in wanted:
            found.add((name, _text(cache, value), flags, version, features))
    return found


def _text(cache: bytes, start: int) -> str:
    end = cache.find(b"\0", start)
    if start < HEADER or end < 0:
        raise ValueError("a name outside of the cache")
    return cache[start:end].decode("latin-1")


def _plain(name: str) -> str:
    """The loader compares runs of digits by their number."""
    return re.sub(r"0*(\d+)", r"\1", name)


def _sentence(paths: list[str]) -> str:
    shown = ", ".join(json.dumps(path) for path in paths[:SHOWN])
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return (
        f"it changed {shown}{more}, which the program stands on that tells a check's exit code; "
        "install other versions beside the system's (below /opt, in a virtual environment), take "
        "distribution packages through `setup: {packages: [...]}`, or use an image that has them"
    )
