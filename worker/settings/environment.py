"""The process's own environment and this host's clock: nothing else here touches them."""

from __future__ import annotations

import os
import time
from collections.abc import MutableMapping
from pathlib import Path

from app.domain import env_file
from worker.settings.door import SettingsError


def environment() -> MutableMapping[str, str]:
    """The process's environment, the only place that touches it; what it does not say comes from
    the file that PATCHWARRANT_ENV_FILE names. Raises `SettingsError`."""
    file = os.environ.get("PATCHWARRANT_ENV_FILE", "").strip()
    if file:
        try:
            more = env_file.parsed(Path(file).read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(
                f"PATCHWARRANT_ENV_FILE: {file} cannot be read: {error.strerror}"
            ) from None
        except ValueError as error:
            raise SettingsError(f"PATCHWARRANT_ENV_FILE: {file}: {error}") from None
        for name, value in more.items():
            os.environ.setdefault(name, value)
    return os.environ


def clock() -> float:
    """This host's clock, epoch seconds: for what runs without the ledger."""
    return time.time()
