"""The HTTP API's messages: strict shapes in, framed bytes in and out.

A request body is u32 length, JSON header, then bytes that the header or a u64 length announces. An
answer to a check is a stream of u32 length and JSON head; length 0 is a sign of life, sent at least
every second while the check runs. The last head is followed by the bodies that it names.
"""

from __future__ import annotations

import json
import re
import struct
from typing import Annotated, Any

import msgspec

from app.domain.check import Outcome, command_digest
from app.domain.errors import Fault, Missing, Refused, Unavailable
from app.domain.ports.sandbox import Job

HEADER_CAP = 1 << 20
FILES_CAP = 64 << 20
ALIVE = struct.pack(">I", 0)

Word = Annotated[str, msgspec.Meta(max_length=1 << 17, pattern=r"^[^\x00]*\Z")]
RunId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")]
Tenant = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{0,64}\Z")]
ImageId = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
EnvName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}\Z")]
_PART = re.compile(r"^(?!\.{1,2}\Z)[^/\x00]{1,255}\Z")


class Ask(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A check as it comes over the wire; `ports.sandbox.Job` field by field."""

    argv: Annotated[list[Word], msgspec.Meta(min_length=1, max_length=4096)]
    env: Annotated[dict[EnvName, Word], msgspec.Meta(max_length=256)]
    workdir: Annotated[str, msgspec.Meta(max_length=4096)]
    report: Annotated[str, msgspec.Meta(max_length=4096)]
    seconds: Annotated[int, msgspec.Meta(ge=1)]
    output_cap: Annotated[int, msgspec.Meta(ge=1024, le=8 << 20)]
    report_cap: Annotated[int, msgspec.Meta(ge=0, le=16 << 20)]
    memory: Annotated[int, msgspec.Meta(ge=32 << 20)]
    name: Annotated[str, msgspec.Meta(max_length=256)] = ""

    def digest(self) -> str:
        """The check's digest, computed here from what is about to run."""
        return command_digest(
            self.name, self.argv, self.env, self.workdir, self.report, self.seconds
        )

    def job(self, seconds: int, memory: int) -> Job:
        """The job within the operator's ceilings. Raises `Refused` for a path that leaves."""
        return Job(
            argv=tuple(self.argv),
            env=self.env,
            workdir=inside(self.workdir),
            report=inside(self.report),
            seconds=min(self.seconds, seconds),
            output_cap=self.output_cap,
            report_cap=self.report_cap,
            memory=min(self.memory, memory),
            name=self.name,
        )


class CertifyHeader(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    run: RunId
    image: ImageId
    job: Ask
    tenant: Tenant = ""


class OpenHeader(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    run: RunId
    image: ImageId
    tenant: Tenant = ""


class LaidFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    path: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    size: Annotated[int, msgspec.Meta(ge=0, le=FILES_CAP)]


class RunHeader(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    run: RunId
    job: Ask
    files: Annotated[list[LaidFile], msgspec.Meta(max_length=4096)]
    tenant: Tenant = ""


class ImageAsk(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    name: Annotated[str, msgspec.Meta(max_length=512)]


Head = tuple[dict[str, Any], list[bytes]]


def inside(path: str) -> str:
    """A path relative to the workspace, "" for itself. Raises `Refused` where it could leave."""
    if path in ("", "."):
        return ""
    if not all(_PART.match(part) for part in path.split("/")):
        raise Refused(f"{path!r} is not a plain path inside the workspace", 422)
    return path


def laid(files: list[LaidFile]) -> list[tuple[str, int]]:
    """The files of a request. Raises `Refused` for a bad path, a repeated one or too many bytes."""
    found = [(inside(file.path), file.size) for file in files]
    paths = {path for path, _ in found}
    if len(paths) != len(found) or "" in paths:
        raise Refused("the files to lay over the workspace need different, plain paths", 422)
    if sum(size for _, size in found) > FILES_CAP:
        raise Refused(f"the files to lay over the workspace exceed {FILES_CAP} bytes", 413)
    return found


def outcome_head(outcome: Outcome, digest: str) -> Head:
    bodies = [outcome.stdout, outcome.stderr, outcome.report or b""]
    head = {
        "exit_code": outcome.exit_code,
        "limit": outcome.limit,
        "ms": outcome.ms,
        "seen": list(outcome.seen),
        "report": outcome.report is not None,
        "unread": outcome.unread,
        "report_size": outcome.report_size,
        "error": outcome.error,
        "ceiling": outcome.ceiling,
        "digest": digest,
    }
    return {"outcome": head, "sizes": [len(body) for body in bodies]}, bodies


def fault_head(fault: Fault) -> Head:
    return {"fault": described(fault), "sizes": []}, []


def described(fault: Fault) -> dict[str, Any]:
    """Status, message and `retry_after` of an ending, as errors are answered."""
    status, after = 500, None
    if isinstance(fault, Unavailable):
        status, after = 503, fault.retry_after
    elif isinstance(fault, Missing):
        status = fault.status or 404
    elif isinstance(fault, Refused):
        status = fault.status or 422
    return {"status": status, "message": str(fault), "retry_after": after}


def framed(head: Head) -> bytes:
    text = json.dumps(head[0]).encode()
    return struct.pack(">I", len(text)) + text + b"".join(head[1])
