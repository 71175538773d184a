"""Settings: read once, all that is missing named together, secrets by file and never shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from worker.settings.desk import CAPS, desk_settings
from worker.settings.door import Door, SettingsError
from worker.settings.person import local_settings, operator_settings
from worker.settings.runner import runner_settings
from worker.settings.sandbox import sandbox_settings
from worker.settings.usual import REDIS_URL


def door(**values: str) -> Door:
    return Door(dict(values))


def test_everything_missing_is_named_at_once_with_where_to_get_it() -> None:
    with pytest.raises(SettingsError) as caught:
        desk_settings(door())
    text = str(caught.value)
    for name in ("PATCHWARRANT_APP_ID", "PATCHWARRANT_APP_KEY_FILE", "PATCHWARRANT_SEAL_FILE"):
        assert name in text
    assert "Private keys" in text


def test_a_secret_comes_from_its_file_and_has_no_repr(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-very-secret\n")
    made = runner_settings(door(ANTHROPIC_API_KEY_FILE=str(file)))
    assert made.model_key.value == "sk-very-secret"
    assert "very-secret" not in repr(made) + str(made.model_key)
    assert made.model == "claude-sonnet-5-5"
    assert made.model_url == "https://api.anthropic.com"


def test_a_value_works_with_a_warning_and_leaves_the_environment() -> None:
    entry = door(ANTHROPIC_API_KEY="sk-x", ANTHROPIC_CUSTOM_HEADERS="X: y", PATH="/bin")
    assert runner_settings(entry).model_key.value == "sk-x"
    assert len(entry.warnings) == 1
    assert "ANTHROPIC_API_KEY_FILE" in entry.warnings[0]
    assert entry.environment == {"PATH": "/bin"}


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        runner_settings(door(ANTHROPIC_API_KEY_FILE=str(tmp_path / "none")))


def test_an_empty_secret_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("\n")
    with pytest.raises(SettingsError, match="is empty"):
        runner_settings(door(ANTHROPIC_API_KEY_FILE=str(tmp_path / "key")))


@pytest.mark.parametrize("value", ["many", "nan", "-1", "0.5", "inf"])
def test_a_number_that_is_none_is_said(value: str) -> None:
    with pytest.raises(SettingsError, match="PATCHWARRANT_SANDBOXES"):
        sandbox_settings(door(PATCHWARRANT_SANDBOXES=value))


@pytest.mark.parametrize(
    ("said", "daily", "large"),
    [
        ({}, 25_000_000, 15_000_000),
        ({"PATCHWARRANT_DAILY_DOLLARS": "0.3"}, 300_000, 180_000),
        ({"PATCHWARRANT_LARGE_DAILY_DOLLARS": "3.5"}, 25_000_000, 3_500_000),
        ({"PATCHWARRANT_LARGE_DAILY_DOLLARS": "0"}, 25_000_000, 0),
        ({"PATCHWARRANT_LARGE_DAILY_DOLLARS": "99"}, 25_000_000, 25_000_000),
    ],
)
def test_runs_of_class_large_have_a_share_of_the_day(
    said: dict[str, str], daily: int, large: int
) -> None:
    made = runner_settings(door(ANTHROPIC_API_KEY="sk-x", **said))
    assert (made.daily, made.large_daily, made.large_workers) == (daily, large, 1)


def test_lists_are_split_at_commas() -> None:
    made = sandbox_settings(door(PATCHWARRANT_IMAGES=" a , ,b "))
    assert made.images == ("a", "b")
    assert made.memory == 4096 << 20


def test_the_operators_commands_need_the_ledger_alone() -> None:
    assert operator_settings(door()).redis_url == REDIS_URL


WRONG = [
    (desk_settings, "PATCHWARRANT_APP_ID", "x"),
    (desk_settings, "PATCHWARRANT_DAILY_DOLLARS", "-5"),
    (desk_settings, "PATCHWARRANT_DAILY_DOLLARS", "NaN"),
    (desk_settings, "PATCHWARRANT_DAILY_DOLLARS", "inf"),
    (runner_settings, "PATCHWARRANT_DAILY_DOLLARS", "inf"),
    (desk_settings, "PATCHWARRANT_DESK_WORKERS", "0"),
    (desk_settings, "PATCHWARRANT_DESK_WORKERS", "1.5"),
    (runner_settings, "PATCHWARRANT_RUNNER_WORKERS", "1e300"),
    (desk_settings, "PATCHWARRANT_LEASE_SECONDS", "0"),
    (desk_settings, "GITHUB_API_URL", "ftp://x"),
    (desk_settings, "GITHUB_API_URL", "https://"),
    (local_settings, "GITHUB_API_URL", "nowhere"),
    (runner_settings, "GITHUB_SERVER_URL", "file:///etc"),
    (runner_settings, "PATCHWARRANT_MODEL_URL", "http://h:port"),
    (operator_settings, "PATCHWARRANT_REDIS_URL", "http://u:secret@x"),
    (operator_settings, "PATCHWARRANT_REDIS_URL", "redis://h:port/0"),
    (desk_settings, "PATCHWARRANT_REDIS_URL", "nothing"),
    (sandbox_settings, "PATCHWARRANT_SANDBOX_MEMORY_MIB", "1"),
]


@pytest.mark.parametrize(("role", "name", "value"), WRONG)
def test_what_makes_no_sense_is_refused_by_name(
    role: Callable[[Door], object], name: str, value: str
) -> None:
    with pytest.raises(SettingsError, match=name) as caught:
        role(door(**{name: value}))
    assert "secret@" not in str(caught.value)


def test_a_secret_file_that_is_no_text_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "seal").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="holds no text") as caught:
        desk_settings(door(PATCHWARRANT_SEAL_FILE=str(tmp_path / "seal")))
    assert "codec" not in str(caught.value)
    with pytest.raises(SettingsError, match="No such file") as caught:
        desk_settings(door(PATCHWARRANT_SEAL_FILE=str(tmp_path / "none")))
    assert "Errno" not in str(caught.value)


def test_caps_stand_over_their_defaults_and_what_is_amiss_is_said() -> None:
    entry = door(C=" issue=2, user = 3 ")
    assert entry.caps("C", CAPS) == {**CAPS, "issue": 2, "user": 3}
    for wrong in ("issues=2", "issue", "issue=-1", "issue=x"):
        entry = door(C=wrong)
        assert entry.caps("C", CAPS) == CAPS and entry.missing
