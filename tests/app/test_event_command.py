"""`patchwarrant event` as a process, with real payloads: it agrees with the receiver's reading."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli import event as command
from app.domain.event import Event
from app.domain.triggers import digest_of, event_of
from app.webhook import read_event
from tests.app.domain.test_triggers import BODY, changed
from tests.app.test_cli import HEAVY, ROOT, loaded, run
from tests.shared_data import shared_dir

PULL = {
    "number": 3,
    "updated_at": "2026-11-30T10:00:00Z",
    "head": {"ref": "agent/issue-1-abc"},
    "user": None,
}
GOOD = changed(issue__body="## Acceptance criteria\n- it adds up")


@pytest.fixture
def payload(tmp_path: Path) -> Path:
    file = tmp_path / "body.json"
    file.write_text(json.dumps(GOOD), encoding="utf-8")
    return file


def words(file: Path, *more: str, name: str = "issues") -> list[str]:
    return ["-m", "app.cli", "event", name, str(file), *more]


def test_a_payload_that_starts_a_run_says_so_and_what_is_asked_first(payload: Path) -> None:
    done = run(words(payload))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("starts: It starts a run that fixes the issue on issue octocat/")
    assert "whether octocat has write access now" in done.stdout
    assert "Its key is issue:1296269:7:208045946:2026-11-30T10:00:00Z" in done.stdout


def test_json_holds_the_event_as_it_would_be_kept(payload: Path) -> None:
    told: dict[str, Any] = json.loads(run(words(payload, "--json")).stdout)
    assert told["what"] == "starts"
    assert told["event"]["title"] == "Sum is wrong"
    assert told["event"]["key"] == told["key"]


def test_what_is_ignored_is_exit_code_1(payload: Path) -> None:
    done = run(words(payload, name="issue_comment"))
    assert done.returncode == 1
    assert "only a new comment can be a command" in done.stdout
    done = run(words(payload, name="watch"))
    assert done.returncode == 1 and "Of all events only these are read: " in done.stdout


def test_the_operators_allow_list_counts_where_it_is_set(payload: Path) -> None:
    done = run(words(payload), PATCHWARRANT_OWNERS="acme, Octocat")
    assert done.returncode == 0 and "is in PATCHWARRANT_OWNERS" not in done.stdout
    done = run(words(payload), PATCHWARRANT_OWNERS="acme")
    assert done.returncode == 1
    assert "octocat is not in PATCHWARRANT_OWNERS" in done.stdout


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"not json", "the receiver answers 400"),
        (b"[1]", "the receiver answers 400"),
        (b'{"action": "labeled"}', "this is not the body of an `issues` event"),
        (b"\xff", "the body is not UTF-8"),
        (b'{"a": "' + b"x" * (2 << 20) + b'"}', "the receiver answers 413"),
    ],
)
def test_what_is_no_payload_says_what_the_receiver_would(
    tmp_path: Path, content: bytes, part: str
) -> None:
    file = tmp_path / "body"
    file.write_bytes(content)
    done = run(words(file))
    assert done.returncode == 2 and part in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_words_and_a_missing_file_say_what_to_do(tmp_path: Path) -> None:
    done = run(["-m", "app.cli", "event", "issues"])
    assert done.returncode == 2 and "usage: patchwarrant event TYPE FILE" in done.stderr
    done = run(words(tmp_path / "none"))
    assert done.returncode == 2 and "cannot be read" in done.stderr
    done = run(["-m", "app.cli", "event", "--help"])
    assert done.returncode == 0 and "Recent Deliveries" in done.stdout


def test_it_loads_nothing_that_speaks_to_anybody(payload: Path) -> None:
    modules = loaded(f"import app.cli; app.cli.main(['event', 'issues', {str(payload)!r}])")
    assert not modules & {*HEAVY, "rq", "uvicorn"}


def test_every_real_payload_is_told_as_the_receiver_reads_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = shared_dir() / "data/webhooks"
    for entry in json.loads((folder / "index.json").read_text()):
        file = folder / entry["file"]
        code = command.main([entry["event"], str(file), "--json"])
        told = json.loads(capsys.readouterr().out)
        found = read_event(entry["event"], file.read_bytes())
        assert (code == 0) is isinstance(found, Event), entry["file"]
        assert told["key"] == (found.key if isinstance(found, Event) else ""), entry["file"]


def both(name: str, body: dict[str, Any]) -> tuple[object, object]:
    """What the receiver's narrow reading gives, and what the whole body does, for the poller."""

    def read(of: Callable[[], object]) -> object:
        try:
            return of()
        except ValueError as error:
            return str(error)

    whole = read(lambda: event_of(name, body, lambda: digest_of(body)))
    return read(lambda: read_event(name, json.dumps(body).encode())), whole


def test_the_receiver_reads_all_parts_that_decide() -> None:
    """Every real payload as the App's own, through the receiver and through the poller."""
    folder = shared_dir() / "data/webhooks"
    events = 0
    for entry in json.loads((folder / "index.json").read_text()):
        body = json.loads((folder / entry["file"]).read_text())
        body["installation"] = {"id": 5}
        narrow, whole = both(entry["event"], body)
        assert narrow == whole, entry["file"]
        events += isinstance(whole, Event)
    assert events > 5


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("push", {"ref": "refs/heads/main"}),
        ("push", {"ref": "refs/heads/agent/issue-1-x"}),
        ("pull_request", {"action": "edited", "changes": {"base": {}}}),
        ("pull_request", {"action": "edited", "changes": {"title": {}}}),
        ("pull_request", {"action": "synchronize"}),
    ],
)
def test_what_moves_a_branch_or_a_base_is_read_by_the_receiver(
    name: str, body: dict[str, Any]
) -> None:
    whole = {
        **{key: BODY[key] for key in ("repository", "installation", "sender")},
        **({"pull_request": PULL} if name == "pull_request" else {}),
        **body,
    }
    narrow, poller = both(name, whole)
    assert narrow == poller and not isinstance(narrow, str)


def test_a_real_payload_with_our_label_would_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared_dir() / "data/webhooks/payloads/issues"
    real = json.loads(next(iter(sorted(folder.glob("labeled*.json")))).read_text())
    real["label"] = {**(real.get("label") or {}), "id": 9, "name": "agent:fix"}
    real["installation"] = {"id": 5}
    real["issue"]["body"] = "Expected: 3\nActual: 2"
    real["sender"]["type"] = "User"
    file = tmp_path / "real.json"
    file.write_text(json.dumps(real), encoding="utf-8")
    assert command.main(["issues", str(file)]) == 0
    assert capsys.readouterr().out.startswith("starts: ")


def test_the_body_may_come_by_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "event", "issues", "-"],
        cwd=ROOT,
        input=json.dumps(BODY),
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0 and done.stdout.startswith("answers: ")


def test_an_unknown_event_is_blamed_and_not_the_payload(tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_text("[]", encoding="utf-8")
    done = run(words(file, name="isues"))
    assert done.returncode == 2
    assert "'isues' is none of the events that are read" in done.stderr and "issues" in done.stderr
    assert "Is it the body of" not in done.stderr
