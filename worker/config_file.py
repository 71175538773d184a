"""The bytes of `.github/agent.yml` as a plain mapping, strictly (see docs/configuration.md).

What YAML can do beyond plain values is refused with its line: duplicate keys (the later one would
win silently), anchors and aliases (a few bytes can become gigabytes), tags, merge keys, a second
document. Words such as `on`, `yes` or `1:30` are text here, as in YAML 1.2.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any

import yaml

from app.domain.repo_config import CONFIG_PATH, ConfigError, RepoConfig, read

SIZE_CAP = 64 * 1024
DEPTH_CAP = 16


def config_of(data: bytes) -> RepoConfig:
    """The configuration that the file's bytes say. Raises `ConfigError`."""
    return read(load(data))


def load(data: bytes) -> Mapping[str, Any]:
    """The file's mapping, {} for an empty file. Raises `ConfigError` naming the line."""
    if len(data) > SIZE_CAP:
        raise ConfigError(f"{CONFIG_PATH} is {len(data)} bytes; at most {SIZE_CAP} are read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(f"{CONFIG_PATH}, line {line}: it is not UTF-8") from None
    try:
        _plain(text)
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader, narrowed below
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{CONFIG_PATH}{_at(error)}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{CONFIG_PATH}: it cannot be read: {_unprinted(error)}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{CONFIG_PATH}, line 1: `key: value` lines are wanted at the top")
    return value


def placed(error: ConfigError, where: str) -> str:
    """The complaint with its file named, once; `where` is that file, of which commit or folder."""
    said = str(error)
    if said.startswith(CONFIG_PATH):  # "…, line 2: …"
        return where + said.removeprefix(CONFIG_PATH)
    return f"{where}: {said}"


def workflow_of(data: bytes) -> Mapping[str, Any] | None:
    """A workflow file's mapping; None where it is none, or does more than plain values need."""
    try:
        return load(data)
    except ConfigError:
        return None


def _plain(text: str) -> None:
    """Refuse, before anything is built, what plain values do not need."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _amiss("a second document begins; only one is possible", event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _amiss("anchors (`&`) and aliases (`*`) are not possible; quote the text", event)
        if getattr(event, "tag", None):
            raise _amiss("tags (`!`) are not possible; quote the text", event)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_CAP:
                raise _amiss(f"values are nested more than {DEPTH_CAP} deep", event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _amiss(what: str, event: yaml.Event) -> yaml.MarkedYAMLError:
    mark = event.start_mark
    return yaml.MarkedYAMLError(
        problem=what, problem_mark=mark if isinstance(mark, yaml.Mark) else None
    )


def _at(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f", line {mark.line + 1}" if mark else ""


def _unprinted(error: yaml.YAMLError) -> str:
    """The reader's complaint, on one line; it names the code point and its position."""
    return " ".join(str(error).split())[:200]


class _Loader(yaml.SafeLoader):
    """Plain values alone; a duplicate key is an error."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        found: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _error("a key must be text; quote it", key_node)
            if key in found:
                raise _error(f"the key `{key}` stands here for a second time", key_node)
            found[key] = self.construct_object(value_node, deep=True)
        return found


def _error(what: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=node.start_mark)


for _tag, _pattern, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})$", "-+0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}$", "-+0123456789"),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))
