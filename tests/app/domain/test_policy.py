"""Which paths a change may touch."""

from __future__ import annotations

import pytest

from app.domain.policy import Rules, never, rules_of
from app.domain.repo_config import PathRules, RepoConfig

BARE = Rules()


@pytest.mark.parametrize(
    ("path", "glob"),
    [
        ("db/migrations/0001_init.py", "db/migrations/**"),
        ("migrations/a/b.sql", "migrations/**"),
        ("db/migrate/2026_add.rb", "db/migrate/2026_add.rb"),
        ("alembic/versions/x.py", "alembic/versions/x.py"),
        ("app/auth/login.py", "app/auth/**"),
        ("src/auth.py", "src/auth.py"),
        ("src/user_auth.py", "src/user_auth.py"),
        ("src/AuthService.java", "src/AuthService.java"),
        ("src/OAuth2Client.ts", "src/OAuth2Client.ts"),
        ("lib/billing/invoice.rb", "lib/billing/**"),
        ("pkg/payments/stripe.go", "pkg/payments/**"),
        ("infrastructure/main.yml", "infrastructure/**"),
        ("terraform/x", "terraform/**"),
        ("deploy/main.tf", "deploy/main.tf"),
        ("package-lock.json", "package-lock.json"),
        ("sub/poetry.lock", "sub/poetry.lock"),
        ("yarn.lock", "yarn.lock"),
        ("bun.lockb", "bun.lockb"),
        ("pnpm-lock.yaml", "pnpm-lock.yaml"),
        ("Cargo.lock", "Cargo.lock"),
        ("go.sum", "go.sum"),
        ("npm-shrinkwrap.json", "npm-shrinkwrap.json"),
        ("Package.resolved", "Package.resolved"),
        (".github/CODEOWNERS", ".github/**"),
        (".github/ISSUE_TEMPLATE/a.md", ".github/**"),
        ("CODEOWNERS", "CODEOWNERS"),
        ("docs/codeowners", "docs/codeowners"),
        (".gitattributes", ".gitattributes"),
        ("a/.gitattributes", "a/.gitattributes"),
        (".gitmodules", ".gitmodules"),
        (".husky/pre-commit", ".husky/**"),
        ("web/.husky/pre-commit", "web/.husky/**"),
        (".githooks/x", ".githooks/**"),
        ("a/.gitfoo/x", "a/.gitfoo/x"),
        (".pre-commit-config.yaml", ".pre-commit-config.yaml"),
        ("AGENTS.md", "AGENTS.md"),
        ("sub/claude.md", "sub/claude.md"),
        (".cursor/rules/x.mdc", ".cursor/**"),
        ("a/.cursorrules", "a/.cursorrules"),
        (".gitlab-ci.yml", ".gitlab-ci.yml"),
        (".circleci/config.yml", ".circleci/**"),
        ("Jenkinsfile", "Jenkinsfile"),
        ("ci/Jenkinsfile.release", "ci/Jenkinsfile.release"),
        ("azure-pipelines.yml", "azure-pipelines.yml"),
        (".travis.yml", ".travis.yml"),
        (".vscode/tasks.json", ".vscode/**"),
        (".anything/x", ".anything/**"),
        (".unknownrc", ".unknownrc"),
        (".env", ".env"),
        ("app/.env.production", "app/.env.production"),
        ("auth", "auth"),
        (".husky", ".husky"),
        ("a{b}*/auth/x", "a?b??/auth/**"),
        ("übung/auth/x", "übung/auth/**"),
    ],
)
def test_a_blocked_path_prints_the_line_that_unlocks_it(path: str, glob: str) -> None:
    assert BARE.blocked(path) == f'paths: {{unlock: ["{glob}"]}}'
    assert Rules(unlock=(glob,)).blocked(path) is None
    assert not never(path)


@pytest.mark.parametrize(
    "path", ["DB/Migrations/x.py", "APP/AUTH/x", "Package-Lock.JSON", ".GITHUB/x", "AGENTS.MD"]
)
def test_letter_case_does_not_free_a_path(path: str) -> None:
    assert BARE.blocked(path) is not None


@pytest.mark.parametrize(
    "path",
    [
        ".github/agent.yml",
        ".github/agent.yaml",
        ".github/workflows",
        ".github/workflows/ci.yml",
        ".github/workflows/deep/x",
        ".GitHub/Workflows/CI.yml",
    ],
)
def test_workflows_and_the_own_configuration_are_never_unlocked(path: str) -> None:
    widest = Rules(unlock=("**", path, ".github/**"))
    assert never(path)
    assert str(widest.blocked(path)).startswith("nothing unlocks")


