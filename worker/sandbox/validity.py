"""Whether the certificates that a folder holds are valid today, before anybody meets them."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509

from app.domain.errors import Refused


def valid(folder: str, setting: str, now: float) -> None:
    """`now` in epoch seconds; `setting` is what names the folder. What is missing is not looked at.

    Raises `Refused` for one that is over, not valid yet or no certificate."""
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    for path in (Path(folder) / "cert.pem", Path(folder) / "ca.pem"):
        if path.is_file():
            _valid(path, setting, moment)


def _valid(path: Path, setting: str, now: datetime.datetime) -> None:
    try:
        held = x509.load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise Refused(f"{setting}: {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise Refused(f"{setting}: {path} cannot be read as a certificate in PEM form") from None
    if path.name == "cert.pem":
        held = held[:1]  # the others only lead to the CA
    if all(one.not_valid_after_utc < now for one in held):
        day = max(one.not_valid_after_utc for one in held).date()
        raise Refused(f"{setting}: {path} has expired on {day}; put a new one there")
    if all(one.not_valid_before_utc > now for one in held):
        day = min(one.not_valid_before_utc for one in held).date()
        raise Refused(
            f"{setting}: {path} is valid from {day} on only; is the clock of this machine right?"
        )
