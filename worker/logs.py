"""Logging for every role: one line format on standard error, each line redacted."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable

from app.domain.redact import Redactor

# Libraries that say at INFO what we say ourselves, or print addresses.
QUIET = ("httpx", "httpx2", "httpcore", "httpcore2", "urllib3", "docker", "rq", "anthropic")


class Redacting(logging.Formatter):
    """Formats a record, traceback included, and takes secrets out of the result."""

    def __init__(self, values: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self.redactor = Redactor(tuple(value for value in values if value))

    def format(self, record: logging.LogRecord) -> str:
        return self.redactor.redact(super().format(record))


def configure(values: Iterable[str] = ()) -> None:
    """Log to standard error; `values` are this process's own secrets."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Redacting(values))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