@pytest.mark.parametrize(
    "path",
    [
        "src/a.py",
        "authors.py",
        "docs/author.md",
        "src/author/x.py",
        "README.md",
        "docs/auth.md",
        "docs/billing.rst",
        "tests/test_auth.py",
        "src/auth.test.ts",
        "pkg/auth_test.go",
        "Makefile",
        ".gitignore",
        "src/.gitignore",
        ".coveragerc",
        ".eslintrc.json",
        "src/lockfile.py",
        "LICENSE",
        "infrared/x.py",
        "src/migrate.py",
        "src/.hidden/x",
    ],
)
def test_an_ordinary_path_is_free(path: str) -> None:
    assert BARE.blocked(path) is None


def test_scope_is_what_allow_names() -> None:
    rules = rules_of(RepoConfig(paths=PathRules(allow=("src/**", "*.md"), unlock=("go.sum",))))
    assert rules.in_scope("src/a/b.py")
    assert rules.in_scope("README.md")
    assert not rules.in_scope("docs/x.md")
    assert rules.blocked("go.sum") is None
    assert BARE.in_scope("anything/at/all")


@pytest.mark.parametrize(
    "path",
    [
        "pytest.ini",
        "setup.cfg",
        "tox.ini",
        "pyproject.toml",
        "sub/PyProject.toml",
        "package.json",
        "jest.config.js",
        "vitest.config.ts",
        ".mocharc.yml",
        "tests/conftest.py",
        "sitecustomize.py",
        "usercustomize/__init__.py",
        "lib/evil.pth",
        "pytest.py",
        "_pytest/x.py",
        "Makefile",
        "x.mk",
        "Dockerfile",
        "dev.Dockerfile",
        "docker-compose.test.yml",
        "Cargo.toml",
        "build.rs",
        "go.mod",
        "pom.xml",
        "build.gradle.kts",
        "Gemfile",
        "spec/spec_helper.rb",
        "phpunit.xml.dist",
        "CMakeLists.txt",
        "requirements-dev.txt",
        "ui/__snapshots__/a.js.snap",
        ".gitignore",
        ".coveragerc",
        "tsconfig.build.json",
    ],
)
def test_a_referee_decides_how_tests_run(path: str) -> None:
    assert BARE.referee(path)


@pytest.mark.parametrize("path", ["src/a.py", "tests/test_a.py", "src/build/x.py", "x/package.py"])
def test_other_files_are_no_referee(path: str) -> None:
    assert not BARE.referee(path)


@pytest.mark.parametrize(
    "path",
    [
        "tests/anything.txt",
        "a/Test/b.c",
        "test_a.py",
        "a_test.py",
        "test.py",
        "tests.py",
        "pkg/a_test.go",
        "src/a.test.ts",
        "src/a.spec.js",
        "src/__tests__/a.js",
        "spec/a_spec.rb",
        "src/test/java/A.java",
        "FooTest.java",
        "FooTests.cs",
        "FooIT.java",
        "TestFoo.java",
        "a_test.exs",
        "e2e/x.ts",
        "cypress/x.js",
        "conftest.py",
    ],
)
def test_a_test_file_is_recognised(path: str) -> None:
    assert BARE.test(path)


@pytest.mark.parametrize(
    "path",
    ["src/a.py", "latest.py", "Latest.java", "src/contest.py", "attestation/x.py", "Testament.md"],
)
def test_what_only_sounds_like_a_test_is_none(path: str) -> None:
    assert not BARE.test(path)


@pytest.mark.parametrize(
    "path",
    [
        *(".npmrc", ".env", ".cargo/config.toml", ".config/nextest.toml", ".mvn/jvm.config"),
        *("buildSrc/src/main/java/A.java", "build.xml", "Gruntfile.js", "gulpfile.ts", "a/x.bzl"),
        *(".bazelrc", ".shellcheckrc", ".isort.cfg", ".rubocop_todo.yml", "biome.json"),
        *("checkstyle.xml", ".golangci.toml", "node_modules/.bin/jest", "pytest.toml"),
        *(".pytest.toml", ".github/workflows/a.yml", "Jenkinsfile", "package-lock.json"),
    ],
)
def test_in_somebody_elses_change_settings_decide_wherever_an_agent_could_not_go(path: str) -> None:
    assert Rules(foreign=True).referee(path)


@pytest.mark.parametrize(
    "path", ["src/auth/login.py", "db/migrations/0001.py", "billing.py", "infra/main.tf", "src/a.c"]
)
def test_product_code_of_a_delicate_kind_is_no_referee(path: str) -> None:
    assert not Rules(foreign=True).referee(path)


def test_what_is_blocked_for_an_agent_stays_so() -> None:
    for path in (".pytest.toml", ".bazelrc", ".isort.cfg", ".npmrc"):
        assert Rules().blocked(path)


@pytest.mark.parametrize(
    "path", ["testutils/a.py", "test_helpers/a.js", "unit-tests/a.rb", "testlib/a.go"]
)
def test_folders_that_help_tests_are_tests(path: str) -> None:
    assert Rules().test(path)
