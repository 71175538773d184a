"""`patchwarrant check [BASE..HEAD] [--repo PATH]`: the evidence about a change, on this machine.

Checks and configuration come from the base, the head is the candidate, both run in fresh
containers without network. No model, no GitHub, no server: the same stages as for an issue.
"""

from __future__ import annotations

import argparse
import base64
import getpass
import re
import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding

from app.domain import report
from app.domain.check import Check, CheckResult
from app.domain.edit import Delta
from app.domain.errors import Fault, Halt, Park
from app.domain.evidence import Result
from app.domain.on_pull import unlabelled
from app.domain.ports.objects import Objects
from app.domain.repo_config import ConfigError, RepoConfig
from app.domain.report import Facts
from app.domain.run import Run
from app.domain.state import State
from worker.attest import bundle
from worker.attest.attestation import statements
from worker.attest.signing import PAYLOAD_TYPE, KeyUnusable, Signer
from worker.config_file import config_of, workflow_of
from worker.local import table
from worker.local.candidate import Range, ranged, run_of, runnable, valid
from worker.local.hold import MemoryHold
from worker.local.lacks import lacks, stopped
from worker.local.repository import NotFound, Repository
from worker.local.sandbox import sandbox
from worker.local.words import FILE, option, parser
from worker.page import page
from worker.runner.boxes import SandboxClient
from worker.runner.checks.environment import InEnvironment
from worker.runner.checks.missing import lacking
from worker.runner.checks.run import Certifier
from worker.runner.stages.check_kit import Certify, CheckKit
from worker.runner.stages.gate import gate
from worker.runner.stages.prepare import prepare
from worker.runner.stages.verify import verify
from worker.settings.door import Door
from worker.settings.person import local_settings

PASSED, NOT_PASSED, NOT_DONE = 0, 1, 2
EPILOG = """
examples
  patchwarrant check
  patchwarrant check main..topic --key signing.pem --page report.html
  patchwarrant verify --repo . --key public.txt

Exit code: 0 passed; 1 another verdict (failed, or partial: what could not run, a touched
referee, a secret); 2 no verdict, or a file that could not be written."""


@dataclass(frozen=True)
class Told:
    """`Certify` that says on the console what runs and what came of it."""

    certify: Certify
    console: Console

    def __call__(
        self,
        run: str,
        phase: str,
        check: Check,
        tree: str,
        image: str,
        baseline: CheckResult | None = None,
        attempt: int = 0,
        extra: Mapping[str, bytes] | None = None,
        selectors: Sequence[str] = (),
    ) -> CheckResult:
        name = table.plain(check.name, most=60).plain
        with self.console.status(f"{name} {table.phase_words(phase)}"):
            result = self.certify(
                run, phase, check, tree, image, baseline, attempt, extra, selectors
            )
        self.console.print(table.done(phase, result))
        if stopped(result) and (baseline is None or not stopped(baseline)):
            why = table.plain(lacking(check, result), "yellow", 400)
            self.console.print(Padding(why, (0, 0, 0, 4)))
        return result


def main(door: Door, arguments: list[str]) -> int:
    """Exit code: 0 passed, 1 another verdict, 2 no verdict, or a file could not be written."""
    asked = _parser().parse_args(arguments)
    console = table.console()
    held = local_settings(door)
    try:
        signer = _signer(asked.key)
        repository = Repository(Path(asked.repo))
        found = ranged(repository, asked.range)
        with tempfile.TemporaryDirectory(prefix="pw-") as place:
            objects = repository.store(Path(place) / "objects.git")
            run, deltas = _ready(repository, found, objects, console)
            with sandbox(held, door.environment, lambda words: _say(console, words)) as client:
                run, hold = _judged(run, objects, client, console)
    except (NotFound, ConfigError, KeyUnusable, Fault, Halt, Park) as problem:
        console.print(table.plain(_words(problem), "red", 2_000), soft_wrap=True)
        return NOT_DONE
    console.print()
    console.print(table.report(run, deltas))
    said = run.snapshot.assumed if run.snapshot is not None else ()
    assumed = f"What was assumed: {' '.join(said)}" if said else ""
    for words in (*lacks(run), assumed, found.beside):
        if words:
            console.print(table.plain(words, "yellow", 600), soft_wrap=True)
    kept = Path(asked.bundle or _kept(repository, found, signer))
    wanted = [(kept, _bundled(run, found, hold, signer))]
    if asked.markdown:
        wanted.append((Path(asked.markdown), _shown(run, found, deltas).encode()))
    if asked.page:
        wanted.append((Path(asked.page), page(run, _facts(run, found, deltas)).encode()))
    faults = [fault for path, data in wanted if (fault := _unwritten(path, data))]
    for fault in faults:
        console.print(table.plain(fault, "red", 600), soft_wrap=True)
    signed = f"signed by {signer.key_id}" if signer else "not signed: give --key FILE to sign it"
    if not any(fault.startswith(f"{kept} ") for fault in faults):
        console.print(table.plain(f"evidence: {kept}", "dim", 600), soft_wrap=True)
        console.print(table.plain(f"          {signed}", "dim", 600), soft_wrap=True)
    if faults:
        return NOT_DONE
    passed = run.verdict is not None and run.verdict.result is Result.PASSED
    return PASSED if passed else NOT_PASSED


