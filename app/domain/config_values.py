"""Values of the configuration file, read strictly: what does not fit is an error with its key."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

CONFIG_PATH = ".github/agent.yml"

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class ConfigError(ValueError):
    """The configuration cannot be used; the text names the key, what is wrong, and what fits."""


def command_of(value: Any, where: str) -> tuple[str, ...]:
    """A command as words: a list, or a string of words without quotes."""
    if isinstance(value, str):
        return tuple(text_of(value, where, 4_000).split())
    words = texts_of(value, where, 100)
    if words and not words[0]:
        raise ConfigError(f"`{where}`: its first word, the program, is empty")
    return words


def variables_of(value: Any, where: str) -> dict[str, str]:
    mapping = mapping_of(value, where)
    if len(mapping) > 50:
        raise ConfigError(f"`{where}`: at most 50 variables are possible, not {len(mapping)}")
    for name in mapping:
        if not _ENV_NAME.fullmatch(name):
            raise ConfigError(f"`{where}`: `{name}` is no name of a variable")
    return {name: text_of(one, f"{where}.{name}", 4_000) for name, one in mapping.items()}


def inside(value: Any, where: str, start: str) -> str:
    """A path relative to `start` that stays inside the workspace; normalised, "" for none."""
    text = text_of(value, where, 400)
    if not text:
        return ""
    joined = posixpath.normpath(posixpath.join(start, text))
    if text.startswith("/") or "\\" in text or joined == ".." or joined.startswith("../"):
        raise ConfigError(f"`{where}`: a relative path inside the repository is wanted: `{text}`")
    shown = posixpath.normpath(text)
    return "" if shown == "." else shown


def globs_of(value: Any, where: str) -> tuple[str, ...]:
    globs = texts_of(value, where, 100)
    for one in globs:
        if not one or one.startswith("/") or "\\" in one or ".." in one.split("/"):
            raise ConfigError(f"`{where}`: `{one}` is no glob of paths inside the repository")
    return globs


def fitting(value: Any, where: str, pattern: re.Pattern[str], what: str) -> str:
    """Text that is empty (a default) or fits `pattern`; a name is never empty."""
    text = text_of(value, where, 400)
    if (text or where.endswith(".name")) and not pattern.fullmatch(text):
        raise ConfigError(f"`{where}`: `{text}` does not fit; wanted: {what}")
    return text


def known_keys(
    value: Any, known: tuple[str, ...], where: str, later: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """`value` as a mapping whose keys are all known; the error names the nearest known one."""
    mapping = mapping_of(value, where)
    for key in mapping:
        if key in later:
            raise ConfigError(f"`{key}` is not supported yet; remove it from {CONFIG_PATH}")
        if key not in known:
            full = f"{where}.{key}" if where else key
            near = difflib.get_close_matches(key, (*known, *later), n=1, cutoff=0.5)
            hint = f"; did you mean `{near[0]}`?" if near else "."
            raise ConfigError(f"`{full}` is unknown{hint} Known are: {', '.join(known)}.")
    return mapping


def mapping_of(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"`{where or CONFIG_PATH}`: a mapping (`key: value`) is wanted")
    for key in value:
        if not isinstance(key, str):
            raise ConfigError(f"`{where or CONFIG_PATH}`: the key `{key}` is no text; quote it")
    return value


def text_of(value: Any, where: str, longest: int) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"`{where}`: text is wanted, not {kind_of(value)}; quote it")
    if len(value) > longest:
        raise ConfigError(f"`{where}`: at most {longest} characters are possible")
    if any((ord(c) < 32 and c not in "\n\t") or 0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise ConfigError(f"`{where}`: it holds a control character")
    return value


def texts_of(value: Any, where: str, most: int) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ConfigError(f"`{where}`: a list of texts is wanted, not {kind_of(value)}")
    if len(value) > most:
        raise ConfigError(f"`{where}`: at most {most} items are possible, not {len(value)}")
    return tuple(text_of(one, f"{where}[{index}]", 4_000) for index, one in enumerate(value))


def number_of(value: Any, where: str, low: int, high: int) -> int:
    if type(value) is not int:  # bool is an int, and not wanted as one
        shown = value if isinstance(value, float) else kind_of(value)
        raise ConfigError(f"`{where}`: a whole number is wanted, not {shown}")
    if not low <= value <= high:
        fits = f"only {low}" if low == high else f"from {low} to {high}"
        raise ConfigError(f"`{where}`: {fits} is possible, not {value}")
    return value


def flag_of(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"`{where}`: true or false is wanted, not {kind_of(value)}")
    return value


def one_of(value: Any, where: str, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"`{where}`: one of {', '.join(known)} is wanted, not `{value}`")
    return value


def kind_of(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text"}
    kind = "nothing" if value is None else names.get(type(value))
    return kind or ("a mapping" if isinstance(value, Mapping) else "a list")
