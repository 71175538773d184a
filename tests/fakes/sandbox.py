"""A sandbox that runs nothing: outcomes come from a function of the job and the files it sees."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from app.domain.check import Outcome
from app.domain.errors import Missing, Refused
from app.domain.ports.sandbox import Job
from app.domain.setup import SetupOutcome, SetupPlan

IMAGE = "sha256:" + "1" * 64
PROFILE = "2" * 64

Acts = Callable[[Job, Mapping[str, bytes]], Outcome]


def ended(
    exit_code: int | None = 0,
    stdout: bytes = b"",
    stderr: bytes = b"",
    report: bytes | None = None,
    limit: str = "",
    error: str = "",
) -> Outcome:
    """An outcome with the sizes that its streams really have."""
    sizes = (len(stdout), len(stderr))
    return Outcome(exit_code, limit, 5, stdout, stderr, sizes, report, error)


def passing(_job: Job, _files: Mapping[str, bytes]) -> Outcome:
    return ended()


def files_of(tar: bytes) -> dict[str, bytes]:
    """The regular files of a tar."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        for member in opened:
            if (source := opened.extractfile(member)) is not None:
                found[member.name] = source.read()
    return found


def _plain(path: str) -> None:
    if path not in ("", ".") and any(part in ("", ".", "..") for part in path.split("/")):
        raise Refused(f"{path!r} is not a plain path inside the workspace", 422)


@dataclass
class FakeSandbox:
    """`ports.Sandbox`. `acts` decides every outcome; `ran` remembers (kind, run, job, files).

    Setting `away` makes each call raise it; known images are the default one and `images`."""

    acts: Acts = passing
    images: dict[str, str] = field(default_factory=dict)
    away: Exception | None = None
    ran: list[tuple[str, str, Job, dict[str, bytes]]] = field(default_factory=list)
    boxes: list[FakeBox] = field(default_factory=list)
    sets_up: Callable[[SetupPlan], SetupOutcome] = lambda _: SetupOutcome(
        IMAGE, "3" * 64, 7, False, b""
    )
    plans: list[SetupPlan] = field(default_factory=list)

    def image(self, name: str) -> tuple[str, str]:
        self._there()
        if name and name not in self.images:
            raise Refused(f"the image {name!r} is not on the operator's list", 403)
        return self.images.get(name, IMAGE), PROFILE

    def set_up(
        self, run: str, image: str, plan: SetupPlan, look: Callable[[], None]
    ) -> SetupOutcome:
        self._known(image)
        look()
        self.plans.append(plan)
        return self.sets_up(plan)

    def certify(
        self, run: str, image: str, job: Job, tar: bytes, look: Callable[[], None]
    ) -> Outcome:
        self._known(image)
        return self.act("certify", run, job, files_of(tar), look)

    def open(
        self, run: str, image: str, tar: bytes, look: Callable[[], None] = lambda: None
    ) -> FakeBox:
        self._known(image)
        look()
        box = FakeBox(self, run, files_of(tar))
        self.boxes.append(box)
        return box

    def act(
        self,
        kind: str,
        run: str,
        job: Job,
        files: dict[str, bytes],
        look: Callable[[], None],
    ) -> Outcome:
        self._there()
        _plain(job.workdir)
        _plain(job.report)
        look()
        self.ran.append((kind, run, job, files))
        found = self.acts(job, files)
        unread = "missing" if job.report and found.report is None else ""
        return replace(found, digest=job.digest(), unread=found.unread or unread)

    def _there(self) -> None:
        if self.away is not None:
            raise self.away

    def _known(self, image: str) -> None:
        self._there()
        if image not in (IMAGE, *self.images.values()):
            raise Refused(f"the image {image} is not one that the operator allows", 403)


@dataclass
class FakeBox:
    """`ports.Box`: the tree it was opened with, each run with its own files laid over."""

    sandbox: FakeSandbox
    of: str
    files: dict[str, bytes]
    closed: bool = False

    def run(self, job: Job, files: Mapping[str, bytes], look: Callable[[], None]) -> Outcome:
        if self.closed:
            raise Missing("this box is gone; open a new one", 404)
        for path in files:
            _plain(path)
        return self.sandbox.act("box", self.of, job, {**self.files, **files}, look)

    def close(self) -> None:
        self.closed = True
