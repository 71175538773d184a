"""Where real payloads and tool outputs lie; tests that need them skip where they are missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def shared_dir() -> Path:
    """The folder with shared test data; skips the test, with the reason, where it is missing."""
    named = os.environ.get("PATCHWARRANT_SHARED")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"shared test data is missing: no folder {folder.name}/data beside the project")
    return folder
