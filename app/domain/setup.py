"""The set-up of a tree: what is installed, from which bytes, and what of it checks see later.

The plan is the whole input: set-up sees the plan's files and nothing else of the tree, so two trees
with equal plans have equal environments, and a tree with another plan needs another set-up.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain.edit import EXECUTABLE, FILE, Entry
from app.domain.environment_config import ServiceConfig, SetupConfig
from app.domain.glob import match

VIEW_CAP = 32 << 20  # bytes of all files that a set-up sees
FILE_CAP = 8 << 20
HOME = "/opt/patchwarrant"  # in the image: what checks use and do not find on the system's paths


@dataclass(frozen=True)
class Tool:
    """A program that steps and checks need. `packages` (the distribution's) and then `install`, a
    command, are used only where `probe` fails."""

    name: str
    probe: str
    packages: tuple[str, ...] = ()
    install: str = ""


@dataclass(frozen=True)
class Step:
    """One command for `sh -euc` in `folder` of the files that set-up sees."""

    title: str
    run: str
    folder: str = ""


@dataclass(frozen=True)
class SetupPlan:
    """Everything that decides an environment, besides base image and profile.

    `files` are (path, bytes) pairs sorted by path, reduced to what concerns dependencies; `links`
    are folders that steps make and that each check finds at the same place in its workspace;
    `env` holds for steps and checks; `hosts` are what the configuration asks for beyond the
    clients' usual registries of `ecosystems`; `timeout` in seconds.
    """

    tools: tuple[Tool, ...] = ()
    packages: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    links: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    ecosystems: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    services: tuple[ServiceConfig, ...] = ()
    timeout: int = 900
    assumed: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.tools or self.packages or self.steps or self.services or self.env)

    @property
    def only_packages(self) -> bool:
        """Whether nothing but the distribution's package manager runs, with nobody's settings."""
        installs = any(tool.install for tool in self.tools)
        return not (self.steps or self.files or self.env or installs)

    def digest(self) -> str:
        """SHA-256 over all of it but the sentences for people."""
        told = {
            "tools": [[t.name, t.probe, list(t.packages), t.install] for t in self.tools],
            "packages": list(self.packages),
            "steps": [[s.title, s.run, s.folder] for s in self.steps],
            "files": [[path, hashlib.sha256(data).hexdigest()] for path, data in self.files],
            "links": list(self.links),
            "env": dict(sorted(self.env.items())),
            "ecosystems": list(self.ecosystems),
            "hosts": list(self.hosts),
            "services": [
                [s.name, s.image, s.port, dict(sorted(s.env.items())), list(s.ready), s.timeout]
                for s in self.services
            ],
            "timeout": self.timeout,
        }
        return hashlib.sha256(
            json.dumps(told, sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()


@dataclass(frozen=True)
class SetupOutcome:
    """What the sandbox made of a plan: `image` is "" when a step failed, `error` then says which.

    `key` names inputs, base image and profile; `log` is the capped output of the steps, also when
    the image was there already (`reused`); `refused` are hosts that the proxy turned away.
    """

    image: str
    key: str
    ms: int
    reused: bool
    log: bytes
    error: str = ""
    refused: tuple[str, ...] = ()


class SetupError(ValueError):
    """The tree's set-up cannot be planned; the text says why and what to do."""


@dataclass(frozen=True)
class Sight:
    """A tree as recognition sees it: regular files alone, small ones readable."""

    files: Mapping[str, Entry]
    read: Callable[[str], bytes]

    @staticmethod
    def of(entries: Sequence[Entry], read: Callable[[str], bytes]) -> Sight:
        return Sight({e.path: e for e in entries if e.mode in (FILE, EXECUTABLE)}, read)

    def bytes_of(self, path: str) -> bytes:
        """A file's bytes, b"" where there is none or it is too large."""
        entry = self.files.get(path)
        return self.read(path) if entry is not None and entry.size <= FILE_CAP else b""


def configured(recognised: SetupPlan, config: SetupConfig, sight: Sight) -> SetupPlan:
    """The recognised plan with what the configuration says instead: its commands replace the
    recognised ones, its files are seen besides the manifests and lock files, and of the recognised
    tools those are there that its commands speak of.

    Raises `SetupError` when that is too much to see."""
    seen = dict(recognised.files)
    for path in sight.files:
        if path not in seen and any(match(glob, path) for glob in config.files):
            seen[path] = sight.bytes_of(path)
    if sum(map(len, seen.values())) > VIEW_CAP:
        raise SetupError(
            f"`setup.files` names more than {VIEW_CAP >> 20} MiB; name only what set-up reads"
        )
    steps = tuple(Step(f"setup.run[{index}]", command) for index, command in enumerate(config.run))
    spoken = " ".join(config.run)
    return replace(
        recognised,
        tools=tuple(tool for tool in recognised.tools if _named(tool, spoken)),
        packages=config.packages,
        steps=steps,
        files=tuple(sorted(seen.items())),
        env={**recognised.env, **config.env},
        timeout=config.timeout,
        assumed=(),
    )


def _named(tool: Tool, spoken: str) -> bool:
    """Whether commands speak of a tool, by its name or by the program that its probe asks."""
    words = {tool.name, tool.probe.partition(" ")[0]} - {"python3"}
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", spoken) for word in words)
