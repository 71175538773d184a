"""What checks need besides the tree, as configured: `setup`, `services`, `fixers`, `egress`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from app.domain.config_values import (
    ConfigError,
    command_of,
    fitting,
    globs_of,
    inside,
    known_keys,
    number_of,
    text_of,
    texts_of,
    variables_of,
)

SETUP_KEYS = ("run", "packages", "files", "env", "timeout", "again")
SERVICE_KEYS = ("name", "image", "env", "port", "ready", "timeout")
FIXER_KEYS = ("name", "run", "env", "workdir", "paths", "timeout")

PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}(?:=[A-Za-z0-9.+:~-]{1,60})?")
_SERVICE = re.compile(r"[a-z][a-z0-9-]{0,30}")
_FIXER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_SERVICE_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_HOST = re.compile(r"(?:\*\.)?(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")


@dataclass(frozen=True)
class SetupConfig:
    """How dependencies are installed, in place of what would be recognised.

    `run` are commands for `sh -euc`, one after another at the root of the files that set-up sees;
    `packages` are the image's own distribution packages; `files` are globs of what set-up sees
    besides the manifests and lock files; `env` is for set-up and checks; `timeout` in seconds;
    `again`: a candidate that changes the inputs gets a set-up of its own.
    """

    run: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    timeout: int = 900
    again: bool = False


@dataclass(frozen=True)
class ServiceConfig:
    """A server beside every check, reached on the loopback address and by its name.

    `ready` is a command that ends with 0 inside the service when it can be used; without it the
    open `port` is what is waited for, at most `timeout` seconds.
    """

    name: str
    image: str
    port: int
    env: dict[str, str] = field(default_factory=dict)
    ready: tuple[str, ...] = ()
    timeout: int = 60


@dataclass(frozen=True)
class FixerConfig:
    """A formatter or generator whose output the model may ask for as a proposal.

    `paths` are globs: of what it changes only these are taken, () takes all that is in scope.
    """

    name: str
    run: str
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = ""
    paths: tuple[str, ...] = ()
    timeout: int = 120


Value = TypeVar("Value", ServiceConfig, FixerConfig)


def read_setup(value: Any) -> SetupConfig:
    """A list of commands, or a mapping. Raises `ConfigError`."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = {"run": value}
    mapping = known_keys(value, SETUP_KEYS, "setup")
    packages = texts_of(mapping.get("packages", ()), "setup.packages", 100)
    for one in packages:
        if not PACKAGE.fullmatch(one):
            raise ConfigError(f"`setup.packages`: `{one}` is no name of a distribution package")
    run = texts_of(mapping.get("run", ()), "setup.run", 50)
    if any(not one.strip() for one in run):
        raise ConfigError("`setup.run`: a command is wanted, one of them is empty")
    again = mapping.get("again", False)
    if not isinstance(again, bool):
        raise ConfigError("`setup.again`: true or false is wanted")
    return SetupConfig(
        run=run,
        packages=packages,
        files=globs_of(mapping.get("files", ()), "setup.files"),
        env=_variables(mapping.get("env", {}), "setup.env"),
        timeout=number_of(mapping.get("timeout", 900), "setup.timeout", 10, 3_600),
        again=again,
    )


def read_services(value: Any) -> tuple[ServiceConfig, ...]:
    """At most 5 services with different names and ports. Raises `ConfigError`."""
    found = _list(value, "services", 5, _service)
    for one in found:
        if sum(other.port == one.port for other in found) > 1:
            raise ConfigError(f"`services`: two use the port {one.port}; they share one address")
    return found


def read_fixers(value: Any) -> tuple[FixerConfig, ...]:
    """At most 10 fixers with different names. Raises `ConfigError`."""
    return _list(value, "fixers", 10, _fixer)


def read_egress(value: Any) -> tuple[str, ...]:
    """Host names, or `*.` and a domain. Raises `ConfigError`."""
    hosts = texts_of(value, "egress", 50)
    for one in hosts:
        if not _HOST.fullmatch(one):
            raise ConfigError(
                f"`egress`: `{one}` is no host name; wanted: `name.example.org` or `*.example.org`"
            )
    return hosts


def _service(value: Any, where: str) -> ServiceConfig:
    mapping = _needed(known_keys(value, SERVICE_KEYS, where), where, ("name", "image", "port"))
    image = fitting(mapping["image"], f"{where}.image", _SERVICE_IMAGE, "an image name")
    if not image:
        raise ConfigError(f"`{where}.image`: an image name is wanted, this is empty")
    return ServiceConfig(
        name=fitting(
            mapping["name"], f"{where}.name", _SERVICE, "small letters, digits and `-` (31)"
        ),
        image=image,
        port=number_of(mapping["port"], f"{where}.port", 1, 65_535),
        env=variables_of(mapping.get("env", {}), f"{where}.env"),
        ready=command_of(mapping.get("ready", ()), f"{where}.ready"),
        timeout=number_of(mapping.get("timeout", 60), f"{where}.timeout", 1, 300),
    )


def _fixer(value: Any, where: str) -> FixerConfig:
    mapping = _needed(known_keys(value, FIXER_KEYS, where), where, ("name", "run"))
    run = text_of(mapping["run"], f"{where}.run", 4_000)
    if not run.strip():
        raise ConfigError(f"`{where}.run`: a command is wanted, this is empty")
    return FixerConfig(
        name=fitting(
            mapping["name"], f"{where}.name", _FIXER, "letters, digits, dot, `_`, `-` (40)"
        ),
        run=run,
        env=variables_of(mapping.get("env", {}), f"{where}.env"),
        workdir=inside(mapping.get("workdir", ""), f"{where}.workdir", ""),
        paths=globs_of(mapping.get("paths", ()), f"{where}.paths"),
        timeout=number_of(mapping.get("timeout", 120), f"{where}.timeout", 1, 600),
    )


def _list(
    value: Any, where: str, most: int, read: Callable[[Any, str], Value]
) -> tuple[Value, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ConfigError(f"`{where}`: a list is wanted")
    if len(value) > most:
        raise ConfigError(f"`{where}`: at most {most} are possible, not {len(value)}")
    found = tuple(read(one, f"{where}[{index}]") for index, one in enumerate(value))
    names = [one.name.casefold() for one in found]
    for one in found:
        if names.count(one.name.casefold()) > 1:
            raise ConfigError(f"`{where}`: two are called `{one.name}`; names must differ")
    return found


def _needed(mapping: Mapping[str, Any], where: str, names: tuple[str, ...]) -> Mapping[str, Any]:
    for name in names:
        if name not in mapping:
            raise ConfigError(f"`{where}`: `{name}` is missing")
    return mapping


# Set-up runs as root with these deciding what it loads or whom it talks to.
_RESERVED = re.compile(r"(?i)(.*_proxy|LD_.*|PATH|HOME|SSL_CERT_FILE|DEBIAN_FRONTEND)")


def _variables(value: Any, where: str) -> dict[str, str]:
    found = variables_of(value, where)
    for name in found:
        if _RESERVED.fullmatch(name):
            raise ConfigError(f"`{where}`: `{name}` belongs to the sandbox and cannot be set")
    return found
