"""The tools whose output is understood, and how a command or an output shows which one it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from worker.runner.checks.parsers import (
    generic,
    golang,
    java,
    javascript_lint,
    jest,
    mocha,
    native,
    node_test,
    php,
    pytest_text,
    python_lint,
    ruby,
    rust,
    sarif,
    shell,
    tap,
    unittest_text,
    vitest,
)
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import NOTHING, Found


@dataclass(frozen=True)
class Tool:
    """One tool family.

    `words` are the programs that show it in a command: a name, or a name and a word that must
    follow. `marks` are texts of which one stands in its output. `tests`: it runs tests, so that an
    exit code of 0 without a word about tests is no pass. Of tools with one `group` only the first
    that finds something is believed.
    """

    name: str
    parse: Callable[[Log], Found]
    words: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    tests: bool = False
    group: str = ""


def _node(log: Log) -> Found:
    """node's runner writes TAP unless it was told otherwise, or is a newer one."""
    found = node_test.parse(log)
    return found if found != NOTHING else tap.parse(log)


_MAVEN = ("mvn test", "mvn verify", "mvnw test", "mvnw verify")
_TAP_TOOLS = ("bats", "prove", "tap", "tape")
_PYLINT_MARKS = ("Your code has been rated", "************* Module ")
_FLAKE_MARKS = (": E", ": F", ": W", ": C9", ": N8", ": D1", ": B0")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "pytest",
        pytest_text.parse,
        ("pytest", "py.test"),
        ("= test session starts =", "= short test summary info =", " passed in ", " failed in "),
        tests=True,
    ),
    Tool(
        "unittest",
        unittest_text.parse,
        ("unittest", "nose2", "manage.py test", "django test", "trial", "stestr"),
        ("\nRan ",),
        tests=True,
    ),
    Tool("doctest", unittest_text.parse, ("doctest",), ("***Test Failed***",), group="unittest"),
    Tool("node", _node, ("node --test",), ("\n\u2139 tests ",), tests=True, group="node"),
    Tool("tap", tap.parse, _TAP_TOOLS, ("TAP version ", "\n1.."), tests=True, group="node"),
    Tool("mocha", mocha.parse, ("mocha", "_mocha"), (" passing (", "\n  0 passing"), tests=True),
    Tool("jest", jest.parse, ("jest",), ("\nTest Suites: ", "\n  \u25cf "), tests=True),
    Tool("vitest", vitest.parse, ("vitest",), (" Test Files  ", "\u23af Failed "), tests=True),
    Tool("tsc", javascript_lint.tsc, ("tsc", "vue-tsc"), ("error TS",)),
    Tool("eslint", javascript_lint.eslint, ("eslint",), (" problems (", " problem (")),
    Tool("prettier", javascript_lint.prettier, ("prettier",), ("[warn] Code style issues",)),
    Tool(
        "go",
        golang.parse,
        ("go test", "gotestsum"),
        ("--- FAIL: ", "\nFAIL\t", "\nok  \t", ".go:", '"Action":'),
        tests=True,
        group="go",
    ),
    Tool("go-build", golang.parse, ("go build", "go vet", "go install"), group="go"),
    Tool(
        "cargo-test",
        rust.parse,
        ("cargo test", "cargo nextest", "cargo t"),
        ("test result: ", "\nerror[E", "could not compile `", "tests run: ", '"compiler-message"'),
        tests=True,
        group="rust",
    ),
    Tool("rustc", rust.parse, ("cargo", "rustc", "cargo-clippy"), group="rust"),
    Tool(
        "gcc",
        native.compiler,
        ("gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "cmake"),
        (": error: ", ": fatal error: ", "undefined reference to", "multiple definition of"),
    ),
    Tool("make", native.make, ("make", "gmake", "ninja"), ("make: *** ", "]: *** ")),
    Tool("ctest", native.ctest, ("ctest",), ("% tests passed, ",), tests=True, group="make"),
    Tool(
        "surefire",
        java.parse,
        _MAVEN,
        (".java:", "Tests run: ", " > Task :", " FAILED\n", ".kt:"),
        tests=True,
        group="java",
    ),
    Tool("javac", java.parse, ("javac", "mvn", "mvnw", "gradle", "gradlew"), group="java"),
    Tool("ruff", python_lint.ruff, ("ruff",), ("\n --> ", "\n  --> ", "\nFound "), group="py"),
    Tool("pylint", python_lint.pylint, ("pylint",), _PYLINT_MARKS, group="py"),
    Tool("flake8", python_lint.flake8, ("flake8", "pycodestyle"), _FLAKE_MARKS, group="py"),
    Tool("mypy", python_lint.mypy, ("mypy", "dmypy"), (".py:", "mypy: error")),
    Tool("pyright", python_lint.pyright, ("pyright", "basedpyright"), (" - error: ",)),
    Tool("black", python_lint.black, ("black",), ("would reformat ",)),
    Tool("isort", python_lint.isort, ("isort",), ("Imports are incorrectly sorted",)),
    Tool("shellcheck", shell.parse, ("shellcheck",), ("[SC", "-- SC", "^ SC")),
    Tool("rspec", ruby.rspec, ("rspec",), (" example, ", " examples, "), tests=True),
    Tool("minitest", ruby.minitest, ("minitest",), (" assertions, ",), tests=True),
    Tool("phpunit", php.parse, ("phpunit",), ("PHPUnit ",), tests=True, group="php"),
    Tool("php", php.parse, ("php -l",), ("Parse error: ",), group="php"),
    Tool("junit", generic.junit_text, (), ("<testsuite",), tests=True),
    Tool("sarif", sarif.parse, (), ('"runs"',)),
    Tool("lines", generic.lines),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
WRAPPERS = frozenset(
    {"tox", "nox", "make", "gmake", "ninja", "npm", "yarn", "pnpm", "just", "task"}
)

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_BREAKS = re.compile(r"&&|\|\||[;&|\n(){}]")
_LAUNCHERS = (
    *("python", "python3", "poetry", "uv", "pipenv", "pdm", "hatch", "rye", "run", "coverage"),
    *("bundle", "exec", "npx", "pnpm", "yarn", "bun", "bunx", "node", "php", "ruby", "time"),
    *("timeout", "env", "nice", "ionice", "sudo", "xvfb-run", "command", "do", "then", "else"),
    *("if", "!"),
)
_QUIET = (
    *("cd", "export", "set", "echo", "printf", "test", "[", "exit", "for", "done", "fi", ":"),
    *("true", "mkdir", "rm", "cp", "mv", "cat"),
)
_ASSIGNED = re.compile(r"\w+=|\d+[smh]?$|-")


def named(argv: Sequence[str]) -> tuple[tuple[Tool, ...], bool]:
    """(the tools that a command runs by name, whether it runs a wrapper or anything unknown)."""
    found: dict[str, Tool] = {}
    open_ended = False
    for words in _commands(argv):
        tool = next((tool for start in _starts(words) if (tool := _tool(start))), None)
        if tool is not None:
            found[tool.name] = tool
            open_ended = open_ended or tool.name in WRAPPERS
        elif words[0] not in _QUIET:
            open_ended = True
    return tuple(found.values()), open_ended or not found


def shown(text: str, skip: Sequence[Tool] = ()) -> Iterator[Tool]:
    """Tools whose marks stand in an output, without those of `skip` and their families."""
    families = {tool.group or tool.name for tool in skip} | {tool.name for tool in skip}
    for tool in TOOLS:
        if (tool.group or tool.name) in families or tool.name in families:
            continue
        if any(mark in text for mark in tool.marks):
            yield tool


def _commands(argv: Sequence[str]) -> Iterator[list[str]]:
    words = [word for word in argv if word]
    if not words:
        return
    program = _base(words[0])
    if program in _SHELLS and len(words) > 2 and words[1].startswith("-") and "c" in words[1]:
        for piece in _BREAKS.split(words[2]):
            if pieces := piece.replace('"', " ").replace("'", " ").split():
                yield pieces
    else:
        yield words


def _starts(words: Sequence[str]) -> Iterator[list[str]]:
    """The command from each word that may be its program: behind launchers, behind `-m`."""
    for at, word in enumerate(words):
        yield [_base(word), *words[at + 1 :]]
        if not (_launches(word) or _ASSIGNED.match(word)):
            break
    if "-m" in words[:-1]:
        at = words.index("-m") + 1
        yield [words[at], *words[at + 1 :]]


def _launches(word: str) -> bool:
    return re.sub(r"3?\.\d+$", "", _base(word)) in _LAUNCHERS


def _tool(words: Sequence[str]) -> Tool | None:
    rest = set(words[1:])
    for tool in TOOLS:
        for word in tool.words:
            program, _, second = word.partition(" ")
            if words[0] == program and (not second or second in rest):
                return tool
    return None


def _base(word: str) -> str:
    return word.rsplit("/", 1)[-1]
