"""list, search, read, read_log: looking at the working snapshot, allowed in every state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from app.domain.edit import GITLINK, LINK
from app.domain.errors import Missing
from app.domain.glob import match
from app.domain.paths import PathRefused, canon
from app.domain.text import printable
from worker.runner.agent.bench import Answer, Bench, refused
from worker.runner.agent.private import REFUSAL, private
from worker.runner.agent.quote import LINE_CAP, capped, named, one_line
from worker.runner.agent.talk import Log

LIST_PAGE = 500
READ_LINES = 2_000
READ_CHARS = 60_000
SEARCH_CHARS = 24_000
LOG_LINES = 300
LOG_CHARS = 16_000
_SNIFF = 8_000  # bytes in which a NUL makes a file binary


def list_files(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """One page of paths with their sizes in bytes."""
    glob, offset = arguments.get("glob", ""), arguments.get("offset", 0)
    files = bench.views.files(bench.tree)
    found = [path for path in files if _matches(glob, path)]
    if not found:
        return Answer(f"No file matches {glob!r}; the snapshot has {len(files)} files.")
    if not 0 <= offset < len(found):
        return refused(f"list: `offset` is to be from 0 to {len(found) - 1}.")
    page = found[offset : offset + LIST_PAGE]
    lines = [f"{files[p].size:>9}  {named(p)}{_kind(files[p].mode)}" for p in page]
    head = f"{len(found)} files; {offset + 1} to {offset + len(page)} follow."
    more = offset + len(page)
    if more < len(found):
        head += f" The next page is at offset={more}."
    return Answer(f"{head}\n{bench.framed('paths', chr(10).join(lines))}")


def _matches(glob: str, path: str) -> bool:
    """As in a search: a glob without a folder is one for file names, wherever they are."""
    return not glob or match(glob, path if "/" in glob else path.rpartition("/")[2])


def _kind(mode: int) -> str:
    return {LINK: "  (link)", GITLINK: "  (submodule)"}.get(mode, "")


def search(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """One page of lines that match, as `path:line: text`."""
    pattern, offset = arguments["pattern"], arguments.get("offset", 0)
    if not pattern.strip() or offset < 0:
        return refused("search: `pattern` must not be blank and `offset` not be negative.")
    regex, glob = arguments.get("regex", False), arguments.get("glob", "")
    try:
        found = bench.kit.search(bench.tree, pattern, regex, glob, offset)
    except ValueError as wrong:
        return refused(f"search: {wrong}")
    lines = [
        f"{named(hit.path)}:{hit.line}: {one_line(hit.text, 300)}"
        for hit in found.hits
        if not private(hit.path)
    ]
    if not lines:
        return Answer(f"No line matches{' any more' if offset else ''}. {found.note}".rstrip())
    head = f"{len(lines)} lines match."
    if found.more:
        head += f" More follow at offset={offset + len(found.hits)}."
    text = capped("\n".join(lines), SEARCH_CHARS)
    return Answer(f"{head} {found.note}".rstrip() + "\n" + bench.framed("lines", text))


def read(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """One page of a file, after a header line with its path, SHA-256 and which lines these are."""
    try:
        path = canon(arguments["path"])
    except PathRefused as wrong:
        return refused(f"read: {wrong}.")
    files = bench.views.files(bench.tree)
    if path not in files:
        return refused(_absent(path, files))
    if private(path):
        return refused(f"read: {named(path)} is not shown: {REFUSAL}.")
    got = bench.views.read(bench.tree, path)
    if got is None or files[path].mode in (LINK, GITLINK):
        kind = "a submodule" if files[path].mode == GITLINK else "a link, which is never followed"
        return refused(f"read: {named(path)} is {kind}.")
    data, _mode = got
    if b"\0" in data[:_SNIFF]:
        return refused(f"read: {named(path)} is a binary file of {len(data)} bytes.")
    return _page(bench, path, data, arguments)


def _page(bench: Bench, path: str, data: bytes, arguments: Mapping[str, Any]) -> Answer:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    start = arguments.get("start", 1)
    end = min(arguments.get("end", len(lines)), len(lines), start + READ_LINES - 1)
    if lines and not 1 <= start <= end:
        return refused(f"read: {named(path)} has the lines 1 to {len(lines)}.")
    shown, last = numbered(lines, start, end)
    text = header(path, data, start if lines else 0, last, len(lines))
    text += "".join(f"\n({remark})" for remark in _remarks(data, last, len(lines)))
    return Answer(f"{text}\n{bench.framed('file', shown)}", effect={"read": path})


def header(path: str, data: bytes, first: int, last: int, lines: int) -> str:
    """The line that names a file's path and its SHA-256, which an edit must carry."""
    digest = hashlib.sha256(data).hexdigest()
    return f"path: {named(path)}  sha256: {digest}  lines: {first}-{last} of {lines}"


