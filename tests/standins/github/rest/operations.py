"""The whole REST API of the stand-in, in the order in which paths are tried."""

from __future__ import annotations

from tests.standins.github.rest import (
    apps,
    checks,
    git_data,
    issues,
    pulls,
    refs,
    repositories,
    settings,
)

ALL = (
    *apps.OPERATIONS,
    *checks.OPERATIONS,
    *git_data.OPERATIONS,
    *refs.OPERATIONS,
    *issues.OPERATIONS,
    *pulls.OPERATIONS,
    *git_data.LATER,
    *settings.OPERATIONS,
    *repositories.OPERATIONS,
)
