"""Well-known projects are recognised from paths and manifests; none of their words is run."""

from __future__ import annotations

import pytest

from app.domain.check import Check
from app.domain.edit import EXECUTABLE, FILE, LINK, Entry
from app.domain.recognise import (
    MANIFEST_CAP,
    PYTEST_REPORT,
    SNIPPET,
    nothing_recognised,
    recognise,
)
from app.domain.recognise import Recognised as Found


def look(files: dict[str, str | bytes], *more: Entry) -> Found:
    data = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    entries = [Entry(path, FILE, path, len(text)) for path, text in data.items()]
    return recognise((*entries, *more), data.__getitem__)


def names(files: dict[str, str | bytes]) -> list[str]:
    return [check.name for check in look(files).checks]


@pytest.mark.parametrize(
    "files",
    [
        {"tests/test_a.py": ""},
        {"pkg/tests/a_test.py": ""},
        {"conftest.py": ""},
        {"pytest.ini": "# nothing"},
        {"pytest.ini": "[pytest]\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\n"},
        {"tox.ini": "[tox]\na = 1\n[pytest]\nminversion = 6\n"},
        {"setup.cfg": "[tool:pytest]\n"},
    ],
)
def test_pytest_is_recognised(files: dict[str, str | bytes]) -> None:
    found = look(files)
    (check,) = found.checks
    assert check.name == "pytest"
    assert check.argv[:3] == ("python3", "-m", "pytest")
    assert f"--junitxml={PYTEST_REPORT}" in check.argv
    assert check.argv[check.argv.index("-o") + 1] == "junit_family=xunit1"
    assert check.report == PYTEST_REPORT
    assert check.selector == (*check.argv, "{tests}")
    assert check.env == {"PYTHONDONTWRITEBYTECODE": "1"}
    assert "looks like pytest" in found.assumed[0]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "pytest"},
        {"node_modules/x/test_a.py": "", "vendor/test_b.py": ""},
        {"pyproject.toml": "[tool.black]\n"},
        {"pyproject.toml": "not toml ["},
        {"pyproject.toml": b"\xff"},
        {"pyproject.toml": "tool = 1"},
        {"setup.cfg": "[metadata]\n[tool:pytest-x]\n"},
        {"package.json": "{"},
        {"package.json": '{"scripts": []}'},
        {"package.json": "[" * 100_000},
        {"package.json": '{"scripts": {"test": 3}}'},
        {"package.json": '{"scripts": {"test": " "}}'},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"Makefile": "all:\n\ttest:\n"},
        {"Makefile": "test := x\n"},
    ],
)
def test_nothing_is_made_up(files: dict[str, str | bytes]) -> None:
    assert look(files) == Found((), ())


def test_a_source_folder_goes_on_the_import_path() -> None:
    found = look({"src/pkg/__init__.py": "", "tests/test_a.py": ""})
    assert found.checks[0].env["PYTHONPATH"] == "src"
    assert any("import path" in said for said in found.assumed)


@pytest.mark.parametrize(
    ("files", "aside"),
    [
        ({"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-ra --cov=pkg"\n'}, True),
        ({"pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["-n", "auto"]\n'}, True),
        ({"pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["-ra"]\n'}, False),
        ({"pytest.ini": "[pytest]\naddopts = -ra\n  --cov-report=xml\n"}, True),
        ({"tox.ini": "[pytest]\naddopts=--doctest-modules\n"}, False),
        ({"setup.cfg": "[tool:pytest]\naddopts = --benchmark-skip\n[other]\n"}, True),
    ],
)
def test_options_that_need_plugins_are_set_aside_and_said(
    files: dict[str, str | bytes], aside: bool
) -> None:
    found = look(files)
    assert ("addopts=" in found.checks[0].argv) is aside
    assert any("set aside" in said for said in found.assumed) is aside


def test_other_ecosystems_are_recognised_by_their_manifest() -> None:
    found = look(
        {
            "package.json": '{"scripts": {"test": "jest; rm -rf /"}}',
            "go.mod": "module x",
            "Cargo.toml": "",
            "Makefile": "test:\n\techo\n",
        }
    )
    assert [check.name for check in found.checks] == ["npm test", "go test", "cargo test"]
    assert [check.argv for check in found.checks] == [
        ("npm", "test", "--silent"),
        ("go", "test", "./..."),
        ("cargo", "test", "--offline"),
    ]
    assert len(found.assumed) == 3


def test_several_ecosystems_give_several_checks_and_each_is_noted_as_assumed() -> None:
    assert names({"conftest.py": "", "go.mod": ""}) == ["pytest", "go test"]
    found = look(
        {
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "package.json": '{"scripts": {"test": "node --test"}}',
            "Makefile": "test:\n\tpytest && npm test\n",
        }
    )
    assert [check.name for check in found.checks] == ["pytest", "npm test"]
    assert found.assumed == (
        "No check is configured; its configuration looks like pytest, so `python3 -m pytest` is "
        "one of 2 checks.",
        "No check is configured; `package.json` has a test script, so `npm test` is one of 2 "
        "checks.",
    )
    (alone,) = look({"go.mod": ""}).assumed
    assert alone == "No check is configured; there is a `go.mod`, so `go test ./...` is the check."


@pytest.mark.parametrize(
    ("files", "check"),
    [
        ({"Makefile": "check : x\n\ty\n"}, Check("make check", ("make", "check"))),
        ({"GNUmakefile": "check:\n\ntest:\n"}, Check("make test", ("make", "test"))),
        ({"Makefile": "all:\n", "makefile": "test: all\n"}, Check("make test", ("make", "test"))),
    ],
)
def test_make_is_the_last_resort(files: dict[str, str | bytes], check: Check) -> None:
    assert look(files).checks == (check,)


def test_links_and_large_manifests_are_not_read() -> None:
    links = (Entry("go.mod", LINK, "x", 1), Entry("conftest.py", LINK, "x", 1))
    assert look({}, *links) == Found((), ())
    large = Entry("package.json", EXECUTABLE, "x", MANIFEST_CAP + 1)
    assert look({}, large) == Found((), ())


def test_the_way_on_shows_lines_that_could_be_added() -> None:
    assert SNIPPET in nothing_recognised()
    assert ".github/agent.yml" in nothing_recognised()
