"""`scripts/demo --repo --patch` on real packages: the older release with the newer one's tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import diff, git
from tests.e2e.sdists import BOLTONS_NEW, BOLTONS_OLD, TOOLZ_NEW, TOOLZ_OLD, Sdist, unpacked
from tests.shared_data import REPOSITORY

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1500)]

LET_ON = "opened as a draft; patchwarrant/gate passed, so it is made ready for review"
HELD = "opened as a draft; patchwarrant/gate did not pass, so it is left one"


@dataclass(frozen=True)
class Case:
    """`tests` come from the newer release into the base, `sources` are what its fix changed;
    `left` is how its gate leaves the draft."""

    old: Sdist
    new: Sdist
    tests: tuple[str, ...]
    sources: tuple[str, ...]
    issue: str
    fixed: tuple[str, ...]
    left: str


CASES = {
    "boltons": Case(
        BOLTONS_OLD,
        BOLTONS_NEW,
        ("tests",),
        ("boltons/setutils.py", "boltons/fileutils.py", "boltons/strutils.py"),
        "# IndexedSet slices go wrong after a removal\n\n## Acceptance criteria\n\n"
        "- [ ] `IndexedSet` slices agree with list slices after items were removed\n"
        "- [ ] path-like objects work in `fileutils`\n",
        (
            "tests/test_setutils.py::test_iset_slice_after_removal",
            "tests/test_fileutils.py::test_atomicsaver_pathlike",
        ),
        HELD,  # a test of that release fails with today's pytest, before and after
    ),
    "toolz": Case(
        TOOLZ_OLD,
        TOOLZ_NEW,
        ("toolz/tests/test_itertoolz.py",),
        ("toolz/itertoolz.py",),
        "# partition_all hides an odd length\n\n## Acceptance criteria\n\n"
        "- [ ] `partition_all` raises `LookupError` for a sequence whose length lies\n",
        ("toolz/tests/test_itertoolz.py::test_partition_all",),
        LET_ON,
    ),
}


@dataclass(frozen=True)
class Prepared:
    repository: Path
    issue: Path
    patch: Path


def prepared(case: Case, place: Path) -> Prepared:
    """The base as a git repository, the issue and the fix as files beside it."""
    old, new = unpacked(case.old, place), unpacked(case.new, place)
    for path in case.tests:
        if (old / path).is_dir():
            shutil.rmtree(old / path)
            shutil.copytree(new / path, old / path)
        else:
            shutil.copy(new / path, old / path)
    git(old, "init", "-q", "-b", "main")
    git(old, "add", "-A", "-f")
    git(old, "commit", "-q", "-m", "Base")
    patch, issue = place / "fix.diff", place / "issue.md"
    files = {path: (new / path).read_text(encoding="utf-8") for path in case.sources}
    patch.write_text(diff(old, files), encoding="utf-8")
    issue.write_text(case.issue, encoding="utf-8")
    return Prepared(old, issue, patch)


def demo(ready: Prepared, *patches: Path) -> tuple[int, str]:
    words = [sys.executable, "-m", "tests.demo", "--repo", str(ready.repository)]
    words += ["--issue", str(ready.issue)]
    for patch in patches:
        words += ["--patch", str(patch)]
    environment = {k: v for k, v in os.environ.items() if k != "ANTHROPIC_API_KEY"}
    done = subprocess.run(
        words, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", CASES)
def test_the_newer_releases_fix_names_the_newly_passing_tests(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ready = prepared(case, tmp_path)
    before = git(ready.repository, "status", "--porcelain", "--ignored")
    code, said = demo(ready, ready.patch)
    assert code == 0, said[-6000:]
    assert case.left in said
    fixed = re.search(r"^\*\*Fixed:\*\* (.*)$", said, re.MULTILINE)
    assert fixed is not None, said[-6000:]
    for test in case.fixed:
        assert test in said
    assert git(ready.repository, "status", "--porcelain", "--ignored") == before


def test_a_wrong_patch_ends_as_an_honest_incomplete_draft(tmp_path: Path) -> None:
    ready = prepared(CASES["toolz"], tmp_path)
    source = (ready.repository / "toolz" / "itertoolz.py").read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.diff"
    broken = source.replace("def partition_all(n, seq):", "def partition_all(n, seq, odd=False):")
    assert broken != source
    wrong.write_text(diff(ready.repository, {"toolz/itertoolz.py": broken}), encoding="utf-8")
    code, said = demo(ready, wrong)
    assert code == 0, said[-6000:]
    assert HELD in said
    assert "Closes #" not in said
    assert "**Passed.**" not in said
    assert "test_partition_all" in said


def test_without_key_patch_or_script_it_names_the_three(tmp_path: Path) -> None:
    place = tmp_path / "repository"
    place.mkdir()
    (place / "a.py").write_text("x = 1\n")
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Begin")
    issue = tmp_path / "issue.md"
    issue.write_text("# Wrong\n")
    code, said = demo(Prepared(place, issue, issue))
    assert code == 2
    for name in ("ANTHROPIC_API_KEY", "--patch", "--script"):
        assert name in said
