"""The operator's settings for set-ups: read at the door, what is wrong is told together."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.settings.door import Door, SettingsError
from worker.settings.sandbox import sandbox_settings


def test_nothing_set_is_a_set_up_with_the_usual_registries_alone() -> None:
    read = sandbox_settings(Door({})).setup
    assert (read.on, read.hosts, read.certificates, read.shared) == (True, (), b"", False)


def test_hosts_mirrors_and_certificates_are_read(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("-----BEGIN CERTIFICATE-----\n")
    read = sandbox_settings(
        Door(
            {
                "PATCHWARRANT_SETUP": "no",
                "PATCHWARRANT_SETUP_HOSTS": "a.example.org, *.example.com",
                "PATCHWARRANT_SETUP_CERTIFICATES": str(bundle),
                "PATCHWARRANT_SETUP_ENV": "PIP_INDEX_URL=https://m.example.org/ X='a b'",
                "PATCHWARRANT_SETUP_SHARED": "yes",
                "PATCHWARRANT_SETUP_RUNTIME": "sysbox-runc",
            }
        )
    ).setup
    assert (read.on, read.shared, read.runtime) == (False, True, "sysbox-runc")
    assert read.hosts == ("a.example.org", "*.example.com")
    assert read.certificates.startswith(b"-----BEGIN")
    assert read.environment == {"PIP_INDEX_URL": "https://m.example.org/", "X": "a b"}


def test_what_is_wrong_is_named_together(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    door = Door(
        {
            "PATCHWARRANT_SETUP_CERTIFICATES": str(empty),
            "PATCHWARRANT_SETUP_ENV": "nothing",
            "PATCHWARRANT_SETUP_SECONDS": "soon",
        }
    )
    with pytest.raises(SettingsError) as wrong:
        sandbox_settings(door)
    for name in ("CERTIFICATES", "ENV", "SECONDS"):
        assert f"PATCHWARRANT_SETUP_{name}" in str(wrong.value)
