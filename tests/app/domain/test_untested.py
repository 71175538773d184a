"""Tests in folders that no recognised check runs are told with the line that makes one of them."""

from __future__ import annotations

import json
import re

import pytest

from app.domain.ecosystems import plan_setup
from app.domain.edit import FILE, Entry
from app.domain.recognise import PYTEST_REPORT, recognise
from app.domain.repo_config import CONFIG_PATH, RepoConfig, checks_of
from app.domain.untested import MOST, Untested, touched, untested
from worker.config_file import config_of

SCRIPT = json.dumps({"scripts": {"test": "vitest run"}})
GO_TEST = "package a\n"
RUST = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n}\n"


def entries_of(files: dict[str, str]) -> list[Entry]:
    return [Entry(path, FILE, path, len(text.encode())) for path, text in files.items()]


def look(files: dict[str, str]) -> tuple[Untested, ...]:
    def read(path: str) -> bytes:
        return files[path].encode()

    entries = entries_of(files)
    return untested(entries, read, recognise(entries, read).checks)


def folders(files: dict[str, str]) -> list[str]:
    return [one.folder for one in look(files)]


def added(one: Untested) -> RepoConfig:
    """The configuration that holds the line which a sentence names, as it is read."""
    (line,) = re.findall(r"`(\{.*\})` under `checks`", one.said)
    return config_of(f"checks: [{line}]\n".encode())


PYTHON = {"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/test_a.py": ""}


def test_a_folder_with_a_test_script_is_told_with_the_line_to_add() -> None:
    (one,) = look({**PYTHON, "web/package.json": SCRIPT})
    assert one == Untested(
        "web",
        "`web/package.json` has a test script, which no check runs. To have it run, put "
        "`{name: npm test in web, run: CI=true npm test --silent, workdir: web}` under `checks` in "
        f"`{CONFIG_PATH}`.",
    )
    (check,) = checks_of(added(one))
    assert (check.name, check.workdir) == ("npm test in web", "web")
    assert check.argv == ("sh", "-euc", "CI=true npm test --silent")


@pytest.mark.parametrize(
    ("files", "folder", "run", "report"),
    [
        ({"svc/go.mod": "", "svc/a_test.go": GO_TEST}, "svc", "go test ./...", ""),
        ({"rs/Cargo.toml": "", "rs/src/lib.rs": RUST}, "rs", "cargo test --offline", ""),
        ({"rs/Cargo.toml": "", "rs/tests/a.rs": ""}, "rs", "cargo test --offline", ""),
        ({"j/pom.xml": "", "j/src/test/java/A.java": ""}, "j", "mvn -o -B -q test", ""),
        ({"j/build.gradle.kts": "", "j/src/test/A.kt": ""}, "j", "gradle --offline", ""),
        ({"rb/Gemfile": "", "rb/spec/a_spec.rb": ""}, "rb", "bundle exec rspec", ""),
        ({"rb/Gemfile": "", "rb/Rakefile": "", "rb/test/a.rb": ""}, "rb", "bundle exec rake", ""),
        ({"p/composer.json": "{}", "p/phpunit.xml": ""}, "p", "vendor/bin/phpunit", ""),
        ({"c/Makefile": "check:\n\ttrue\n"}, "c", "make check", ""),
        (
            {"go.mod": "", "a_test.go": "", "pkg/x y/go.mod": "", "pkg/x y/a_test.go": ""},
            "pkg/x y",
            "go test",
            "",
        ),
        (
            {"pytest.ini": "[pytest]\ntestpaths = tests more\n", "tests/test_a.py": "",
             "api/setup.cfg": "", "api/tests/test_b.py": ""},
            "api",
            "python3 -m pytest -q",
            f"api/{PYTEST_REPORT}",
        ),
        (
            {"tests/test_a.py": "", "api/pytest.ini": "[pytest]\n", "api/test_b.py": ""},
            "api",
            "python3 -m pytest -q",
            f"api/{PYTEST_REPORT}",
        ),
    ],
)  # fmt: skip
def test_every_kind_of_project_has_its_line(
    files: dict[str, str], folder: str, run: str, report: str
) -> None:
    (one,) = look(files)
    assert one.folder == folder
    (check,) = checks_of(added(one))
    assert (check.workdir, check.report) == (folder, report)
    assert run in check.argv[-1]


def test_settings_that_pytest_does_not_read_are_not_called_tests_that_do_not_run() -> None:
    (one,) = look({"tests/test_a.py": "", "api/pytest.ini": "[pytest]\n", "api/test_b.py": ""})
    assert "`api/pytest.ini` has settings for pytest, which the check `pytest` does not" in one.said


FANNING = json.dumps({"scripts": {"test": "npm test --workspaces"}, "workspaces": ["packages/*"]})
ONE_JEST = json.dumps({"scripts": {"test": "jest"}, "workspaces": ["packages/*"]})
MENTIONED = json.dumps({"scripts": {"test": "node --test && cd web && npm test"}})
EACH = json.dumps({"scripts": {"test": "for d in packages/*; do (cd $d; npm test); done"}})
WORKSPACE = '[workspace]\nmembers = [\n  "crates/*",\n]\n'


