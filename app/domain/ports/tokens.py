"""The App's power to make and end tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from app.domain.event import Repository


@dataclass(frozen=True)
class Token:
    """An installation token for one repository: `expires` in epoch milliseconds, `minted` on the
    minting process's growing clock in seconds. The repository's name is the one that it has now."""

    secret: str = field(repr=False)
    repository: Repository
    permissions: Mapping[str, str]
    expires: int
    minted: float


class Minter(Protocol):
    """The App's power to make and end tokens."""

    def mint(self, installation: int, repository_id: int, permissions: Mapping[str, str]) -> Token:
        """Raises `Halt(INSTALLATION)`, `IntegrityError` when more was granted than asked."""

    def revoke(self, secret: str) -> None:
        """End a token; one that is unknown is ended already."""
