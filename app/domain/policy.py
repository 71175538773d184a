"""Which paths a change may touch: blocked, in scope, referee, test.

Names are compared folded (letter case and Unicode composition ignored), since some file systems
fold them too. Two tiers protect what decides about a change: *blocked* paths are refused unless
the base commit's configuration unlocks them, *referee* paths may be planned but never earn a pass
on their own word.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from app.domain.glob import literally, match
from app.domain.paths import PathRefused, canon, folded, fresh, hidden
from app.domain.repo_config import CONFIG_PATH, RepoConfig
from app.domain.revision import Scope

__all__ = ["PathRefused", "Rules", "canon", "fresh", "hidden", "match", "rules_of"]

# Nothing unlocks these: they say what may be done, or run with the repository's secrets.
NEVER = (".github/agent.yml", ".github/agent.yaml", ".github/workflows", ".github/workflows/**")

# A word of a folder's or a file's name that blocks it (B9).
WORDS = (
    "auth|authn|authz|oauth|oauth2|authentication|authorization|authorisation|billing|payment",
    "payments|migration|migrations|infrastructure|infra|terraform",
)

# Folders blocked wherever they are, with all that is in them.
FOLDERS = (
    ".git|.github|.gitlab|.githooks|.git-hooks|.husky|.lefthook|.circleci|.buildkite",
    ".woodpecker|.teamcity|.semaphore|.azure-pipelines|.cursor|.claude|.codex|.gemini",
    ".windsurf|.clinerules|.roo|.aider|.continue|.copilot|.agents|.terraform|.devcontainer",
    ".vscode|.idea|.ssh",
)

# Files blocked wherever they are.
FILES = (
    "codeowners|.gitattributes|.gitmodules|.gitconfig|.lfsconfig|.git-blame-ignore-revs|.mailmap",
    "agents.md|agents.override.md|agent.md|claude.md|claude.local.md|gemini.md|copilot*.md",
    ".cursorrules|.windsurfrules|.clinerules|.roomodes|.aider*|.mcp.json|mcp.json",
    ".env|.env.*|.envrc|.netrc|.npmrc|.yarnrc|.yarnrc.yml|.pypirc|pip.conf",
    ".gitlab-ci*.yml|.travis.yml|.appveyor.yml|appveyor.yml|.drone.yml|.cirrus.yml|.woodpecker.yml",
    "jenkinsfile|jenkinsfile.*|*.jenkinsfile|azure-pipelines*.yml|azure-pipelines*.yaml",
    "bitbucket-pipelines.yml|cloudbuild.yaml|cloudbuild.yml|buildspec.yml|buildspec.yaml",
    "codemagic.yaml|wercker.yml|circle.yml|.semaphore.yml|screwdriver.yaml|.build.yml",
    ".pre-commit-config.yaml|.pre-commit-hooks.yaml|lefthook.yml|lefthook.yaml|.huskyrc*",
    ".lintstagedrc*|lint-staged.config.*|renovate.json|renovate.json5|.renovaterc*",
    "*.tf|*.tf.json|*.tfvars|*.tfvars.json|*.tfstate|*.hcl",
    "*.lock|*.lockb|*.lockfile|*-lock.json|*-lock.yaml|*-lock.yml|*.lock.json|*.lock.hcl",
    "npm-shrinkwrap.json|go.sum|go.work.sum|package.resolved|cartfile.resolved",
)

# Path patterns that neither a folder's nor a file's name tells.
PLACES = ("**/db/migrate/**", "**/alembic/versions/**", "**/.git*/**")

# Files that decide how tests and builds run; editable if planned, never passed on their own word.
REFEREES = (
    "pytest.ini|.pytest.ini|setup.cfg|tox.ini|pyproject.toml|noxfile.py|setup.py|manifest.in",
    "conftest.py|sitecustomize*|usercustomize*|*.pth|pytest.py|unittest.py|pluggy.py",
    ".coveragerc|requirements*.txt|requirements*.in|constraints*.txt|pipfile|environment.y*ml",
    ".gitignore|.dockerignore|.editorconfig|.python-version|.nvmrc|.node-version|.ruby-version",
    ".tool-versions|.flake8|.pylintrc|.ruff.toml|ruff.toml|mypy.ini|.mypy.ini|pyrightconfig.json",
    "package.json|pnpm-workspace.yaml|lerna.json|nx.json|turbo.json|deno.json*|bunfig.toml",
    "jest.*|jest-*.js|jest-*.ts|vitest.*|vite.config.*|playwright.config.*|cypress.config.*",
    "cypress.json|karma.conf.*|mocha.opts|.mocharc*|.nycrc*|.c8rc*|ava.config.*|babel.config.*",
    ".babelrc*|.swcrc|tsconfig*.json|jsconfig.json|webpack.config.*|rollup.config.*|esbuild.*",
    ".eslintrc*|.eslintignore|eslint.config.*|.prettierrc*|.prettierignore|.stylelintrc*",
    "cargo.toml|build.rs|rust-toolchain|rust-toolchain.toml|clippy.toml|.clippy.toml|rustfmt.toml",
    "go.mod|go.work|.golangci.y*ml|.rspec|spec_helper.rb|rails_helper.rb|test_helper.*|gemfile",
    "rakefile|*.gemspec|.rubocop.yml|phpunit.xml*|phpunit.dist.xml|composer.json|phpstan.neon*",
    "pom.xml|build.gradle*|settings.gradle*|gradle.properties|gradlew|gradlew.bat|mvnw|build.sbt",
    "cmakelists.txt|*.cmake|makefile|gnumakefile|makefile.*|*.mk|meson.build|build|build.bazel",
    "workspace|workspace.bazel|module.bazel|justfile|taskfile.y*ml|configure|configure.ac",
    "dockerfile|dockerfile.*|*.dockerfile|containerfile|docker-compose*.y*ml|compose*.y*ml",
    "*.csproj|*.fsproj|*.vbproj|*.sln|*.runsettings|directory.build.*|global.json|nuget.config",
    "mix.exs|rebar.config|pubspec.yaml|package.swift|podfile|codecov.yml|.codecov.yml",
    "*.snap|*.ambr",
)
REFEREE_FOLDERS = (
    "__snapshots__|pytest|_pytest|pluggy|unittest|sitecustomize|usercustomize",
    "*.dist-info|*.egg-info",  # their entry points are plugins of the test runner
    "__pycache__|node_modules|site-packages|.cargo|.mvn|buildsrc|.bundle|.yarn|.config|.venv|venv",
)
# Decide as referees do, and stay what they are otherwise: those with a dot are blocked at the root.
TOOLS = (
    "pytest.toml|.pytest.toml|.isort.cfg|.bandit|.pydocstyle*|.pep8|.style.yapf|.importlinter",
    "pyre_configuration|.pyre_configuration|.pytype.cfg|pyrefly.toml|ty.toml|uv.toml|poetry.toml",
    "hatch.toml|pdm.toml|pixi.toml|dodo.py|fabfile.py|wscript|sconstruct|sconscript",
    "nextest.toml|deny.toml|rust-analyzer.toml|miri.toml|cross.toml|tarpaulin.toml|.tarpaulin.toml",
    "build.xml|ivy.xml|gruntfile.*|gulpfile.*|jakefile*|*.bzl|.bazelrc|*.bazelrc|.bazelversion",
    "buck|buckconfig|.buckconfig|pants.toml|pants.ini|*.pants|earthfile|dagger.json",
    ".shellcheckrc|.shellspec|.bats*|.hadolint.y*ml|.yamllint*|.markdownlint*|.commitlintrc*",
    "commitlint.config.*|.rubocop*.yml|.rubocop*|.simplecov|.erb-lint.yml|.haml-lint.yml|guardfile",
    "biome.json*|rome.json|dprint.json*|oxlint*.json|.oxlintrc*|xo.config.*|tslint.json|.jshintrc",
    ".jscsrc|.jslintrc|.tap*|.mocharc|nightwatch.*|wdio.conf.*|protractor.conf.*|testem.*|.taprc",
    "web-test-runner.config.*|stryker.*|.size-limit*|.dependency-cruiser.*|knip.*|.ncurc*|.npmrc",
    "checkstyle*.xml|spotbugs*.xml|findbugs*.xml|pmd*.xml|detekt*.y*ml|ktlint*|.editorconfig",
    "*.gradle|*.gradle.kts|libs.versions.toml|gradle-wrapper.*|maven-wrapper.*",
    "maven.config|jvm.config|.golangci.*|staticcheck.conf|.golint*|revive.toml|.revive.toml",
    "phpcs.xml*|.phpcs.xml*|psalm.xml*|infection.json*|.php-cs-fixer*|.php_cs*|behat.y*ml|pest.php",
    "codeception.y*ml|.credo.exs|.formatter.exs|.dialyzer*|*.props|*.targets|stylecop.json|.globalconfig",
    "*.ruleset|*.globalconfig|.clang-tidy|.clang-format|cppcheck*|ctest*.cmake|cmakepresets.json",
    "cmakeuserpresets.json|meson_options.txt|conanfile.*|vcpkg.json|swiftlint.yml|.swiftlint.yml",
    ".swiftformat|analysis_options.yaml|build.yaml|dart_test.yaml|.scalafmt.conf|.scalafix.conf",
    ".codeclimate.y*ml|sonar-project.properties|.lintr|.lintstagedrc*|.vale.ini|.luacheckrc|.busted",
    "*.code-workspace|.env|.env.*|.envrc|*.runsettings|xunit.runner.json|*.testsettings",
    "*.approved.*|*.verified.*|*.golden",
)
# Blocked for an agent, and yet no part of what decides how somebody's tests end.
_PRODUCT_FILES = ("*.tf|*.tf.json|*.tfvars|*.tfvars.json|*.tfstate|*.hcl",)

_TEST_FOLDERS = (
    "test|tests|__tests__|spec|specs|testing|testdata|test_data|test-data|e2e|cypress",
    "fixtures|__fixtures__|__mocks__|golden|goldens",
)
# Folders of tests and of what helps them, by the words of their name.
_TEST_FOLDER_LIKE = re.compile(
    r"tests?(?:[-_.].*)?|testing(?:[-_.].*)?|test(?:util|help|lib|kit|support|case|data|suite"
    r"|fixture|common|tool)\w*|.*[-_](?:tests|testing|testdata|fixtures|specs)|integration[-_]test"
)
_TEST_FILES = (
    "test_*|*_test.*|*_tests.*|*_spec.*|*.test.*|*.tests.*|*.spec.*|*.cy.*|*-test.*|*-spec.*",
    "test.*|tests.*|conftest.py|doctest_*|*.snap",
)
# Java, Kotlin, C#, PHP, Swift: the case of the letters tells `FooTest` from `Latest`.
_TEST_CLASSES = re.compile(
    r".*[a-z0-9](Test|Tests|TestCase|IT|Spec)\.[A-Za-z]+|Test[A-Z].*\.[a-z]+"
)
_PROSE = (".md", ".rst", ".txt", ".adoc")
_SEPARATED = re.compile(r"[^a-z0-9]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


@dataclass(frozen=True)
class Rules:
    """What one repository's configuration makes of a canonical path. `allow` and `unlock` are
    globs; an empty `allow` means anywhere. `scope` is what a revision's comments open. `foreign`
    rules are for somebody else's change: what an agent could not touch at all decides there."""

    allow: tuple[str, ...] = ()
    unlock: tuple[str, ...] = ()
    scope: Scope | None = None
    foreign: bool = False

    def blocked(self, path: str) -> str | None:
        """None when `path` is free; else the configuration line that would unlock it, or the
        sentence that nothing does."""
        if never(path):
            return f"nothing unlocks {path}: workflow files and {CONFIG_PATH} are changed by people"
        glob = _blocking(path)
        if glob is None or any(match(one, path) for one in self.unlock):
            return None
        return f"paths: {{unlock: [{json.dumps(glob, ensure_ascii=False)}]}}"

    def in_scope(self, path: str) -> bool:
        """Whether `allow` lets a change touch `path`; what is blocked is another question."""
        if self.scope is not None and not self.scope.opens(path, self.test(path)):
            return False
        return not self.allow or any(match(glob, path) for glob in self.allow)

    def referee(self, path: str) -> bool:
        """Whether `path` decides how tests or builds run."""
        *folders, name = folded(path).split("/")
        if _like(name, _REFEREE) or _like(name, _TOOL):
            return True
        if any(_like(one, _REFEREE_FOLDER) for one in (*folders, name)):
            return True  # a link or a file may stand where the folder would
        return self.foreign and _kept_from_agents(path)

    def test(self, path: str) -> bool:
        """Whether `path` is a test file as the common ecosystems name them, or lies in a folder of
        tests."""
        *folders, name = folded(path).split("/")
        if _like(name, _TEST) or any(_like(one, _TEST_FOLDER) for one in folders):
            return True
        if any(_TEST_FOLDER_LIKE.fullmatch(one) for one in folders):
            return True
        return _TEST_CLASSES.fullmatch(path.rpartition("/")[2]) is not None