@pytest.mark.parametrize(
    "files",
    [
        {},
        PYTHON,
        {**PYTHON, "web/package.json": "{}"},
        {**PYTHON, "web/package.json": '{"scripts": {"test": "echo no test specified"}}'},
        {**PYTHON, "api/pyproject.toml": "[project]\n", "api/tests/test_b.py": ""},
        {**PYTHON, "api/pytest.ini": "[pytest]\n"},  # no test there
        {**PYTHON, "examples/a/package.json": SCRIPT, "node_modules/b/package.json": SCRIPT},
        {**PYTHON, "tests/data/package.json": SCRIPT, "web/vendor/x/package.json": SCRIPT},
        {"package.json": FANNING, "packages/a/package.json": SCRIPT},
        {"package.json": ONE_JEST, "packages/a/package.json": SCRIPT},
        {"package.json": MENTIONED, "web/package.json": SCRIPT},
        {"package.json": EACH, "packages/a/package.json": SCRIPT},
        {"Makefile": "test:\n\tcd svc && go test ./...\n", "svc/go.mod": "", "svc/a_test.go": ""},
        {**PYTHON, "svc/go.mod": "", "svc/main.go": ""},
        {"Cargo.toml": WORKSPACE, "crates/a/Cargo.toml": "", "crates/a/src/lib.rs": RUST},
        {**PYTHON, "rs/Cargo.toml": "", "rs/src/lib.rs": "fn a() {}"},
        {"pom.xml": "<module>a</module>", "a/pom.xml": "", "a/src/test/java/A.java": ""},
        {"build.gradle": "", "settings.gradle": "include ':lib:a'", "lib/a/build.gradle": "",
         "lib/a/src/test/java/A.java": ""},
        {"pytest.ini": "[pytest]\ntestpaths = api/*\n", "api/x/setup.cfg": "",
         "api/x/test_a.py": ""},
        {"package.json": "[" * 9_999, "tests/test_a.py": ""},
        {"Cargo.toml": WORKSPACE, "Cargo.lock": ""},
    ],
)  # fmt: skip
def test_what_a_check_runs_or_what_is_no_test_is_not_told(files: dict[str, str]) -> None:
    assert look(files) == ()


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": SCRIPT, "web/package.json": SCRIPT},  # not of the root's workspace
        {"package.json": '{"scripts": []}', "web/package.json": SCRIPT},
        {"package.json": FANNING.replace("{", "{" + " " * 300_000, 1), "web/package.json": SCRIPT},
        {"package.json": "{", "Makefile": "test:\n\ttrue\n", "web/package.json": SCRIPT},
        {"package.json": MENTIONED.replace("cd web", "cd webapp"), "web/package.json": SCRIPT},
        {"Cargo.toml": f"[package]\n{WORKSPACE}", "web/Cargo.toml": "", "web/src/lib.rs": RUST},
        {"Cargo.toml": WORKSPACE, "web/Cargo.toml": "", "web/src/lib.rs": RUST},
        {"Cargo.toml": "[workspace]\nmembers = 3\n", "web/Cargo.toml": "", "web/tests/a.rs": ""},
        {"Cargo.toml": "[workspace", "web/Cargo.toml": "", "web/tests/a.rs": ""},
        {"Cargo.toml": "[package]\n", "web/Cargo.toml": "", "web/src/lib.rs": RUST},
        {"pom.xml": "<module>webapp</module>", "web/pom.xml": "", "web/src/test/A.java": ""},
        {"go.mod": "", "a_test.go": "", "web/go.mod": "", "web/b_test.go": ""},
    ],
)
def test_a_root_of_the_same_kind_that_does_not_reach_it_hides_nothing(
    files: dict[str, str],
) -> None:
    assert folders(files) == ["web"]


def test_several_kinds_in_one_folder_are_all_told_and_parts_of_a_told_one_are_not() -> None:
    files = {
        "a/package.json": SCRIPT,
        "a/go.mod": "",
        "a/x_test.go": "",
        "a/packages/b/package.json": SCRIPT,
        "c/package.json": SCRIPT,
    }
    assert folders(files) == ["a", "a", "c"]


def test_a_large_monorepo_is_told_in_part() -> None:
    assert len(look({f"p{n:02}/package.json": SCRIPT for n in range(60)})) == MOST


@pytest.mark.parametrize("folder", ["on", "1st", "a: b", "x#y", "a,b", "ä", 'q"q', "a" * 70])
def test_a_line_holds_any_folder(folder: str) -> None:
    (one,) = look({f"{folder}/package.json": SCRIPT})
    (check,) = checks_of(added(one))
    assert check.workdir == folder


def test_set_up_installs_what_the_added_line_needs() -> None:
    files = {
        **PYTHON,
        "requirements.txt": "six\n",
        "web/package.json": json.dumps({"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}),
        "rs/a/Cargo.toml": "[dependencies]\nx = 1\n",
        "rs/a/tests/a.rs": "",
        "rs/b/Cargo.toml": "[dependencies]\nx = 1\n",
        "rs/b/tests/a.rs": "",
    }
    told = look(files)
    assert [one.folder for one in told] == ["web", "rs/a", "rs/b"]
    plan = plan_setup(entries_of(files), lambda path: files[path].encode(), None)
    assert {one.folder for one in plan.steps} == {"", "web", "rs/a", "rs/b"}
    assert plan.links == ("web/node_modules",)


def test_what_a_change_is_in_is_found() -> None:
    web, api = Untested("web", "w"), Untested("api/v1", "a")
    assert touched((web, api), ["web/src/a.ts", "README.md"]) == (web,)
    assert touched((web, api), ["webapp/a.ts", "api/v2/a"]) == ()
    assert touched((web, api), ["api/v1"]) == (api,)
