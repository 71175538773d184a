"""Reads names one by one from an environment that is handed in; secrets by file, without a repr."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from worker.settings.usual import REDIS_URL

FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
SOCKET_BYTES = 107  # of a unix socket's path
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_WHOLE = re.compile(r"[0-9]{1,15}")


def listed(text: str) -> tuple[str, ...]:
    """What stands between commas, without blanks and empty ones."""
    return tuple(one for part in text.split(",") if (one := part.strip()))


class SettingsError(Exception):
    """Settings are missing or wrong; the text names all of them and where each comes from."""


@dataclass(frozen=True)
class Secret:
    """A value that is never shown."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return "(secret)"


class Door:
    """Reads names from an environment, remembering what is missing and what deserves a warning."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self.environment = environment
        self.missing: list[str] = []
        self.warnings: list[str] = []

    def text(self, name: str, default: str) -> str:
        return self.environment.get(name, "").strip() or default

    def needed(self, name: str, where: str) -> str:
        value = self.environment.get(name, "").strip()
        if not value:
            self.missing.append(f"{name}: {where}")
        return value

    def url(self, name: str, default: str) -> str:
        """An `https://` or `http://` address without its last slash, "" where the default is."""
        value = self.text(name, default).rstrip("/")
        if value and not _web(value):
            self.missing.append(f"{name}: an address like https://HOST is wanted, not {value!r}")
            return default
        return value

    def whole(self, name: str, default: int, least: int = 1, most: int = 1 << 30) -> int:
        """A whole number from `least` to `most`; anything else is said, the default stands in."""
        value = self.text(name, str(default))
        if not (_WHOLE.fullmatch(value) and least <= int(value) <= most):
            self.missing.append(
                f"{name}: a whole number from {least} to {most} is wanted, not {value!r}"
            )
            return default
        return int(value)

    def number(
        self, name: str, default: float, least: float = 1, most: float = float(1 << 30)
    ) -> float:
        """A number from `least` to `most`; anything else is said and the default stands in."""
        value = self.text(name, str(default))
        number = float(value) if _NUMBER.fullmatch(value) else math.nan
        if not least <= number <= most:
            self.missing.append(
                f"{name}: a number from {least:.15g} to {most:.15g} is wanted, not {value!r}"
            )
            return default
        return number

    def flag(self, name: str, default: bool) -> bool:
        """`yes` or `no`; anything else is said: a word that is taken for the other is no choice."""
        value = self.text(name, "yes" if default else "no")
        if value not in FLAGS:
            self.missing.append(f"{name}: yes or no is wanted, not {value!r}")
            return default
        return FLAGS[value]

    def socket(self, name: str, default: str) -> str:
        """A unix socket's path that the kernel takes."""
        value = self.text(name, default)
        if len(os.fsencode(value)) > SOCKET_BYTES:
            self.missing.append(
                f"{name}: a socket's path has at most {SOCKET_BYTES} bytes, not "
                f"{len(os.fsencode(value))}; use a shorter folder"
            )
        return value

    def one_of(self, name: str, default: str, known: tuple[str, ...]) -> str:
        value = self.text(name, default)
        if value not in known:
            self.missing.append(f"{name}: one of {', '.join(known)} is wanted, not {value!r}")
            return default
        return value

    def ids(self, name: str) -> frozenset[int]:
        """Numbers by commas; anything else is said."""
        parts = listed(self.text(name, ""))
        if not all(one.isascii() and one.isdecimal() for one in parts):
            self.missing.append(f"{name}: account ids by commas are wanted (numbers, no names)")
            return frozenset()
        return frozenset(map(int, parts))

    def caps(self, name: str, default: Mapping[str, int]) -> dict[str, int]:
        """`scope=number` by commas over the defaults; an unknown scope or no number is said."""
        found = dict(default)
        for part in listed(self.text(name, "")):
            scope, _, value = part.partition("=")
            if scope.strip() not in default or not value.strip().isdecimal():
                self.missing.append(
                    f"{name}: `scope=number` is wanted, not {part!r}; "
                    f"scopes are {', '.join(default)}"
                )
                continue
            found[scope.strip()] = int(value)
        return found

    def secret(self, name: str, where: str) -> Secret:
        """From the file that `<name>_FILE` names, else from `name` itself, with a warning.

        The value leaves the environment, so that no child inherits it.
        """
        file = self.text(f"{name}_FILE", "")
        if file:
            try:
                value = Path(file).read_text(encoding="utf-8").strip()
            except OSError as error:
                self.missing.append(f"{name}_FILE: {file} cannot be read: {error.strerror}")
                return Secret("")
            except UnicodeDecodeError:
                self.missing.append(f"{name}_FILE: {file} holds no text; it should hold {where}")
                return Secret("")
            if not value:
                self.missing.append(f"{name}_FILE: {file} is empty; it is {where}")
            return Secret(value)
        value = self.environment.pop(name, "").strip()
        if not value:
            self.missing.append(f"{name}_FILE: {where}")
        else:
            self.warnings.append(
                f"{name} is set as a value; a file named by {name}_FILE is safer, "
                "since other processes of this user can read an environment"
            )
        return Secret(value)

    def forget(self, prefix: str) -> None:
        """Take every name with this prefix out of the environment: a library would read it."""
        for name in [name for name in self.environment if name.startswith(prefix)]:
            del self.environment[name]

    def close(self) -> None:
        """Raise `SettingsError` if anything was missing or wrong."""
        if self.missing:
            raise SettingsError(
                "These settings are missing or wrong:\n  " + "\n  ".join(self.missing)
            )


def redis_url(door: Door) -> str:
    """The address, from a file where one is named; it is never repeated: it may hold a password."""
    file = door.text("PATCHWARRANT_REDIS_URL_FILE", "")
    value = door.text("PATCHWARRANT_REDIS_URL", REDIS_URL)
    if file:
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            door.missing.append(
                f"PATCHWARRANT_REDIS_URL_FILE: {file} cannot be read: {type(error).__name__}"
            )
    if not _redis(value):
        door.missing.append(
            "PATCHWARRANT_REDIS_URL: redis://HOST:6379/0, rediss://… or unix:///path/to/socket "
            "is wanted"
        )
    return value


def _redis(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("redis", "rediss", "unix") and (parts.port or 0) >= 0
    except ValueError:  # a port that is no number
        return False


def _web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
