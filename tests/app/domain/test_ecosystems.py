"""What a tree asks for is planned from manifests and lock files, and from nothing else."""

from __future__ import annotations

import json

import pytest

from app.domain.ecosystems import plan_setup
from app.domain.edit import FILE, Entry
from app.domain.environment_config import ServiceConfig, SetupConfig
from app.domain.python_needs import GENERATED
from app.domain.setup import SetupError, SetupPlan


def plan(
    files: dict[str, bytes], config: SetupConfig | None = None, default_image: bool = True
) -> SetupPlan:
    entries = [Entry(path, FILE, "", len(data)) for path, data in sorted(files.items())]
    return plan_setup(entries, files.__getitem__, config, default_image=default_image)


PROJECT = b"""[project]
name = "My.Pkg"
dependencies = ["requests>=2", "my_pkg-core"]
[project.optional-dependencies]
test = ["pytest>=7", "freezegun"]
docs = ["sphinx"]
[dependency-groups]
dev = [{include-group = "extra"}, "my-pkg[test]", "mypy"]
extra = ["hypothesis"]
"""
PACKAGE = json.dumps(
    {"name": "x", "scripts": {"test": "jest", "postinstall": "evil"}, "devDependencies": {"a": "1"}}
).encode()

RECOGNISED: list[tuple[dict[str, bytes], list[str], list[str]]] = [
    ({"requirements.txt": b"six\n"}, ["pip install requirements.txt"], ["pip"]),
    ({"uv.lock": b"", "pyproject.toml": PROJECT}, ["pip install from uv.lock"], ["pip", "uv"]),
    (
        {"poetry.lock": b"", "pyproject.toml": b""},
        ["pip install from poetry.lock"],
        ["pip", "poetry"],
    ),
    (
        {"Pipfile.lock": b'{"default": {"six": {"version": "==1.16.0"}}}'},
        ["pip install what the project names"],
        ["pip"],
    ),
    ({"package.json": PACKAGE, "package-lock.json": b"{}"}, ["npm ci"], ["npm"]),
    ({"package.json": PACKAGE}, ["npm install"], ["npm"]),
    (
        {"package.json": PACKAGE, "pnpm-lock.yaml": b"lockfileVersion: '6.0'\n"},
        ["pnpm install"],
        ["npm", "pnpm"],
    ),
    (
        {"package.json": PACKAGE, "yarn.lock": b"# yarn lockfile v1\n"},
        ["yarn install"],
        ["npm", "yarn"],
    ),
    ({"go.mod": b"module x\n\nrequire a.example/b v1.0.0\n"}, ["go mod download"], ["go"]),
    ({"go.mod": b"module x\n"}, [], ["go"]),
    (
        {"Cargo.toml": b"[dependencies]\nfnv = '1'\n", "Cargo.lock": b"", "src/lib.rs": b"x"},
        ["cargo fetch"],
        ["cargo"],
    ),
    ({"pom.xml": b"<project/>"}, ["mvn dependency:go-offline"], ["maven"]),
    ({"build.gradle": b""}, ["gradle dependencies"], ["gradle"]),
    ({"Gemfile": b"", "Gemfile.lock": b""}, ["bundle install"], ["bundler"]),
    ({"composer.json": b"{}"}, ["composer install"], ["composer"]),
    ({"Makefile": b"test:\n"}, [], []),
    ({"tests/data/requirements.txt": b"six\n"}, [], []),
]


@pytest.mark.parametrize(("files", "steps", "tools"), RECOGNISED)
def test_each_ecosystem_is_recognised(
    files: dict[str, bytes], steps: list[str], tools: list[str]
) -> None:
    found = plan(files)
    assert [step.title for step in found.steps] == steps
    assert [tool.name for tool in found.tools] == tools
    assert found.empty == (not tools)


def test_lists_of_distribution_packages_are_taken_line_by_line() -> None:
    found = plan({"apt.txt": b"libpq-dev\n# why\nlibxml2; rm -rf /\nzlib1g-dev\n"})
    assert found.packages == ("libpq-dev", "zlib1g-dev")
    assert not found.empty


def test_sub_folders_of_a_monorepo_have_steps_of_their_own() -> None:
    found = plan({"api/requirements.txt": b"six\n", "web/package.json": PACKAGE})
    assert [(step.title, step.folder) for step in found.steps] == [
        ("pip install requirements.txt in api", "api"),
        ("npm install in web", "web"),
    ]
    assert found.links == ("web/node_modules",)


