"""The receiver's door: what it needs, what it says, what it never shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import REDIS_URL, SettingsError, read


def test_the_secret_comes_from_a_file_and_is_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"s3cret-of-sixteen \n")
    settings = read({"PATCHWARRANT_WEBHOOK_SECRET_FILE": str(file)})
    assert settings.secret.value == b"s3cret-of-sixteen"
    assert settings.redis_url == REDIS_URL
    assert (settings.host, settings.port, settings.durable) == ("127.0.0.1", 8000, True)
    assert settings.warnings == ()
    assert "s3cret-of-sixteen" not in repr(settings)


def test_a_secret_as_a_value_works_with_a_warning_and_leaves_the_environment() -> None:
    names = {"PATCHWARRANT_WEBHOOK_SECRET": "s3cret-of-sixteen", "PATH": "/bin"}
    settings = read(names)
    assert settings.secret.value == b"s3cret-of-sixteen"
    assert "PATCHWARRANT_WEBHOOK_SECRET_FILE is safer" in settings.warnings[0]
    assert names == {"PATH": "/bin"}


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SettingsError) as error:
        read(
            {
                "PATCHWARRANT_REDIS_URL": "http://user:pass@host",
                "PATCHWARRANT_PORT": "70000",
                "PATCHWARRANT_REDIS_CHECK": "maybe",
            }
        )
    said = str(error.value)
    for name in ("WEBHOOK_SECRET_FILE", "REDIS_URL", "PORT", "REDIS_CHECK"):
        assert f"PATCHWARRANT_{name}: " in said
    assert "GitHub App's page" in said
    assert "pass" not in said.replace("password", "")


@pytest.mark.parametrize("content", [None, b"", b" \n"])
def test_a_file_without_a_secret_is_no_secret(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"SECRET_FILE: .*(cannot be read|is empty)"):
        read({"PATCHWARRANT_WEBHOOK_SECRET_FILE": str(file)})


@pytest.mark.parametrize("port", ["x", "-1", "٣", "65536"])
def test_a_port_is_a_number(port: str) -> None:
    with pytest.raises(SettingsError, match="PATCHWARRANT_PORT"):
        read({"PATCHWARRANT_WEBHOOK_SECRET": "s3cret-of-sixteen", "PATCHWARRANT_PORT": port})


def test_the_check_can_be_taken_off_with_a_warning() -> None:
    names = {"PATCHWARRANT_WEBHOOK_SECRET": "s3cret-of-sixteen", "PATCHWARRANT_REDIS_CHECK": "off"}
    settings = read({**names, "PATCHWARRANT_REDIS_URL": "unix:///x", "PATCHWARRANT_HOST": "::1"})
    assert not settings.durable
    assert (settings.host, settings.redis_url) == ("::1", "unix:///x")
    assert any("forgets" in warning for warning in settings.warnings)
    assert "unix:///x" not in repr(settings)


def test_a_secret_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short\n")
    for names in (
        {"PATCHWARRANT_WEBHOOK_SECRET_FILE": str(tmp_path / "secret")},
        {"PATCHWARRANT_WEBHOOK_SECRET": "short"},
    ):
        with pytest.raises(SettingsError, match="too short"):
            read(names)


@pytest.mark.parametrize("url", ["http://x", "redis://host:port/0", "redis", "redis://h:99999"])
def test_an_address_that_no_client_can_read_is_said(url: str) -> None:
    names = {"PATCHWARRANT_WEBHOOK_SECRET": "s3cret-of-sixteen", "PATCHWARRANT_REDIS_URL": url}
    with pytest.raises(SettingsError, match="PATCHWARRANT_REDIS_URL"):
        read(names)
