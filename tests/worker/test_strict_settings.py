"""Settings that are nearly right: each is named, none is taken for something else."""

from __future__ import annotations

import pytest

from worker.settings.door import Door, SettingsError
from worker.settings.runner import runner_settings
from worker.settings.sandbox import sandbox_settings

FLAGS = ("PATCHWARRANT_SANDBOX_STRICT", "PATCHWARRANT_SETUP", "PATCHWARRANT_SETUP_SHARED")


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", ["on", "Yes", "maybe", "flase", "perhaps", "y", "off", "2"])
def test_a_choice_that_is_neither_yes_nor_no_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}: yes or no is wanted, not '{value}'"):
        sandbox_settings(Door({name: value}))


def test_yes_and_no_are_read() -> None:
    for value, wanted in (("yes", True), ("1", True), ("true", True), ("no", False), ("0", False)):
        read = sandbox_settings(Door(dict.fromkeys(FLAGS, value)))
        assert (read.strict, read.setup.on, read.setup.shared) == (wanted, wanted, wanted)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATCHWARRANT_SANDBOXES", "999999999"),
        ("PATCHWARRANT_SANDBOXES", "-1"),
        ("PATCHWARRANT_SANDBOXES_AHEAD", "1e6"),
        ("PATCHWARRANT_SANDBOXES_AHEAD", "1000000"),
        ("PATCHWARRANT_SANDBOXES_PER_RUN", "1.5"),
        ("PATCHWARRANT_SANDBOXES_PER_INSTALLATION", "some"),
        ("PATCHWARRANT_SANDBOX_TOTAL_MIB", "1_000"),
        ("PATCHWARRANT_SANDBOX_DISK_FLOOR_MIB", "1<<60"),
        ("PATCHWARRANT_SANDBOX_SECONDS", "0"),
        ("PATCHWARRANT_IMAGE_DAYS", "nan"),
        ("PATCHWARRANT_IMAGES_MIB", "0"),
        ("PATCHWARRANT_SETUP_SECONDS", "1e3"),
        ("PATCHWARRANT_SETUP_MEMORY_MIB", "1"),
        ("PATCHWARRANT_SETUP_DISK_MIB", "99999999999999999999"),
    ],
)
def test_a_number_out_of_its_range_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}: a (whole )?number from"):
        sandbox_settings(Door({name: value}))


def test_a_socket_path_that_the_kernel_would_not_take_is_named_by_both_sides() -> None:
    path = f"/run/{'x' * 120}/s.sock"
    for role in (sandbox_settings, runner_settings):
        with pytest.raises(
            SettingsError, match="PATCHWARRANT_SANDBOX: a socket's path has at most"
        ):
            role(Door({"PATCHWARRANT_SANDBOX": path}))


def test_the_networks_of_set_ups_are_read() -> None:
    read = sandbox_settings(Door({"PATCHWARRANT_SETUP_NETWORKS": "10.0.0.0/8, fd00::/8"})).setup
    assert read.networks == ("10.0.0.0/8", "fd00::/8")
