"""A small real repository whose base names the operator's key, and evidence about its head."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.domain.edit import Candidate, Change
from app.domain.record import JournalEntry, Kept
from app.domain.run import Attempt, Run
from app.domain.state import Kind
from tests.app.domain.report_world import passed, result
from worker.attest import bundle
from worker.attest.attestation import statements
from worker.attest.keys import line_of
from worker.attest.signing import Signer
from worker.attest.verify import public_key

SIGNER = Signer(Ed25519PrivateKey.generate())
STRANGER = Signer(Ed25519PrivateKey.generate())
LINE = line_of(public_key(SIGNER.public_pem))
CONFIG = f"""version: 1
checks:
  - name: tests
    run: python3 -m pytest -q --junitxml=report.xml
    report: report.xml
    selector: python3 -m pytest -q --junitxml=report.xml {{tests}}
    env: {{PYTHONPATH: "."}}
evidence:
  key: "{LINE}"
"""
BEFORE = "def add(a, b):\n    return a - b\n"
AFTER = "def add(a, b):\n    return a + b\n"
TESTS = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


def git(place: Path, *words: str) -> str:
    person = ("-c", "user.name=Mona", "-c", "user.email=mona@example.org")
    done = subprocess.run(
        ["git", *person, "-C", str(place), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(place: Path, files: dict[str, str], message: str) -> str:
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, encoding="utf-8")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", message)
    return git(place, "rev-parse", "HEAD")


@dataclass
class Scene:
    """A repository on the branch `fix`, one commit after `main`, and a bundle's file about it."""

    place: Path
    base: str
    head: str
    run: Run
    file: Path

    def bundle(self, run: Run | None = None, signer: Signer = SIGNER) -> bytes:
        return made(run or self.run, self.head, signer)

    def key_file(self, signer: Signer = SIGNER) -> str:
        path = self.place.parent / f"{signer.key_id[-8:]}.pem"
        path.write_text(signer.public_pem, encoding="ascii")
        return str(path)


def scene(folder: Path, config: str = CONFIG) -> Scene:
    place = folder / "calc"
    place.mkdir(parents=True)
    git(place, "init", "-q", "-b", "main")
    files = {"calc.py": BEFORE, "tests/test_calc.py": TESTS, ".github/agent.yml": config}
    base = commit(place, files, "Begin")
    git(place, "checkout", "-q", "-b", "fix")
    head = commit(place, {"calc.py": AFTER}, "Add adds")
    run = about(place, base, head)
    file = folder / "bundle.json"
    file.write_bytes(made(run, head, SIGNER))
    return Scene(place, base, head, run, file)


def about(place: Path, base: str, head: str) -> Run:
    """A run whose verdict on the head's tree is passed."""
    tree = git(place, "rev-parse", f"{head}^{{tree}}")
    base_tree = git(place, "rev-parse", f"{base}^{{tree}}")
    run = passed()
    assert run.contract and run.verdict and run.snapshot
    return replace(
        run,
        kind=Kind.FIX,
        contract=replace(run.contract, base_commit=base),
        snapshot=replace(run.snapshot, base_tree=base_tree),
        candidate=Candidate(tree, (Change("calc.py", 0o100644, "5" * 64),)),
        attempts=(Attempt(tree, (result(tree),), "s"),),
        verdict=replace(run.verdict, tree=tree, base_commit=base),
    )


def journal() -> list[JournalEntry]:
    return [
        JournalEntry("1-0", Kept.MOVE, {"from": "admit", "to": "prepare"}),
        JournalEntry("2-0", Kept.CHECK, {"phase": "baseline", "check": "tests", "result": {}}),
        JournalEntry("3-0", Kept.CHECK, {"phase": "verify", "check": "tests", "result": {}}),
        JournalEntry("4-0", Kept.NOTE, {"deltas": []}),
    ]


def made(run: Run, head: str, signer: Signer) -> bytes:
    entries = journal()
    envelopes = [signer.sign(one) for one in statements(run, head, entries)]
    return bundle.make(run, envelopes, entries)
