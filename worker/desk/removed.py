"""Erases everything of an installation that GitHub says is gone."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from app.domain.errors import Missing
from worker.desk.github.auth import App
from worker.store import retention
from worker.store.ledger import Ledger

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Removed:
    """One pass a call. What we were told is looked at live before anything is erased."""

    ledger: Ledger
    app: App

    def __call__(self) -> None:
        """Raises `Unavailable` when GitHub or Redis is away."""
        for installation in self.ledger.leaving():
            if self._there(installation):
                log.warning("installation %d is there; nothing was erased", installation)
                self.ledger.stays(installation)
                continue
            left = retention.erase(self.ledger, installation)
            log.info("installation %d was erased; %d runs are still held", installation, left)

    def _there(self, installation: int) -> bool:
        try:
            self.app.call("GET", f"/app/installations/{installation}")
        except Missing:
            return False
        return True
