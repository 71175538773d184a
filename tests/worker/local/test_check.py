"""`patchwarrant check` on real repositories with real containers, and what it leaves behind."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from app.domain.errors import Unavailable
from tests.worker.local.world import AFTER, CONFIG, Scene, commit, git, scene
from tests.worker.sandbox.running import Service, running
from worker.attest import bundle
from worker.attest.signing import Signer
from worker.local import check, verify
from worker.local.sandbox import handed, sandbox
from worker.settings.door import Door, Secret
from worker.settings.person import LocalSettings

__all__ = ["running"]
pytestmark = pytest.mark.docker

RED = "\n\ndef test_negative():\n    assert add(-1, -1) == -2\n"


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def run(service: Service, *words: str) -> int:
    return check.main(Door({"PATCHWARRANT_SANDBOX": service.socket}), list(words))


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_a_fix_passes_and_its_evidence_verifies_and_can_be_repeated(
    made: Scene, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    key = made.place.parent / "key.pem"
    public = made.place.parent / "public.pem"
    public.write_text(Signer.load(key).public_pem)
    page = made.place.parent / "page.md"
    asked = ["main..fix", "--repo", str(made.place), "--key", str(key), "--markdown", str(page)]
    assert run(running, *asked) == 0
    words = said(capsys)
    assert "✔ tests on the change: passed, exit 0, 1 passed" in words
    assert "fixed (1) tests/test_calc.py::test_add" in words
    assert "PASSED" in words and made.head in words
    assert page.read_text().startswith("# Passed on tree ") and "| `tests` |" in page.read_text()
    again = ["--repo", str(made.place), "--key", str(public), "--rerun"]
    door = Door({"PATCHWARRANT_SANDBOX": running.socket})
    assert verify.main(door, again) == 0
    assert "✔ The checks, run again here, say the same" in said(capsys)
    assert verify.main(door, [*again, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["outcome"] == "verified" and "tests" in told.err
    assert git(made.place, "status", "--porcelain") == ""  # nothing is written into it
    assert run(running, "main..fix", "--repo", str(made.place)) == 0  # without the key
    assert "unsigned.json" in "".join(said(capsys).split())
    assert verify.main(door, again[:-1]) == 0  # what was signed is there still


def test_a_change_that_breaks_a_test_does_not_pass(
    made: Scene, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    git(made.place, "checkout", "-q", "-b", "wrong", "fix")
    commit(made.place, {"calc.py": "def add(a, b):\n    return 4\n"}, "Wrong")
    assert run(running, "fix..wrong", "--repo", str(made.place)) == 1
    words = said(capsys)
    assert "newly failing (1) tests/test_calc.py::test_add" in words
    assert "FAILED" in words and "not signed: give --key FILE" in words
    kept = made.place / ".git" / "patchwarrant" / f"{git(made.place, 'rev-parse', 'HEAD')}.json"
    assert bundle.read(kept.read_bytes()).envelopes[0]["signatures"] == []


def test_the_base_s_configuration_and_tests_decide_not_the_head_s(
    made: Scene, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    git(made.place, "checkout", "-q", "-b", "cheat", "main")
    commit(
        made.place,
        {
            ".github/agent.yml": "checks: [{name: tests, run: 'true'}]\n",
            "tests/test_calc.py": "def test_add():\n    pass\n",
        },
        "All green",
    )
    assert run(running, "main..cheat", "--repo", str(made.place)) == 1
    words = said(capsys)
    assert "Touched the referee" in words
    assert "PASSED" not in words
    own = words.partition("the base's own tests that fail on the change")[2]
    assert own.startswith(" tests/test_calc.py::test_add tests/test_calc.py:5 AssertionError")
    page = made.place.parent / "page.html"
    assert run(running, "main..cheat", "--repo", str(made.place), "--page", str(page)) == 1
    failing = page.read_text().partition("The base's own tests fail on this change:")[2]
    assert "<code>tests/test_calc.py::test_add</code>" in failing.partition("<h2>")[0]


def test_a_base_that_moved_on_is_compared_where_both_parted(
    made: Scene, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    git(made.place, "checkout", "-q", "main")
    commit(made.place, {"README.md": "# Later\n"}, "Later")
    git(made.place, "checkout", "-q", "fix")
    other = made.place.parent / "kept.json"
    assert run(running, "--repo", str(made.place), "--bundle", str(other)) == 0
    words = said(capsys)
    assert f"main has moved on since: compared with {made.base[:12]}" in words
    parts = json.loads(other.read_bytes())["parts"]
    assert parts["contract"]["base_commit"] == made.base
    assert "Later" not in words.partition("evidence:")[0].replace("# Later", "")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["main..nowhere"], "'nowhere' is no commit"),
        (["main..main"], "Nothing lies between"),
        (["main..empty"], "changes no file: name another range."),
        (["main..fix", "--key", "/nowhere.pem"], "There is no key /nowhere.pem"),
    ],
)
def test_what_cannot_be_looked_at_is_said(
    made: Scene,
    running: Service,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    why: str,
) -> None:
    git(made.place, "checkout", "-q", "-b", "empty", "main")
    git(made.place, "commit", "-q", "--allow-empty", "-m", "Nothing")
    git(made.place, "checkout", "-q", "fix")
    assert run(running, *words, "--repo", str(made.place)) == 2
    assert why in said(capsys)


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ("checks: [", "cannot be used as it is in this change"),
        ("version: 1\nchecks:\n  - {name: other, run: 'true'}\n", "has no check `"),
    ],
)
def test_what_the_changed_configuration_would_mean_is_said(
    made: Scene, running: Service, capsys: pytest.CaptureFixture[str], rules: str, why: str
) -> None:
    git(made.place, "checkout", "-q", "fix")
    commit(made.place, {".github/agent.yml": rules}, "Other rules")
    run(running, "--repo", str(made.place))
    assert why in " ".join(said(capsys).split())


def test_a_base_without_any_check_shows_the_lines_to_add(
    tmp_path: Path, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "bare"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    commit(place, {"notes.txt": "a\n"}, "Begin")
    git(place, "checkout", "-q", "-b", "more")
    commit(place, {"notes.txt": "b\n", "odd \x1b[31m name.txt": AFTER}, "More \x1b[31m")
    assert run(running, "--repo", str(place)) == 2
    words = capsys.readouterr().out
    assert "No check is configured" in words and "checks:" in words
    assert "\x1b" not in words


def test_no_repository_and_no_engine_are_said(
    tmp_path: Path, made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    door = Door({"PATCHWARRANT_SANDBOX": str(tmp_path / "none")})
    assert check.main(door, ["--repo", str(tmp_path)]) == 2
    assert "is not inside a git repository" in said(capsys)
    held = LocalSettings(str(tmp_path / "none"), False, "", Secret(""))
    nowhere = {"DOCKER_HOST": "unix:///nowhere", "PATH": os.environ["PATH"]}
    with (
        pytest.raises(Unavailable, match="The sandbox did not start"),
        sandbox(held, nowhere, lambda _words: None),
    ):
        pass


def test_a_sandbox_of_our_own_gets_its_settings_and_no_secret() -> None:
    known = {
        "PATCHWARRANT_IMAGES": "redis:7",
        "PATCHWARRANT_SETUP_HOSTS": "files.example.org",
        "PATH": "/bin",
    }
    secrets = {"GITHUB_TOKEN": "x", "ANTHROPIC_API_KEY": "x", "PATCHWARRANT_GITHUB_TOKEN": "x"}
    assert handed({**known, **secrets, "LANG": ""}) == known


def test_what_a_reviewer_would_overlook_is_named_and_no_secret_is_shown(
    made: Scene, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hidden characters, a link out, a mode, a protected path; a secret in name, code and log."""
    git(made.place, "checkout", "-q", "-b", "odd", "fix")
    key, token = "AKIA" + "QRSTUVWXYZ234567", "ghp_" + "a1B2c3" * 7
    (made.place / "out").symlink_to("/etc/passwd")
    (made.place / "calc.py").chmod(0o755)
    commit(
        made.place,
        {
            "calc.py": AFTER + f"\n\nKEY = '{key}'  # \u202e\n",
            f"{token}.txt": "x\n",
            ".github/workflows/ci.yml": "on: push\n",
            "tests/test_more.py": f"def test_more():\n    key = '{key}'\n    assert key == ''\n",
        },
        f"More {token}",
    )
    kept, page, html = (made.place.parent / name for name in ("b.json", "p.md", "p.html"))
    files = ["--bundle", str(kept), "--markdown", str(page), "--page", str(html)]
    assert run(running, "main..odd", "--repo", str(made.place), *files) == 1
    shown = capsys.readouterr().out
    words = " ".join(shown.split())
    signed = base64.b64decode(json.loads(kept.read_bytes())["envelopes"][0]["payload"]).decode()
    for said_there in (words, page.read_text(), html.read_text(), kept.read_text(), signed):
        assert "[redacted]" in said_there
        assert key not in said_there and token not in said_there
    for told in (
        "U+202E",
        "outside the repository",
        "100644 → 100755",
        "looks like one (AWS access",
    ):
        assert told in words and told in signed.encode().decode("unicode_escape", "replace"), told
    assert "it touches protected paths .github/workflows/ci.yml" in words


