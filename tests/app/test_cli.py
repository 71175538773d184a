"""The command's words, as processes: what they load, what they refuse, where they lead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app import cli
from tests.app.receiver import SECRET, post
from tests.app.test_webhook import GOOD, KEY
from tests.patience import PATIENCE
from tests.redis_server import Server

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("githubkit", "anthropic", "docker", "pygit2", "worker", "httpx", "httpx2", "rich")


def run(words: list[str], **names: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **names}
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def loaded(code: str) -> set[str]:
    done = run(["-c", f"{code}\nimport sys; print(*sys.modules)"])
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_the_receiver_loads_nothing_of_the_workers() -> None:
    modules = loaded("import app.main, app.cli")
    assert {"starlette", "uvicorn", "msgspec", "redis"} <= modules
    assert not modules & set(HEAVY)


def test_help_loads_nothing_but_itself() -> None:
    modules = loaded("import app.cli; app.cli.main(['--help'])")
    assert not modules & {*HEAVY, "starlette", "uvicorn", "msgspec", "redis", "rq"}


def test_help_lists_every_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {word} " in said for word in cli.WORDS)
    assert cli.main([]) == 2


@pytest.mark.parametrize("word", sorted(set(cli.WORDS) - cli.SPEAK))
def test_help_of_a_word_needs_no_settings(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([word, "--help"]) == 0
    said = capsys.readouterr()
    assert f"usage: patchwarrant {word}" in said.out
    assert said.err == ""


@pytest.mark.parametrize("word", sorted(set(cli.WORDS) - {"version"}))
def test_help_of_every_word_says_what_its_exit_codes_mean(word: str) -> None:
    done = run(["-m", "app.cli", word, "--help"])
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(done.stdout.split())
    assert f"usage: patchwarrant {word}" in words and "xit code: 0 " in words


def test_a_reader_that_hangs_up_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "app.cli", "--help"],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.PIPE,
        )
    assert (done.returncode, done.stderr) == (141, b"")  # as of SIGPIPE, and no verdict


def test_an_unknown_word_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["merge"]) == 2
    assert "'merge' is no command" in capsys.readouterr().err


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["version"]) == 0
    assert capsys.readouterr().out.startswith("patchwarrant ")


@pytest.mark.parametrize("word", sorted(set(cli.WORDS) - cli.OURS))
def test_other_words_become_the_workers_process(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more = [] if word in cli.BARE else ["--x", "y"]

    class Replaced(Exception):
        pass

    def execv(program: str, words: list[str]) -> None:
        raise Replaced(program, words)

    monkeypatch.setattr(os, "execv", execv)
    with pytest.raises(Replaced) as seen:
        cli.main([word, *more])
    expected = [sys.executable, "-m", "worker", word, *more]
    assert seen.value.args == (sys.executable, expected)


def test_without_a_secret_it_refuses_to_start() -> None:
    done = run(["-m", "app.cli", "receive"])
    assert done.returncode == 2
    assert "PATCHWARRANT_WEBHOOK_SECRET_FILE" in done.stderr
    assert "GitHub App's page" in done.stderr
    assert "Traceback" not in done.stderr


def test_receive_takes_no_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["receive", "--port"]) == 2
    assert "usage" in capsys.readouterr().err


def test_the_receivers_process_takes_a_delivery(redis_process: Server, tmp_path: Path) -> None:
    with redis_process.client() as client:
        client.flushall()
    (tmp_path / "secret").write_bytes(SECRET)
    log = tmp_path / "log"
    names = {
        "PATH": os.environ["PATH"],
        "PATCHWARRANT_WEBHOOK_SECRET_FILE": str(tmp_path / "secret"),
        "PATCHWARRANT_REDIS_URL": redis_process.url,
        "PATCHWARRANT_PORT": "0",
    }
    with log.open("wb") as out:
        words = [sys.executable, "-m", "app.cli", "receive"]
        process = subprocess.Popen(words, cwd=ROOT, env=names, stdout=out, stderr=out)
    try:
        ends = time.monotonic() + PATIENCE
        while "running on http://127.0.0.1:" not in log.read_text():
            assert process.poll() is None and time.monotonic() < ends, log.read_text()
            time.sleep(0.05)
        port = int(log.read_text().rpartition("running on http://127.0.0.1:")[2].split(" ")[0])
        assert post(port, GOOD) == (202, {"accepted": KEY})
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
    assert code in (0, -signal.SIGTERM)
    assert SECRET.decode() not in log.read_text()


@pytest.mark.parametrize("word", sorted(cli.BARE))
def test_a_stray_word_does_nothing(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([word, "--hlep"]) == 2
    assert "takes no further words, not '--hlep'" in capsys.readouterr().err