def numbered(lines: list[str], start: int, end: int) -> tuple[str, int]:
    """Lines `start` to `end` with their numbers, and the last one that found room."""
    shown: list[str] = []
    room = READ_CHARS
    for number in range(start, end + 1):
        line = f"{number:6d}\t{one_line(lines[number - 1].removesuffix(chr(13)))}"
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    return "\n".join(shown), start + len(shown) - 1 if shown else 0


def _remarks(data: bytes, last: int, lines: int) -> list[str]:
    remarks = []
    if not data:
        remarks.append("the file is empty")
    elif last < lines:
        remarks.append(f"more lines follow: read on with start={last + 1}")
    if data and not data.endswith(b"\n") and last == lines:
        remarks.append("no line end after the last line")
    if b"\r\n" in data:
        remarks.append("lines end in CRLF, which edits keep by themselves")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        remarks.append(
            "not UTF-8: bytes that cannot be read are shown as \N{REPLACEMENT CHARACTER}"
        )
    if any(len(line) > LINE_CAP for line in data.split(b"\n")):
        remarks.append(f"lines are cut after {LINE_CAP} characters")
    return remarks


def _absent(path: str, files: Mapping[str, object]) -> str:
    below = path.rstrip("/") + "/"
    if any(other.startswith(below) for other in files):
        return f"read: {named(path)} is a folder; list it with glob={below + '**'!r}."
    name = path.rpartition("/")[2].casefold()
    like = [named(p) for p in files if p.rpartition("/")[2].casefold() == name][:5]
    hint = f" Files of that name: {', '.join(like)}." if like else " Use `list` or `search`."
    return f"read: there is no file {named(path)} in the working snapshot.{hint}"


def read_log(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """One page of the capped output of a check: the last one that ran, or the last of that name."""
    log = _log(bench, arguments.get("check", ""))
    if log is None:
        return refused("read_log: no such check has left an output yet.")
    try:
        data = bench.kit.hold.get(log.digest)
    except Missing:
        return refused(f"read_log: the output of {log.check} is not kept any more.")
    lines = printable(data).split("\n")
    start = arguments.get("start", 1)
    if not 1 <= start <= len(lines):
        return refused(f"read_log: the output of {log.check} has the lines 1 to {len(lines)}.")
    text = "\n".join(one_line(line) for line in lines[start - 1 : start - 1 + LOG_LINES])
    page = text[:LOG_CHARS]
    last = start + page.count("\n")
    head = f"Output of {log.check}, lines {start} to {last} of {len(lines)}."
    return Answer(f"{head}\n{bench.framed('log', page)}")


def _log(bench: Bench, check: str) -> Log | None:
    """The latest first: this conversation's own tests, the required checks, the baseline."""
    known = [bench.talk.log] if bench.talk.log else []
    results = bench.run.attempts[-1].results if bench.run.attempts else ()
    known += [Log(r.check, r.log) for r in (*_failed_first(results), *bench.run.baseline) if r.log]
    return next((log for log in known if not check or log.check == check), None)


def _failed_first(results: tuple[Any, ...]) -> list[Any]:
    return sorted(results, key=lambda result: result.standing == "passed")