def test_workspaces_are_one_project() -> None:
    root = json.dumps({"workspaces": ["packages/*"], "devDependencies": {"a": "1"}}).encode()
    found = plan({"package.json": root, "packages/a/package.json": PACKAGE})
    assert [step.title for step in found.steps] == ["npm install"]
    assert found.links == ("node_modules", "packages/a/node_modules")


def test_a_project_needs_what_it_names_and_its_tests_need() -> None:
    files = dict(plan({"pyproject.toml": PROJECT}).files)
    assert files[GENERATED].decode().split() == [
        "requests>=2",
        "my_pkg-core",
        "pytest>=7",
        "freezegun",
        "hypothesis",
        "mypy",
    ]


def test_literal_arguments_of_a_setup_py_are_read_and_nothing_is_run() -> None:
    data = (
        b"from setuptools import setup\nsetup(install_requires=['six'], name=open('/x').read())\n"
    )
    assert dict(plan({"setup.py": data}).files)[GENERATED] == b"six\n"


def test_pytest_alone_is_in_the_default_image_and_in_no_other() -> None:
    files = {"requirements-test.txt": b"pytest>=8.0\n"}
    assert plan(files).empty
    assert not plan(files, default_image=False).empty


def test_the_project_itself_is_not_installed_since_set_up_does_not_see_it() -> None:
    files = dict(plan({"requirements.txt": b"six\n-e .[test]\n.\n"}).files)
    assert files["requirements.txt"] == b"six\n"


def test_scripts_of_a_manifest_are_not_seen_and_do_not_change_the_plan() -> None:
    found = plan({"package.json": PACKAGE})
    assert b"evil" not in dict(found.files)["package.json"]
    other = PACKAGE.replace(b"jest", b"mocha")
    assert plan({"package.json": other}).digest() == found.digest()


@pytest.mark.parametrize(
    ("path", "data"),
    [("package.json", PACKAGE.replace(b'"a": "1"', b'"a": "2"')), ("package-lock.json", b"{}")],
)
def test_another_wish_is_another_plan(path: str, data: bytes) -> None:
    files = {"package.json": PACKAGE}
    assert plan({**files, path: data}).digest() != plan(files).digest()


def test_a_source_file_is_no_part_of_the_plan() -> None:
    files = {"requirements.txt": b"six\n", "a.py": b"1\n"}
    assert plan({**files, "a.py": b"2\n"}).digest() == plan(files).digest()


def test_configured_commands_replace_the_recognised_ones() -> None:
    config = SetupConfig(run=("make deps",), files=("deps/**",), env={"A": "b"}, timeout=60)
    found = plan({"requirements.txt": b"six\n", "deps/list": b"1", "a.py": b""}, config)
    assert [step.run for step in found.steps] == ["make deps"]
    assert [path for path, _ in found.files] == ["deps/list", "requirements.txt"]
    assert (found.env["A"], found.timeout) == ("b", 60)


@pytest.mark.parametrize(
    ("command", "tools"),
    [("npm ci", ["npm"]), ("pip install x", ["pip"]), ("make deps", []), ("./unnpm-it", [])],
)
def test_tools_of_a_configured_set_up_are_those_that_it_speaks_of(
    command: str, tools: list[str]
) -> None:
    files = {"requirements.txt": b"six\n", "package.json": PACKAGE}
    assert [tool.name for tool in plan(files, SetupConfig(run=(command,))).tools] == tools


def test_too_much_to_see_is_an_error_that_names_the_key() -> None:
    files = {f"d/{number}": bytes(8 << 20) for number in range(5)}
    with pytest.raises(SetupError, match=r"setup\.files"):
        plan(files, SetupConfig(files=("d/*",)))


def test_services_alone_make_an_environment() -> None:
    found = plan_setup([], dict[str, bytes]().__getitem__, None, (ServiceConfig("a", "x", 1),))
    assert not found.empty
    assert found.digest() != SetupPlan().digest()


@pytest.mark.parametrize("version", ["9.1.0", "9; rm -rf /", "$(x)"])
def test_a_manifest_never_becomes_part_of_a_command(version: str) -> None:
    package = json.dumps({"packageManager": f"pnpm@{version}", "dependencies": {"a": "1"}}).encode()
    found = plan({"package.json": package, "pnpm-lock.yaml": b""})
    commands = " ".join([tool.install for tool in found.tools] + [s.run for s in found.steps])
    assert (version in commands) == (version == "9.1.0")
    assert ";" not in commands
