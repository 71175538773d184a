"""`patchwarrant register` as a process against the stand-in's pages, clicked by an HTTP client."""

from __future__ import annotations

import html
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from app.domain import env_file
from tests.patience import PATIENCE
from tests.shared_data import REPOSITORY
from tests.standins.github import GitHubStandin
from tests.tied import tied
from worker.desk.github.auth import App, load_key

URL = ["--url", "https://pw.example.com"]


@pytest.fixture(scope="module")
def hub() -> Iterator[GitHubStandin]:
    with GitHubStandin() as standin:
        yield standin


@dataclass
class Registering:
    """The command at work, and a browser."""

    hub: GitHubStandin
    folder: Path
    words: list[str]
    process: subprocess.Popen[str] = field(init=False)
    address: str = ""

    def __enter__(self) -> Registering:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "app.cli",
                "register",
                "--folder",
                str(self.folder),
                *self.words,
            ],
            cwd=REPOSITORY,
            env={"PATH": os.environ["PATH"], "GITHUB_SERVER_URL": self.hub.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=tied(),
        )
        assert self.process.stdout is not None
        self.said = ""
        while "THIS-MACHINE" not in self.said:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read() if self.process.stderr else ""
            self.said += line
        self.address = next(w for w in self.said.split() if w.startswith("http://127"))
        self.browser = httpx.Client(trust_env=False, follow_redirects=False, timeout=PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE)

    def submit(self, page: httpx.Response) -> httpx.Response:
        """Press the one button of a page."""
        form = re.search(r'<form[^>]*action="([^"]+)"', page.text) or re.search(
            r'<form method="post" action="([^"]+)"', page.text
        )
        assert form is not None, page.text
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
        target = page.request.url.join(html.unescape(form[1]))
        return self.browser.post(target, data={k: html.unescape(v) for k, v in fields.items()})

    def agreed(self) -> httpx.Response:
        """All clicks up to the way back; the answer that redirects to the local page."""
        first = self.browser.get(self.address)
        assert first.status_code == 200, first.text
        asked = self.submit(first)
        assert asked.status_code == 200, asked.text
        return self.submit(asked)

    def ended(self) -> tuple[int, str]:
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, self.said + out + err


def modes(folder: Path) -> set[str]:
    return {oct(stat.S_IMODE(one.stat().st_mode)) for one in folder.rglob("*") if one.is_file()}


def test_one_click_registers_the_app_and_keeps_its_keys(hub: GitHubStandin, tmp_path: Path) -> None:
    with Registering(hub, tmp_path, [*URL, "--name", "Fixer one", "--owners", "Acme"]) as here:
        back = here.agreed()
        assert back.status_code == 302
        done = here.browser.get(back.headers["location"])
        assert done.status_code == 200 and "Registered" in done.text
        code, said = here.ended()
    assert code == 0, said
    key = (tmp_path / "secrets/app-key.pem").read_text()
    secret = (tmp_path / "secrets/webhook-secret").read_text().strip()
    values = env_file.parsed((tmp_path / ".env").read_text())
    assert values["PATCHWARRANT_OWNERS"] == "operator,acme"
    assert values["PATCHWARRANT_APP_KEY_FILE"] == str(tmp_path / "secrets/app-key.pem")
    assert values["GITHUB_API_URL"] == f"{hub.url}/api/v3"
    assert modes(tmp_path) == {"0o600"}
    assert len(secret) >= 16 and secret not in said
    assert "PRIVATE KEY" not in said and key.splitlines()[1] not in said
    # what was kept is the App: it signs, and GitHub knows it
    app = App(
        values["PATCHWARRANT_APP_ID"], load_key(key), values["GITHUB_API_URL"],
        now=time.time, clock=lambda: 0.0, sleep=lambda _s: None,
    )  # fmt: skip
    assert app.slug() == "fixer-one"
    assert "https://pw.example.com/webhooks/github" not in said
    assert "fixer-one/installations/new" in said


def test_the_settings_file_is_what_the_roles_read(hub: GitHubStandin, tmp_path: Path) -> None:
    with Registering(hub, tmp_path, ["--poll", "--org", "acme", "--name", "Fixer two"]) as here:
        here.browser.get(here.agreed().headers["location"])
        code, said = here.ended()
    assert code == 0, said
    values = env_file.parsed((tmp_path / ".env").read_text())
    assert values["PATCHWARRANT_INTAKE"] == "poll" and values["PATCHWARRANT_OWNERS"] == "acme"
    script = (
        "from worker.settings.desk import desk_settings\n"
        "from worker.settings.door import Door, SettingsError\n"
        "from worker.settings.environment import environment\n"
        "door = Door(environment())\n"
        "try: desk_settings(door)\n"
        "except SettingsError as error: print(error)\n"
        "print(door.environment['PATCHWARRANT_APP_ID'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        env={"PATH": os.environ["PATH"], "PATCHWARRANT_ENV_FILE": str(tmp_path / ".env")},
        capture_output=True,
        text=True,
    )
    assert values["PATCHWARRANT_APP_ID"] in done.stdout, done.stderr
    assert "PATCHWARRANT_SEAL_FILE" in done.stdout  # the one thing that is still missing
    assert "PATCHWARRANT_APP_KEY_FILE:" not in done.stdout