def test_a_rerun_sets_up_again_or_says_that_it_cannot(
    tmp_path: Path, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the check needs is made by set-up alone; where that is refused, nothing is held
    against the evidence."""
    checks = 'checks: [{name: made, run: "test -e /opt/made && grep -q a.+.b calc.py"}]\n'
    made = scene(tmp_path, f'setup: {{run: ["touch /opt/made"]}}\n{checks}')
    key, public, kept = (tmp_path / name for name in ("key.pem", "public.pem", "kept.json"))
    public.write_text(Signer.load(key).public_pem)
    words = ["--repo", str(made.place), "--bundle", str(kept), "--key", str(key)]
    assert run(running, "main..fix", *words) == 0, said(capsys)
    door = Door({"PATCHWARRANT_SANDBOX": running.socket})
    again = [str(kept), "--repo", str(made.place), "--key", str(public), "--rerun"]
    assert verify.main(door, again) == 0, said(capsys)
    assert "✔ The checks, run again here, say the same" in said(capsys)


def test_an_environment_that_cannot_be_had_is_held_against_nobody(
    tmp_path: Path, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    made = scene(tmp_path, CONFIG + "image: nowhere.invalid/none:1\n")
    door = Door({"PATCHWARRANT_SANDBOX": running.socket})
    assert verify.main(door, [str(made.file), "--repo", str(made.place), "--rerun"]) == 2
    assert "They cannot be run here" in said(capsys)


def test_a_program_that_is_not_there_is_named(
    tmp_path: Path, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    """No verdict on the change: partial, exit code 1, the program by name and the cure."""
    made = scene(tmp_path, "checks: [{name: tests, run: nosuchtool --all}]\n")
    assert run(running, "main..fix", "--repo", str(made.place)) == 1
    words = said(capsys)
    assert (
        words.count("the program `nosuchtool` is not there or cannot be run (exit code 127)") == 2
    )
    assert "`tests` could not run: the program `nosuchtool`" in words
    assert "`setup: {packages: [NAME]}`" in words and "PARTIAL" in words


def test_files_that_cannot_be_written_do_not_lose_the_verdict(
    made: Scene, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    file = made.place.parent / "file"
    file.write_text("")
    page = made.place.parent / "page.html"
    odd = ["--bundle", str(file / "b.json"), "--markdown", str(file / "m.md"), "--page", str(page)]
    assert run(running, "main..fix", "--repo", str(made.place), *odd) == 2
    words = said(capsys)
    assert "PASSED" in words and page.is_file()
    assert words.count("could not be written:") == 2 == words.count("The verdict above stands.")
    assert "evidence: " not in words


def test_a_name_that_cannot_be_kept_is_said_of_the_head(
    made: Scene, running: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(os.fsdecode(os.fsencode(made.place) + b"/odd\xff.txt")).write_text("x")
    head = commit(made.place, {}, "Odd")
    assert run(running, "main..fix", "--repo", str(made.place)) == 2
    words = said(capsys)
    assert f"The head {head[:12]}" in words and "base commit" not in words
