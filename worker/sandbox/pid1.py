"""PID 1 of every sandbox: unpacks a tree, runs requests, ends every process, frames what came out.

Runs inside the container as `python3 -I -S -c <this text>`, so it is one file, standard library
only, Python 3.8 or newer. It shares its uid with hostile code; what protects it is that it is not
dumpable (no ptrace, no /proc/1/mem, no /proc/1/fd) and that the kernel drops signals to PID 1.

stdin:  u64 length, tar; u32 length, JSON list of [path, target]: links to lay below the tree; then
        requests: u32 length, JSON, the bytes of `files` one after another.
        {argv, env, workdir, timeout, cap, flood, report, report_cap, files: [[path, length]], last}
stdout: u32 length, JSON head, then the bodies that the head's `sizes` names.
        first {"ready": bool, "error": str, "full": [..]}; then one reply per request, whose
        "unread" says in one word why there is no whole report ("" where there is one).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import selectors
import signal
import stat
import struct
import subprocess  # noqa: TID251 - starting the check is this file's one job
import sys
import threading
import time
from typing import Any

WORKSPACE = "/workspace"
WRITABLE = (WORKSPACE, "/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own tmpfs mounts
PIECE = 1 << 16
PR_SET_DUMPABLE = 4
COVER_CAP = 64 << 20
WALK_CAP = 20_000  # files looked at to find an oversized one
LAY_CAP = 50_000  # links laid into folders that the tree has, too
LOCALE = "LC_ALL"  # of this program and of tar; a check gets the image's
LOOK_EVERY = 0.1  # seconds between looks at what the kernel counts
LAST_WORDS = 1.0  # seconds for a check that met the limit of processes to say what it was doing
REFUSALS = {
    errno.ENOENT: "missing",
    errno.ENOTDIR: "way",  # also of a link, where a folder is asked for
    errno.ELOOP: "way",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
}
KINDS = ((stat.S_ISLNK, "link"), (stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"))
EOF_EXIT = 120  # the service went away: nobody reads an answer any more


def receive(count: int) -> bytes:
    """Exactly `count` bytes of stdin; the container ends when the service is gone."""
    kept = bytearray()
    while len(kept) < count:
        piece = os.read(0, min(count - len(kept), 1 << 20))
        if not piece:
            os._exit(EOF_EXIT)
        kept += piece
    return bytes(kept)


def send(head: dict[str, Any], *bodies: bytes) -> None:
    head["sizes"] = [len(body) for body in bodies]
    text = json.dumps(head).encode()
    rest = memoryview(struct.pack(">I", len(text)) + text + b"".join(bodies))
    while rest:
        rest = rest[os.write(1, rest) :]


class Stream:
    """A capped stream: its first and last bytes are kept, what lies between is only counted."""

    def __init__(self, cap: int) -> None:
        self.seen = 0
        self.room = cap // 2
        self.keep = cap - cap // 2
        self.head = bytearray()
        self.tail = bytearray()

    def feed(self, piece: bytes) -> None:
        self.seen += len(piece)
        taken = piece[: self.room - len(self.head)]
        self.head += taken
        self.tail += piece[len(taken) :]
        if len(self.tail) > self.keep + PIECE:
            del self.tail[: len(self.tail) - self.keep]

    def text(self) -> bytes:
        tail = bytes(self.tail[-self.keep :])
        gap = self.seen - len(self.head) - len(tail)
        if not gap:
            return bytes(self.head) + tail
        return b"%b\n[... %d bytes left out ...]\n%b" % (bytes(self.head), gap, tail)


def counter(paths: tuple[str, ...], key: str) -> int:
    """A counter of this container's cgroup (version 1 or 2); 0 where it cannot be read."""
    for path in paths:
        with contextlib.suppress(OSError, ValueError, IndexError), open(path) as lines:  # noqa: PTH123
            for line in lines:
                fields = line.split()
                if fields[0] == key:
                    return int(fields[1])
    return 0


def kills() -> int:
    return counter(
        ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"), "oom_kill"
    )


def refused_forks() -> int:
    return counter(("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events"), "max")


def full() -> list[Any]:
    """["disk", bytes] or ["inodes", files] of a writable mount without room, else [] ."""
    for mount in WRITABLE:
        with contextlib.suppress(OSError):
            room = os.statvfs(mount)
            if room.f_blocks and room.f_bavail == 0:
                return ["disk", room.f_blocks * room.f_frsize]
            if room.f_files and room.f_favail == 0:
                return ["inodes", room.f_files]
    return []