def test_nothing_is_overwritten_and_nothing_is_registered_then(
    hub: GitHubStandin, tmp_path: Path
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/app-key.pem").write_text("mine")
    environment = {"PATH": os.environ["PATH"], "GITHUB_SERVER_URL": hub.url}

    def tried() -> subprocess.CompletedProcess[str]:
        words = ["-m", "app.cli", "register", *URL, "--folder", str(tmp_path)]
        return subprocess.run(
            [sys.executable, *words],
            cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip

    done = tried()
    assert done.returncode == 1
    assert "is there already" in done.stderr and "--folder" in done.stderr
    (tmp_path / "secrets/app-key.pem").unlink()
    (tmp_path / ".env").write_text("PATCHWARRANT_APP_ID=5\n")
    done = tried()
    assert done.returncode == 1
    assert "says PATCHWARRANT_APP_ID already" in done.stderr
    assert list((tmp_path / "secrets").iterdir()) == []


def test_other_lines_of_the_settings_stay(hub: GitHubStandin, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DOCKER_GROUP=999\nPATCHWARRANT_DAILY_DOLLARS=5\n")
    with Registering(hub, tmp_path, [*URL, "--name", "Fixer three"]) as here:
        here.browser.get(here.agreed().headers["location"])
        assert here.ended()[0] == 0
    text = (tmp_path / ".env").read_text()
    assert text.startswith("DOCKER_GROUP=999\nPATCHWARRANT_DAILY_DOLLARS=5\n")
    assert "PATCHWARRANT_APP_ID" in env_file.parsed(text)


def test_the_page_answers_nobody_else(hub: GitHubStandin, tmp_path: Path) -> None:
    with Registering(hub, tmp_path, [*URL, "--name", "Fixer four"]) as here:
        origin = "http://127.0.0.1:" + str(urlsplit(here.address).port)
        assert here.browser.get(f"{origin}/").status_code == 404
        assert here.browser.get(here.address, headers={"Host": "evil.example"}).status_code == 403
        back = here.agreed().headers["location"]
        code = parse_qs(urlsplit(back).query)["code"][0]
        place = back.partition("?")[0]
        wrong = here.browser.get(place, params={"code": code, "state": "guessed"})
        assert wrong.status_code == 403 and not (tmp_path / ".env").exists()
        state = parse_qs(urlsplit(back).query)["state"][0]
        bad = here.browser.get(place, params={"code": "../x", "state": state})
        assert bad.status_code == 400
        assert here.browser.get(back).status_code == 200
        assert here.ended()[0] == 0


def test_a_code_that_github_does_not_know_ends_it_with_what_to_do(
    hub: GitHubStandin, tmp_path: Path
) -> None:
    with Registering(hub, tmp_path, [*URL, "--name", "Fixer five"]) as here:
        back = here.agreed().headers["location"]
        place, query = back.partition("?")[0], parse_qs(urlsplit(back).query)
        told = {"code": "0" * 40, "state": query["state"][0]}
        assert here.browser.get(place, params=told).status_code == 502
        code, said = here.ended()
    assert code == 1 and "GitHub answered 404" in said and "start again" in said
    assert not (tmp_path / ".env").exists()


def test_nobody_clicks(hub: GitHubStandin, tmp_path: Path) -> None:
    with Registering(hub, tmp_path, [*URL, "--wait", "0.3"]) as here:
        code, said = here.ended()
    assert code == 1 and "nobody registered anything in time" in said
    assert "ssh -N -L" in said  # how to click from another machine


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "say --url https://HOST"),
        (["--url", "pw.example.com"], "an address like https://HOST"),
        ([*URL, "--poll"], "say --url"),
        ([*URL, "--org", "a b"], "'a b' is no account's name"),
        ([*URL, "--name", "x" * 35], "at most 34 characters"),
    ],
)
def test_wrong_words_say_what_is_wanted(words: list[str], part: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "register", "--folder", str(tmp_path), *words],
        cwd=REPOSITORY, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and part in done.stderr
    assert list(tmp_path.iterdir()) == []


def failing(folder: Path, *more: str) -> tuple[int, str]:
    """Exit code and what is said where the page never comes to be."""
    words = ["-m", "app.cli", "register", "--folder", str(folder), *more]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=REPOSITORY,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return done.returncode, done.stderr


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, said = failing(tmp_path, *URL, "--port", port)
    assert code == 2 and f"port {port} of this machine cannot be used: " in said
    assert "--port" in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((*URL, "--port", "99999"), "a port from 0 to 65535"),
        ((*URL, "--port", "-1"), "a port from 0 to 65535"),
        ((*URL, "--wait", "nan"), "seconds above 0"),
        (("--url", "https://["), "an address like"),
        (("--url", "https://a.example:99999"), "an address like"),
    ],
)
def test_a_number_or_address_that_is_none_is_said(
    tmp_path: Path, words: tuple[str, ...], part: str
) -> None:
    code, said = failing(tmp_path, *words)
    assert code == 2 and part in said and "Traceback" not in said
