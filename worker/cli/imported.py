"""The set-up that a workflow's steps describe, as keys of our configuration, with what is lost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote
from typing import Any

from app.domain.config_values import ConfigError

JOB = "copilot-setup-steps"
TOOLS = {  # what an action would have installed, from the image's distribution
    "actions/setup-node": ["nodejs", "npm"],
    "actions/setup-python": ["python3", "python3-pip"],
    "actions/setup-go": ["golang-go"],
    "actions/setup-java": ["default-jdk-headless"],
    "ruby/setup-ruby": ["ruby", "bundler"],
    "shivammathur/setup-php": ["php-cli", "composer"],
    "dtolnay/rust-toolchain": ["cargo"],
}
SILENT = ("actions/checkout", "actions/cache")
_APT = re.compile(r"^\s*(?:sudo\s+)?apt(?:-get)?\s+(?:-\S+\s+)*(update|install)\b(.*)$")
_SCRIPT = re.compile(r"(?<![\w./-])(?:\./)?((?:[\w-]+/)*[\w.-]+\.(?:sh|bash|py|rb|js))\b")
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}")


def setup_of(workflow: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(keys, notes for people). Raises `ConfigError` where no job has steps."""
    jobs = workflow.get("jobs")
    known = jobs if isinstance(jobs, Mapping) else {}
    job = known.get(JOB) or next(iter(known.values()), None)
    if not isinstance(job, Mapping) or not isinstance(job.get("steps"), list):
        raise ConfigError(f"the workflow has no job `{JOB}` with steps")
    notes: list[str] = []
    packages: list[str] = []
    commands: list[str] = []
    for step in job["steps"]:
        if isinstance(step, Mapping):
            _step(step, packages, commands, notes)
    setup: dict[str, Any] = {}
    if packages:
        setup["packages"] = list(dict.fromkeys(packages))
    if commands:
        setup["run"] = commands
    env = _plain(job.get("env"), "env", notes)
    if env:
        setup["env"] = env
    keys: dict[str, Any] = {"version": 1, "setup": setup or []}
    services = _services(job.get("services"), notes)
    if services:
        keys["services"] = services
    return keys, notes


def _step(
    step: Mapping[str, Any], packages: list[str], commands: list[str], notes: list[str]
) -> None:
    action = str(step.get("uses", "")).partition("@")[0]
    name = str(step.get("name") or action or "a step").replace("\n", " ")[:80]
    if action in TOOLS:
        packages += TOOLS[action]
        version = step.get("with")
        asked = version if isinstance(version, Mapping) else {}
        if wanted := [f"{k}: {v}" for k, v in asked.items() if "version" in str(k)]:
            notes.append(
                f"{action} asked for {', '.join(wanted)}; the distribution's own version is used. "
                "Name an image where another one is needed."
            )
    elif action and action not in SILENT:
        notes.append(f"not taken over: the action {action}")
    if not isinstance(step.get("run"), str):
        return
    if _EXPRESSION.search(step["run"]):
        notes.append(f"not taken over, as it holds an expression: {name}")
        return
    lines = [f"export {key}={quote(one)}" for key, one in _plain(
        step.get("env"), f"{name}: env", notes).items()]  # fmt: skip
    exported = len(lines)
    for line in step["run"].splitlines():
        parts = [_without_apt(part, packages) for part in re.split(r"\s*&&\s*", line)]
        if kept := " && ".join(part for part in parts if part is not None):
            lines.append(kept)
    if len(lines) == exported:
        return
    script = "\n".join(lines).strip()
    folder = step.get("working-directory")
    if isinstance(folder, str) and re.fullmatch(r"[\w./-]+", folder):
        script = f"cd {folder}\n{script}"
    notes.extend(
        f"set-up sees no scripts of the repository: name `{one}` under `setup.files`"
        for one in dict.fromkeys(_SCRIPT.findall(script))
    )
    commands.append(script)


def _without_apt(command: str, packages: list[str]) -> str | None:
    """The command without `sudo`; None where it installs `packages`, which are noted instead."""
    found = _APT.match(command)
    if found is None:
        return re.sub(r"\bsudo\s+", "", command)
    if found[1] == "install":
        packages += [
            word
            for word in found[2].split()
            if re.fullmatch(r"[a-z0-9+.-]+", word) and not word.startswith("-")
        ]
    return None


def _plain(value: Any, where: str, notes: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, one in value.items() if isinstance(value, Mapping) else ():
        text = str(one).lower() if isinstance(one, bool) else str(one)
        if _EXPRESSION.search(text):
            notes.append(f"not taken over, as it holds an expression: {where}.{key}")
        else:
            found[str(key)] = text
    return found


def _services(value: Any, notes: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, told in value.items() if isinstance(value, Mapping) else ():
        image = told.get("image") if isinstance(told, Mapping) else None
        ports = told.get("ports") if isinstance(told, Mapping) else None
        port = re.fullmatch(r"(?:\d+:)?(\d+)(?:/tcp)?", str(ports[0])) if ports else None
        if not isinstance(image, str) or port is None:
            notes.append(f"not taken over: the service {name}, as image or port are missing")
            continue
        service: dict[str, Any] = {"name": str(name), "image": image, "port": int(port[1])}
        env = _plain(told.get("env"), f"services.{name}.env", notes)
        if env:
            service["env"] = env
        notes.append(f"the operator has to allow the image {image}")
        found.append(service)
    return found