def oversized(limit: int) -> bool:
    """Whether a file stopped growing at the limit: programs that ignore the signal see an error.

    Level by level and counted: how deep and how wide a tree is, its maker decides. What no path is
    short enough for is not looked at."""
    for mount in WRITABLE:
        with contextlib.suppress(OSError):
            room = os.statvfs(mount)
            if (room.f_blocks - room.f_bfree) * room.f_frsize < limit:
                continue
            if _holds_size(mount, limit):
                return True
    return False


def _holds_size(mount: str, size: int) -> bool:
    looked, level = 0, [mount]
    while level:
        below: list[str] = []
        for place in level:
            with contextlib.suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    looked += 1
                    if looked > WALK_CAP:
                        return False
                    with contextlib.suppress(OSError):
                        if entry.is_dir(follow_symlinks=False):
                            below.append(entry.path)
                        elif entry.stat(follow_symlinks=False).st_size == size:
                            return True
        level = below
    return False


def end_all() -> None:
    """Kill every other process of this pid namespace; nobody is left to refuse."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def sweep() -> None:
    """Kill and reap until PID 1 is alone."""
    while True:
        end_all()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def folder(parts: list[str], make: bool) -> int:
    """A descriptor of a folder below the workspace; links on the way are refused."""
    here = os.open(WORKSPACE, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            below = os.open(part, flags, dir_fd=here)
            os.close(here)
            here = below
    except OSError:
        os.close(here)
        raise
    return here


def read_file(path: str, cap: int) -> bytes | None:
    """At most `cap` + 1 bytes of a regular file below the workspace, None for anything else."""
    parts = path.split("/")
    try:
        here = folder(parts[:-1], False)
    except OSError:
        return None
    try:
        fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
    except OSError:
        return None
    finally:
        os.close(here)
    kept = bytearray()
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        while len(kept) <= cap:
            piece = os.read(fd, min(cap + 1 - len(kept), 1 << 20))
            if not piece:
                break
            kept += piece
    except OSError:
        return None
    finally:
        os.close(fd)
    return bytes(kept)


def unread(path: str, data: bytes | None, cap: int) -> tuple[str, int]:
    """(why a report was not read or not whole, its size): one word of the protocol, "" for a file
    that was. Asked when nothing runs any more that could change what lies there."""
    if data is not None and len(data) <= cap:
        return "", len(data)
    parts = path.split("/")
    try:
        here = folder(parts[:-1], False)
        try:
            found = os.stat(parts[-1], dir_fd=here, follow_symlinks=False)
        finally:
            os.close(here)
    except OSError as error:
        return REFUSALS.get(error.errno or 0, ""), 0
    for told, word in KINDS:
        if told(found.st_mode):
            return word, 0
    if not stat.S_ISREG(found.st_mode):
        return "special", 0
    return ("denied" if data is None else "large"), found.st_size


def drop_file(path: str) -> None:
    """Remove what lies at a path, unless it is a folder or not reachable without links."""
    parts = path.split("/")
    with contextlib.suppress(OSError):
        here = folder(parts[:-1], False)
        try:
            os.unlink(parts[-1], dir_fd=here)
        finally:
            os.close(here)


def write_file(path: str, data: bytes, mode: int, moment: int) -> None:
    """A new regular file in place of whatever was there; `moment` is its modification time."""
    drop_file(path)
    parts = path.split("/")
    here = folder(parts[:-1], True)
    try:
        fd = os.open(parts[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, dir_fd=here)
    finally:
        os.close(here)
    with os.fdopen(fd, "wb") as target:
        target.write(data)
        target.flush()
        os.fchmod(fd, mode)
        os.utime(fd, (moment, moment))


class Overlay:
    """Files laid over the workspace for one run; what they covered comes back afterwards."""

    def __init__(self) -> None:
        self.covered: list[tuple[str, bytes | None, int, int]] = []

    def lay(self, path: str, data: bytes, moment: int) -> None:
        """`moment` differs from run to run: equal size and time would revive stale bytecode."""
        old, mode, changed = read_file(path, COVER_CAP), 0o644, 0
        if old is not None and len(old) > COVER_CAP:
            raise OSError(f"{path} is too large to be laid over")
        if old is not None:
            info = os.stat(WORKSPACE + "/" + path, follow_symlinks=False)  # noqa: PTH116
            mode, changed = stat.S_IMODE(info.st_mode), int(info.st_mtime)
        write_file(path, data, mode, moment)
        self.covered.append((path, old, mode, changed))

    def lift(self) -> None:
        for path, old, mode, changed in reversed(self.covered):
            drop_file(path)
            if old is not None:
                with contextlib.suppress(OSError):
                    write_file(path, old, mode, changed)
        self.covered.clear()


# Image and profile set it; the one word that is for this program alone is taken out.
CHECKS_OWN = {name: value for name, value in os.environ.items() if name != LOCALE}  # noqa: TID251


class Running:
    """One child with its two capped streams, watched until it ends, floods or runs out of time."""

    def __init__(self, ask: dict[str, Any], deaths: int) -> None:
        self.flood, self.flooded, self.timed = int(ask["flood"]), False, False
        self.full: list[Any] = []
        self.end = time.monotonic() + float(ask["timeout"])
        self.forks, self.look = refused_forks(), 0.0
        self.child = subprocess.Popen(  # noqa: S603 - running what it is told is its job
            ask["argv"],
            cwd=WORKSPACE + "/" + ask["workdir"],
            env={**CHECKS_OWN, **ask["env"]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.watch = selectors.DefaultSelector()
        self.streams: list[Stream] = []
        for pipe in (self.child.stdout, self.child.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self.streams.append(Stream(int(ask["cap"])))
            self.watch.register(pipe, selectors.EVENT_READ, self.streams[-1])
        self.open = len(self.streams)
        # Nothing is sent while a check runs: readable here means that the service is gone.
        self.watch.register(0, selectors.EVENT_READ, None)
        self.watch.register(deaths, selectors.EVENT_READ, None)
        self.deaths = deaths

    def pump(self, wait: float) -> bool:
        """Read what is there; True when something was."""
        moved = False
        for key, _ in self.watch.select(wait):
            if key.fd == self.deaths:
                os.read(key.fd, PIECE)
                continue
            if key.data is None:
                os._exit(EOF_EXIT)
            try:
                piece = os.read(key.fd, PIECE)
            except BlockingIOError:
                continue
            moved = True
            if piece:
                key.data.feed(piece)
            else:
                self.watch.unregister(key.fileobj)
                self.open -= 1
        return moved

    def status(self) -> int | None:
        """Reap whoever ended; the child's exit code (negative: signal) once it is among them."""
        code = None
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, state = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                if pid == self.child.pid:
                    code = os.WEXITSTATUS(state) if os.WIFEXITED(state) else -os.WTERMSIG(state)
        return code

    def watch_limits(self) -> None:
        self.full = self.full or full()
        now = time.monotonic()
        if now > self.look:
            self.look = now + LOOK_EVERY
            if refused_forks() > self.forks:  # what it ends with matters no more
                self.end = min(self.end, now + LAST_WORDS)
        if not self.timed and not self.flooded:
            self.timed = time.monotonic() > self.end
            self.flooded = sum(stream.seen for stream in self.streams) > self.flood
        if self.timed or self.flooded:
            end_all()

    def finish(self) -> int:
        """Wait for the child, end whatever it left behind, and drain the pipes."""
        wait, code = 0.001, None
        while code is None:
            self.pump(wait)
            wait = min(wait * 2, 0.02)
            self.watch_limits()
            code = self.status()
        self.child.returncode = code
        sweep()
        while self.open and self.pump(0):
            pass
        self.watch.close()
        for pipe in (self.child.stdout, self.child.stderr):
            assert pipe is not None
            pipe.close()
        return code