def rules_of(config: RepoConfig, scope: Scope | None = None, *, foreign: bool = False) -> Rules:
    """The rules that a repository's configuration at the base commit gives; a revision's `scope`
    narrows them."""
    return Rules(config.paths.allow, config.paths.unlock, scope, foreign)


def never(path: str) -> bool:
    """Whether no configuration can unlock `path`."""
    return any(match(glob, folded(path)) for glob in NEVER)


def _kept_from_agents(path: str) -> bool:
    """Whether `path` is blocked as a setting is: by a folder's or a file's own name. The words that
    block product code of a delicate kind (authentication, billing) make it no referee."""
    *folders, name = path.split("/")
    if any(_like(folded(one), _FOLDER) for one in folders):
        return True
    if folders and folded(folders[0]).startswith("."):
        return True
    fold = folded(name)
    if _like(fold, _PRODUCT_FILE):
        return False
    return _like(fold, _FOLDER) or _like(fold, _FILE) or (not folders and fold.startswith("."))


def _blocking(path: str) -> str | None:
    """The narrowest sensible glob that would unlock `path`, None when it is free."""
    names = path.split("/")
    for depth, name in enumerate(names[:-1], 1):
        if _folder_blocked(name, depth == 1):
            return literally("/".join(names[:depth])) + "/**"
    blocked = _file_blocked(names[-1], len(names) == 1) or any(
        match(place, folded(path)) for place in PLACES
    )
    return literally(path) if blocked else None


