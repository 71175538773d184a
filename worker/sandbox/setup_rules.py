"""The operator's word on set-ups; what cannot work or would hand out a credential is refused."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from app.domain.errors import Refused
from worker.sandbox.allow_list import Network, is_address, is_host
from worker.sandbox.profile import GIB

_URL = re.compile(r"https?://(?P<host>[A-Za-z0-9.-]+(?::[0-9]+)?)")
# `user@`, `user:pass@`, also with a slash in the password; `https://host/@scope` is none.
_USER = re.compile(r"//[^\s@]*[^\s@/]@|(?<![^\s'\",;=])[^\s/:@]+:[^\s@]*[^\s@/]@")
_FORM = re.compile(
    r"(?i)_auth(?:token)?\b|_password\b|\b(?:passw(?:or)?d|pwd|(?:\w*_)?token|secret|api[-_]?key"
    r"|access[-_]?key|private[-_]token|sig|signature)\b[\"']?\s*[=:]|\bauthorization\b"
    r"|\b(?:bearer|basic)\s+[A-Za-z0-9+/=._-]{6,}|\bmachine\s+\S+\s+login\b|\"http-basic\""
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_NAME = re.compile(
    r"(?i).*(?:PASSW(?:OR)?D|TOKEN|SECRET|CREDENTIALS?|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|NETRC)"
    r"|(?:.*_)?_?AUTH(?:ORIZATION)?|(?:.*_)PASS|(?:.*_)?HTTP_BASIC(?:_.*)?"
)
_BUNDLER = re.compile(r"(?i)BUNDLE_.*__.*")  # Bundler's credentials of a host: `user:password`


@dataclass(frozen=True)
class SetupRules:
    """The operator's word on set-ups.

    `hosts` are let through besides the usual registries, and are those that a repository's `egress`
    may name (`*`: any name); names may lead into `networks` although these are not public;
    `certificates` is a PEM bundle for the builder alone; `environment` holds mirror settings for
    the builder alone; `shared` lets installations use each other's images. `seconds`, `memory` and
    `disk` bound one builder, `at_once` their number, `waiting` how many more may wait; `runtime` is
    who runs builders, "" for who runs checks.

    Raises `Refused` that names the setting."""

    on: bool = True
    hosts: tuple[str, ...] = ()
    certificates: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    shared: bool = False
    seconds: int = 1800
    memory: int = 4 * GIB
    disk: int = 8 * GIB
    at_once: int = 2
    networks: tuple[str, ...] = ()
    waiting: int = 64
    runtime: str = ""

    def __post_init__(self) -> None:
        for name, value in self.environment.items():
            if value and secretive(name, value):
                raise Refused(
                    f"the set-up's variable {name} (PATCHWARRANT_SETUP_ENV) holds a user name, "
                    "password or token; set-ups get no credentials: use a mirror that needs none"
                )
        for host in self.hosts:
            if host != "*" and not is_host(host):
                why = "an address; only names are let through" if is_address(host) else "no name"
                raise Refused(
                    f"PATCHWARRANT_SETUP_HOSTS: {host!r} is {why}: `name`, `*.domain` or "
                    "`name:port` is wanted"
                )
        for one in self.networks:
            _network(one)

    def own(self) -> tuple[str, ...]:
        """The hosts that the operator named, mirrors included."""
        return (*(one for one in self.hosts if one != "*"), *self._mirrors())

    def _mirrors(self) -> Iterator[str]:
        for value in self.environment.values():
            for found in _URL.finditer(value):
                yield found["host"].lower()


def secretive(name: str, value: str) -> bool:
    """Whether a variable holds a credential in any form that package clients know."""
    if value.lower() in ("0", "1", "true", "false", "yes", "no"):
        return False
    if _NAME.fullmatch(name) or _USER.search(value) or _FORM.search(value):
        return True
    return bool(_BUNDLER.fullmatch(name)) and ":" in value and "//" not in value


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise Refused(
            f"PATCHWARRANT_SETUP_NETWORKS: {text!r} is no network ({error}); "
            "one like 10.1.2.0/24 is wanted"
        ) from None