def wake_at_deaths() -> int:
    """A descriptor that gets readable when a child ends, so that nobody waits for the clock."""
    heard, told = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(told, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler nothing is written
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    return heard


def run(ask: dict[str, Any], deaths: int) -> tuple[dict[str, Any], list[bytes]]:
    """One request. `code` is None when the command could not be started; `error` says why."""
    began, memory, forks = time.monotonic(), kills(), refused_forks()
    if ask["report"]:
        drop_file(ask["report"])
    try:
        running = Running(ask, deaths)
    except (OSError, ValueError) as error:
        sweep()
        return {"code": None, "error": f"could not start {ask['argv'][0]!r}: {error}"}, []
    code = running.finish()
    cap, why = int(ask["report_cap"]), ("", 0)
    report = read_file(ask["report"], cap) if ask["report"] else None
    if ask["report"]:
        why = unread(ask["report"], report, cap)
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    grown = False
    # The check is over and has an ending; nothing that it left behind may take that from it.
    with contextlib.suppress(MemoryError, RecursionError, ValueError):
        grown = code != 0 and largest > 0 and oversized(largest)
    head = {
        "code": code,
        "error": "",
        "ms": round((time.monotonic() - began) * 1000),
        "timed": running.timed,
        "flooded": running.flooded,
        "full": running.full or full(),
        "largest": largest,
        "oversized": grown,
        "oom": kills() - memory,
        "forks": refused_forks() - forks,
        "seen": [stream.seen for stream in running.streams],
        "report": report is not None,
        "unread": why[0],
        "report_size": why[1],
    }
    return head, [*(stream.text() for stream in running.streams), report or b""]


def serve_one(count: int, deaths: int) -> None:
    """Read a request, lay its files, run it, restore, answer; ends the container after the last."""
    ask = json.loads(receive(struct.unpack(">I", receive(4))[0]))
    files = [(path, receive(size)) for path, size in ask["files"]]
    overlay = Overlay()
    try:
        try:
            for path, data in files:
                overlay.lay(path, data, 1_000_000_000 + count)
        except OSError as error:
            head: dict[str, Any] = {"code": None, "error": f"could not lay a file: {error}"}
            bodies: list[bytes] = []
            head["full"] = full()
        else:
            head, bodies = run(ask, deaths)
    finally:
        overlay.lift()
    if ask["report"]:
        drop_file(ask["report"])
    send(head, *bodies)
    if ask["last"]:
        code = head["code"]
        os._exit(127 if code is None else code if code >= 0 else 128 - code)


def drained(source: Any, said: Stream) -> None:
    """Read to the end: who complains about 100,000 files must not wait for a reader."""
    while True:
        piece = os.read(source.fileno(), PIECE)
        if not piece:
            return
        said.feed(piece)


def untar() -> tuple[int, str]:
    """The tree into the workspace, as the sandbox's own user; tar's ending and its words."""
    left = struct.unpack(">Q", receive(8))[0]
    tar = subprocess.Popen(  # noqa: S603 - fixed words
        ["tar", "-xpf", "-", "-C", WORKSPACE],  # noqa: S607 - the image's own
        # Of the image's variables none but the path: some of them are options of tar.
        env={"PATH": os.environ.get("PATH", os.defpath), LOCALE: "C"},  # noqa: TID251
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert tar.stdin is not None and tar.stderr is not None
    said = Stream(4096)
    reader = threading.Thread(target=drained, args=(tar.stderr, said), daemon=True)
    reader.start()
    while left:
        piece = receive(min(left, 1 << 20))
        left -= len(piece)
        with contextlib.suppress(BrokenPipeError):
            tar.stdin.write(piece)
    with contextlib.suppress(BrokenPipeError):
        tar.stdin.close()
    reader.join()
    return tar.wait(), said.text().decode("utf-8", "replace")


def lay_links(links: list[list[str]]) -> str:
    """Links to what set-up made; "" or why one has no place.

    A folder that the tree has, too, keeps all that is the tree's own and gets a link for each
    further entry, level by level. Anything else of the tree at that place is an error: neither
    may hide the other without a word."""
    laid = 0
    for path, target in links:
        parts = path.split("/")
        try:
            os.close(folder(parts[:-1], True))
        except OSError as error:
            return f"set-up's {path} has no place in the tree: {error.strerror}"
        pairs = [(WORKSPACE + "/" + path, target)]
        while pairs:
            place, aim = pairs.pop()
            laid += 1
            if laid > LAY_CAP:
                return f"set-up's {path} and the tree's have over {LAY_CAP} entries together"
            try:
                kind = os.lstat(place).st_mode
            except FileNotFoundError:
                os.symlink(aim, place)  # noqa: PTH211
                continue
            if stat.S_ISDIR(kind) and os.path.isdir(aim):  # noqa: PTH112
                pairs += [(place + "/" + name, aim + "/" + name) for name in os.listdir(aim)]  # noqa: PTH208
            elif place == WORKSPACE + "/" + path:
                return f"{path} is a file or a link in the tree, where set-up made a folder"
    return ""


def unpack() -> None:
    """The tree, then set-up's links; says whether both are there."""
    code, words = untar()
    links = json.loads(receive(struct.unpack(">I", receive(4))[0]))
    error = "" if code == 0 else f"tar ended with {code}: {words}"
    if not error:
        try:
            error = lay_links(links)
        except OSError as wrong:
            error = f"set-up's folders cannot be laid: {wrong}"
    room = os.statvfs("/")
    send(
        {
            "ready": not error,
            "error": error,
            "full": full(),
            "oversized": code == -signal.SIGXFSZ,
            "free": room.f_bavail * room.f_frsize,  # of the disk that holds the engine's images
        }
    )


def main() -> None:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 or os.getpid() != 1:
        sys.exit(119)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the kernel drops default signals of PID 1
    unpack()
    count, deaths = 0, wake_at_deaths()
    while True:
        count += 1
        serve_one(count, deaths)


if __name__ == "__main__":
    main()