def _folder_blocked(name: str, top: bool) -> bool:
    fold = folded(name)
    return (top and fold.startswith(".")) or _like(fold, _FOLDER) or _worded(name)


def _file_blocked(name: str, top: bool) -> bool:
    fold = folded(name)
    if _like(fold, _FOLDER) or _like(
        fold, _FILE
    ):  # a link or a file may stand where a folder would
        return True
    if top and fold.startswith("."):
        return not _like(fold, _REFEREE)
    if fold.endswith(_PROSE) or _like(fold, _TEST):
        return False
    return _worded(name.rpartition(".")[0] or name)


def _worded(name: str) -> bool:
    """Whether one of the blocked words is a word of `name`, by separators or by capitals."""
    words = (*_SEPARATED.split(folded(name)), *map(folded, _CAMEL.findall(name)))
    return any(_like(word, _WORD) for word in words)


def _names(lines: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Exact names, and the globs among them."""
    names = "|".join(lines).split("|")
    return frozenset(n for n in names if "*" not in n), tuple(n for n in names if "*" in n)


def _like(name: str, table: tuple[frozenset[str], tuple[str, ...]]) -> bool:
    exact, globs = table
    return name in exact or any(match(glob, name) for glob in globs)


_WORD, _FOLDER, _FILE = _names(WORDS), _names(FOLDERS), _names(FILES)
_REFEREE, _REFEREE_FOLDER = _names(REFEREES), _names(REFEREE_FOLDERS)
_TOOL, _PRODUCT_FILE = _names(TOOLS), _names(_PRODUCT_FILES)
_TEST, _TEST_FOLDER = _names(_TEST_FILES), _names(_TEST_FOLDERS)
