"""Commands that a Makefile's goals and a package.json's scripts lead to, as shell text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

_RULE = re.compile(r"^([^\s#:=][^:=#]*?)\s*::?(?!=)\s*([^;\n]*)(?:;(.*))?$")
_DEFINED = re.compile(r"^\s*(?:export\s+|override\s+)?([\w.-]+)\s*(?::{0,3}|\?|\+)=\s*(.*)$")
_USED = re.compile(r"\$[({]([\w.-]+)[)}]")
_RUNS = re.compile(
    r"\b(?:npm|pnpm|yarn|bun)\s+(?:run(?:-script)?\s+)?([\w:.-]+)|run-[sp]\s+([\w:. -]+)"
)
_HELD = 60


def make_text(text: str, goals: Sequence[str]) -> str:
    """The recipes that `goals` (the first target where none is given) reach; all of them where a
    goal is not found. Simple variables are filled in."""
    known: dict[str, str] = {}
    rules: list[tuple[list[str], list[str], list[str]]] = []
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        if line.startswith(("\t", "    ")) and rules:
            rules[-1][2].append(line.strip().lstrip("@-+ "))
        elif defined := _DEFINED.match(line):
            known.setdefault(defined[1], defined[2])
        elif rule := _RULE.match(line):
            rules.append((rule[1].split(), rule[2].split(), [rule[3]] if rule[3] else []))
    reached = _reached(rules, list(goals) or _first(rules))
    lines = [line for _, _, recipe in reached for line in recipe]
    lines += [found for value in known.values() for found in re.findall(r"\$\(shell (.*)\)", value)]
    return "\n".join(_filled(line, known) for line in lines)


_Rules = list[tuple[list[str], list[str], list[str]]]


def _first(rules: _Rules) -> list[str]:
    return next((t[:1] for t, _, _ in rules if t and not t[0].startswith(".")), [])


def _reached(rules: _Rules, goals: list[str]) -> _Rules:
    plain = {target for targets, _, _ in rules for target in targets}
    if not goals or any(goal not in plain for goal in goals):
        return rules
    wanted, waiting = set[str](), list(goals)
    while waiting:
        goal = waiting.pop()
        if goal in wanted:
            continue
        wanted.add(goal)
        waiting += [need for targets, needs, _ in rules if goal in targets for need in needs]
    return [one for one in rules if any(t in wanted or "%" in t or "$" in t for t in one[0])]


def _filled(line: str, known: dict[str, str]) -> str:
    for _ in range(4):
        line, before = _USED.sub(lambda m: known.get(m[1], m[0]), line), line
        if line == before:
            break
    return _USED.sub(r"$\1", line).replace("$$", "$")


def script_texts(text: str, name: str) -> Iterable[str]:
    """The command of a package.json's script, of those around it and of those that it calls."""
    try:
        scripts: Any = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return
    if not isinstance(scripts, dict):
        return
    waiting, seen = [name], set[str]()
    while waiting and len(seen) < _HELD:
        one = waiting.pop(0)
        if one in seen:
            continue
        seen.add(one)
        for key in (f"pre{one}", one, f"post{one}"):
            said = scripts.get(key)
            if not isinstance(said, str):
                continue
            yield said
            for called in _RUNS.finditer(said):
                waiting += (called[1] or called[2]).split()
