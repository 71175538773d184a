"""Options of commands whose value is a file that decides how the program runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LONG = (
    "config|config-file|configfile|conf|rcfile|rc-file|init-file|settings|require|import|loader",
    "experimental-loader|env-file|rootdir|confcutdir|test-reporter|reporter|reporters|project",
    "tsconfig|file|makefile|justfile|taskfile|setupFiles|setupFilesAfterEnv|globalSetup|runner",
    "testRunner|testEnvironment|preset|environment|bootstrap|configuration|options|opts|plugin",
    "load-plugins|rulesdir|ruleset|baseline|ignore-file|ignore-path|custom-config|rules",
    "options-file|pythonpath|helper|dotenv|load|setup|package|globals|spec|expected|threshold",
)
# One letter means another thing to each program: `cc -c main.c` compiles what is checked.
_SHORT = {
    "-c": "pytest py.test jest vitest eslint rubocop phpunit bandit golangci-lint stylelint tox "
    "yamllint prettier ava nyc karma markdownlint commitlint playwright codespell",
    "-r": "node nodejs mocha ts-node tap ruby nyc rspec pip ava tsx",
    "-p": "tsc",
    "-P": "ts-node tsc",
    "-f": "awk gawk mawk sed docker-compose compose expect",
    "-I": "ruby rspec perl",
}
VALUED = frozenset((*_SHORT, *(f"--{name}" for name in "|".join(_LONG).split("|"))))
_TOOLS = {option: frozenset(tools.split()) for option, tools in _SHORT.items()}
_NOTHING = frozenset(("cd", "echo", "printf", "test", "[", "rm", "cp", "mv", "cat", "git", "tar"))
_WRITTEN = re.compile(r"--?(?:cov|ignore|deselect|junit|out|o\b|log|write|dest|target|save)")


def option_values(name: str, rest: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """(value, whether it surely is such a file) of the options of the program `name`. A value
    behind `=` of any option may be one, unless it is the source that is worked on."""
    if name in _NOTHING:
        return
    for at, word in enumerate(rest):
        option, equals, value = word.partition("=")
        if word.startswith("-") and equals:
            if not _WRITTEN.match(option):
                yield value, option in VALUED
        elif option in _TOOLS:
            if name in _TOOLS[option] and at + 1 < len(rest):
                yield rest[at + 1], True
        elif option in VALUED and at + 1 < len(rest):
            yield rest[at + 1], True
        elif name in _TOOLS.get(word[:2], ()) and not word.startswith("--"):
            yield word[2:], True
