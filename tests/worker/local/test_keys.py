"""A key is taken however it was written down, and a wrong one is said to be what it is."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.worker.local.world import CONFIG, LINE, SIGNER, STRANGER, Scene, scene
from worker.attest.signing import KeyUnusable, Signer
from worker.cli import key
from worker.local import verify
from worker.settings.door import Door

LINES = {
    "pem": SIGNER.public_pem,
    "line": f"{LINE}\n",
    "line of the configuration": f'evidence: {{key: "{LINE}"}}\n',
    "in its other form": f"evidence:\n  key: {LINE}\n",
    "whole configuration": CONFIG,
    "both": f"a word\n{SIGNER.public_pem}\nAnd: {LINE}\n",
}


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def verified(made: Scene, text: str) -> int:
    path = made.place.parent / "trusted"
    path.write_text(text)
    words = [str(made.file), "--repo", str(made.place), "--key", str(path)]
    return verify.main(Door({}), words)


@pytest.mark.parametrize("how", LINES)
def test_a_public_key_is_taken_in_every_form_that_is_printed(made: Scene, how: str) -> None:
    assert verified(made, LINES[how]) == 0


def test_what_key_signing_prints_is_taken_as_a_file(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first thing that anybody does with it: `key signing FILE > public.txt`."""
    file = made.place.parent / "signing.pem"
    assert key.main(Door({}), ["signing", str(file)]) == 0
    printed = capsys.readouterr().out
    made.file.write_bytes(made.bundle(signer=Signer.load(file)))
    assert verified(made, printed) == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{LINE}\n{STRANGER.public_pem}", "It holds 2 different keys"),
        ("nothing\n", "It holds no key. Wanted is a public key"),
        (LINE[:-3], "is no key"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "no PEM public key"),
    ],
    ids=["two", "none", "cut", "broken"],  # the keys are new each time
)
def test_a_file_that_is_no_one_key_is_said(
    made: Scene, text: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verified(made, text) == 2
    words = " ".join(capsys.readouterr().out.split())
    assert f"{made.place.parent / 'trusted'}: " in words and why in words


def test_a_private_key_is_said_to_be_one_and_not_shown(
    made: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    file = made.place.parent / "signing.pem"
    Signer.load(file)
    secret = file.read_text()
    assert verified(made, secret) == 2
    words = " ".join(capsys.readouterr().out.split())
    assert "It holds a private key" in words and "`patchwarrant key signing FILE`" in words
    assert secret.splitlines()[1] not in words


@pytest.mark.parametrize("text", [SIGNER.public_pem, f"{LINE}\n"], ids=["pem", "line"])
def test_a_public_key_cannot_sign_and_is_said_to_be_one(tmp_path: Path, text: str) -> None:
    file = tmp_path / "public.pem"
    file.write_text(text)
    with pytest.raises(KeyUnusable, match="holds a public key, which cannot sign"):
        Signer.load(file)
    assert file.read_text() == text
    assert stat.S_IMODE(file.stat().st_mode) != 0o600  # and its mode is not what was said


def test_help_says_what_each_key_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        key.main(Door({}), ["--help"])
    words = capsys.readouterr().out
    for wanted in ("PATCHWARRANT_SEAL_FILE", "evidence: {key:", "examples", "Exit code: 0"):
        assert wanted in words
    with pytest.raises(SystemExit, match="2"):
        key.main(Door({}), ["colour", "file"])