def _unwritten(path: Path, data: bytes) -> str:
    """Write a file; why it could not be, "" where it was. The others are written all the same."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        return f"{path} could not be written: {error.strerror}. The verdict above stands."
    return ""


def _parser() -> argparse.ArgumentParser:
    made = parser(
        "check",
        "Shows what can be shown about a change: base's checks on base and on head.\n"
        "Only commits are looked at, in containers; nothing is written into the work tree.",
        EPILOG,
    )
    made.add_argument("range", nargs="?", default="", help="BASE..HEAD; default branch..HEAD")
    option(made, "repo", "PATH", "the repository (default: here)", ".")
    option(made, "key", FILE, "private key to sign with (`patchwarrant key`)")
    option(made, "bundle", FILE, "where the evidence is written")
    option(made, "markdown", FILE, "where the same is written as Markdown")
    option(made, "page", FILE, "where the same is written as an HTML page")
    return made


def _facts(run: Run, found: Range, deltas: tuple[Delta, ...]) -> Facts:
    return Facts(found.head, deltas, {one.check: one.tail for one in run.results if one.tail})


def _shown(run: Run, found: Range, deltas: tuple[Delta, ...]) -> str:
    """What a check run on GitHub shows, for a job's summary or a comment."""
    title, summary, text = report.check_output(run, _facts(run, found, deltas))
    return f"# {title}\n\n{summary}\n\n{text}\n"


def _ready(
    repository: Repository, found: Range, objects: Objects, console: Console
) -> tuple[Run, tuple[Delta, ...]]:
    """All that can be known before a sandbox is asked. Raises `ConfigError`, `Halt`."""
    valid(objects, found)
    now = time.time_ns() // 1_000_000
    run, deltas = run_of(found, repository, objects, config_of, getpass.getuser(), now)
    runnable(run, objects, found.base_tree)
    console.print(_headline(repository, found, run))
    for note in (*found.notes, found.beside):
        if note:
            console.print(Padding(table.plain(note, "yellow"), (0, 0, 0, 2)))
    return run, deltas


def _say(console: Console, words: str) -> None:
    console.print(f"  {words}")


def _judged(
    run: Run, objects: Objects, client: SandboxClient, console: Console
) -> tuple[Run, MemoryHold]:
    hold = MemoryHold(run.created)
    kit = CheckKit(
        hold=hold,
        objects=objects,
        sandbox=client,
        certify=Told(_certify(hold, objects, client, run), console),
        fetch=lambda _run: nullcontext(("", "")),
        config_of=config_of,
        workflow_of=workflow_of,
        draw=partial(secrets.token_hex, 16),
        knows=lambda _text: False,
    )
    stages = {State.PREPARE: prepare(kit), State.VERIFY: verify(kit), State.GATE: gate(kit)}
    while run.state in stages:
        run = stages[run.state](run)
    return run, hold


def _certify(hold: MemoryHold, objects: Objects, client: SandboxClient, run: Run) -> Certify:
    """As a runner's: what a change's own dependencies need is not run in the base's environment."""
    config = run.contract.config if run.contract else RepoConfig()
    return InEnvironment(hold, objects, client, config, Certifier(hold, objects, client))


def _headline(repository: Repository, found: Range, run: Run) -> Any:
    title = run.contract.request.title if run.contract else ""
    line = table.plain(repository.name.removeprefix("the repository "), "bold", 80)
    line.append(f"  {found.base_name} {found.base[:12]}..{found.head[:12]}  ", style="cyan")
    return line.append_text(table.plain(title, "dim", 100))


def _signer(path: str) -> Signer | None:
    if not path:
        return None
    if Path(path).is_dir():
        raise KeyUnusable(f"{path} is a folder, not a key: name the file in it.")
    if not Path(path).is_file():
        raise KeyUnusable(f"There is no key {path}; `patchwarrant key signing {path}` makes one.")
    return Signer.load(Path(path))


def _kept(repository: Repository, found: Range, signer: Signer | None) -> Path:
    """Beside the repository's own things, where `patchwarrant verify --repo` looks for it. What was
    signed is not written over by what is not."""
    place = repository.folder / "patchwarrant" / f"{found.head}.json"
    return place if signer or not _is_signed(place) else place.with_suffix(".unsigned.json")


def _is_signed(place: Path) -> bool:
    try:
        return any(one.get("signatures") for one in bundle.read(place.read_bytes()).envelopes)
    except (OSError, bundle.NotABundle):
        return False


def _bundled(run: Run, found: Range, hold: MemoryHold, signer: Signer | None) -> bytes:
    entries = hold.entries()
    made = statements(run, found.head, entries)
    envelopes = [signer.sign(one) if signer else _unsigned(one) for one in made]
    return bundle.make(run, envelopes, entries)


def _unsigned(statement: bytes) -> dict[str, Any]:
    payload = base64.b64encode(statement).decode()
    return {"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": []}


_ON_GITHUB = re.compile(r",? then label the issue again|Nothing was asked of the model\.")


def _here(step: str) -> tuple[str, ...]:
    """What can be done, without what only an issue and a model need."""
    kept = unlabelled(_ON_GITHUB.sub("", step))
    return (kept,) if kept.strip() else ()


def _words(problem: Exception) -> str:
    if isinstance(problem, Halt):
        said = problem.record
        # Nobody labels anything here, and a log's lines stay lines.
        return "\n".join((said.message, *said.details, *_here(said.next_step)))
    if isinstance(problem, Park):
        return problem.note
    return str(problem)
