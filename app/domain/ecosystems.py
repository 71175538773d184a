"""Which dependencies a tree's manifests and lock files ask for, ecosystem by ecosystem.

Nothing runs here. What a manifest says becomes a file that set-up reads, never part of a command.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.edit import Entry
from app.domain.environment_config import PACKAGE, ServiceConfig, SetupConfig
from app.domain.glob import match
from app.domain.python_needs import METADATA, python_needs
from app.domain.setup import HOME, SetupPlan, Sight, Step, Tool, configured

FOLDERS_MOST = 12  # projects of one ecosystem in one tree
_PYTHON = (
    *("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "Pipfile.lock"),
    *("requirements-test.txt", "requirements-tests.txt", "requirements-dev.txt"),
    *("requirements_test.txt", "requirements_dev.txt"),
    *("test-requirements.txt", "dev-requirements.txt"),
)
NPM_FLAGS = "--no-audit --no-fund --no-update-notifier"
_VENDORED = ("node_modules", "vendor", "third_party", "venv", ".venv", "site-packages")
_SAMPLES = ("testdata", "fixtures", "test", "tests", "examples", "example", "docs")
ASIDE = frozenset((*_VENDORED, *_SAMPLES))
_NODE_KEYS = (
    "name",
    "version",
    "type",
    "workspaces",
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "overrides",
    "resolutions",
    "packageManager",
    "pnpm",
)

PIP = Tool("pip", "python3 -m pip --version", ("python3-pip", "python3-dev"))
NPM = Tool("npm", "npm --version", ("npm",))
GO = Tool("go", "go version", ("golang-go", "ca-certificates"))
CARGO = Tool("cargo", "cargo --version", ("cargo", "ca-certificates"))
MAVEN = Tool("maven", "mvn --version", ("maven", "default-jdk-headless", "ca-certificates"))
GRADLE = Tool("gradle", "gradle --version", ("gradle", "default-jdk-headless", "ca-certificates"))
BUNDLER = Tool("bundler", "bundle --version", ("bundler", "ruby-dev", "rake", "ca-certificates"))
COMPOSER = Tool(
    "composer", "composer --version", ("composer", "php-xml", "php-mbstring", "ca-certificates")
)


@dataclass
class Found:
    """What recognition gathers, in order."""

    tools: list[Tool] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    ecosystems: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)

    def tool(self, *tools: Tool) -> None:
        self.tools += [tool for tool in tools if tool not in self.tools]

    def step(self, title: str, run: str, folder: str) -> None:
        where = f" in {folder}" if folder else ""
        self.steps.append(Step(f"{title}{where}", run, folder))
        self.assumed.append(f"Set-up: {title}{where}.")


def plan_setup(
    entries: Sequence[Entry],
    read: Callable[[str], bytes],
    config: SetupConfig | None,
    services: tuple[ServiceConfig, ...] = (),
    egress: tuple[str, ...] = (),
    *,
    default_image: bool = True,
) -> SetupPlan:
    """The plan of a tree; an empty one where nothing needs to be installed.

    `read` gives the bytes of a regular file in `entries`. Raises `SetupError`.
    """
    sight = Sight.of(entries, read)
    found = Found()
    for look in (_python, _node, _go, _cargo, _maven, _gradle, _bundler, _composer):
        look(sight, found, default_image)
    plan = SetupPlan(
        tools=tuple(found.tools),
        packages=_distribution(sight),
        steps=tuple(found.steps),
        files=tuple(sorted(found.files.items())),
        links=tuple(found.links),
        env=found.env,
        ecosystems=tuple(dict.fromkeys(found.ecosystems)),
        services=services,
        hosts=egress,
        assumed=tuple(found.assumed),
    )
    return plan if config is None else configured(plan, config, sight)


def _distribution(sight: Sight) -> tuple[str, ...]:
    """Packages that a list at the root names, a line each."""
    found: list[str] = []
    for name in ("apt.txt", "Aptfile", "apt-packages.txt"):
        lines = sight.bytes_of(name).decode("utf-8", "replace").splitlines()
        found += [word for line in lines if PACKAGE.fullmatch(word := line.strip())]
    return tuple(dict.fromkeys(found))[:100]


def _folders(sight: Sight, names: Iterable[str]) -> list[str]:
    """Folders that hold one of the names, the root first; test data and vendored code are not
    projects."""
    wanted = frozenset(names)
    found = {
        posixpath.dirname(path)
        for path in sight.files
        if posixpath.basename(path) in wanted and ASIDE.isdisjoint(path.split("/")[:-1])
    }
    return sorted(found, key=lambda folder: (folder.count("/") + bool(folder), folder))[
        :FOLDERS_MOST
    ]


def _outermost(folders: Sequence[str]) -> list[str]:
    """Of folders those that lie in no other of them: each a project, the rest are its parts."""
    return [
        one
        for one in folders
        if not any(other != one and _lies_in(one, other) for other in folders)
    ]


def _lies_in(folder: str, outer: str) -> bool:
    return not outer or folder == outer or folder.startswith(f"{outer}/")


def _at(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _see(sight: Sight, found: Found, folder: str, *names: str) -> None:
    for name in names:
        path = _at(folder, name)
        if path in sight.files:
            found.files[path] = sight.bytes_of(path)


# -- Python ---------------------------------------------------------------------------------------


def _python(sight: Sight, found: Found, default_image: bool) -> None:
    for folder in _folders(sight, _PYTHON):
        lock = next(
            (one for one in ("uv.lock", "poetry.lock") if _at(folder, one) in sight.files), ""
        )
        if lock:
            _see(sight, found, folder, lock, "pyproject.toml")
            _locked(found, folder, lock)
            continue
        needs = python_needs(sight, folder, pytest_there=default_image)
        if not needs.files:
            continue
        found.files.update(needs.files)
        found.tool(PIP)
        found.ecosystems.append("python")
        words = " ".join(f"-r {posixpath.relpath(one, folder or '.')}" for one in needs.install)
        found.step(f"pip install {needs.what}", f"{_PIP_INSTALL} {words}", folder)
        if needs.metadata:
            found.files[_at(folder, METADATA)] = needs.metadata
            found.steps.append(Step("the project's metadata", _REGISTER, folder))


# A project that asks for its own version finds it, though only its source is there.
_REGISTER = f"""python3 -c "
import email, pathlib, sysconfig
told = pathlib.Path('{METADATA}').read_text()
known = email.message_from_string(told)
name = known['Name'].replace('-', '_') + '-' + known['Version'] + '.dist-info'
made = pathlib.Path(sysconfig.get_path('purelib'), pathlib.PurePath(name).name)
made.mkdir(parents=True, exist_ok=True)
(made / 'METADATA').write_text(told)
\""""
_PIP_INSTALL = "python3 -m pip install --no-input --root-user-action=ignore $PATCHWARRANT_PIP"


def _locked(found: Found, folder: str, lock: str) -> None:
    """Export the lock file's pins with the tool that wrote it, then install exactly those."""
    name = lock.partition(".")[0]
    place = f"{HOME}/tools/{name}"
    words = "poetry poetry-plugin-export" if name == "poetry" else "uv"
    install = (
        f"python3 -m venv {place} && {place}/bin/pip install --no-input -q {words}"
        f" && ln -sf {place}/bin/{name} /usr/local/bin/{name}"
    )
    found.tool(PIP, Tool(name, f"{name} --version", ("python3-venv",), install))
    found.ecosystems.append("python")
    export = {
        "uv": "uv export --frozen --all-extras --all-groups --no-emit-project"
        " --no-emit-workspace -q -o /tmp/pins.txt",
        "poetry": "poetry export -q --without-hashes --all-extras --all-groups"
        " -f requirements.txt -o /tmp/pins.txt",
    }[name]
    found.step(f"pip install from {lock}", f"{export}\n{_PIP_INSTALL} -r /tmp/pins.txt", folder)


# -- Node -----------------------------------------------------------------------------------------


def _node(sight: Sight, found: Found, _default_image: bool) -> None:
    done: set[str] = set()
    for folder in _folders(sight, ("package.json",)):
        if folder in done:
            continue
        package = _json(sight.bytes_of(_at(folder, "package.json")))
        if not isinstance(package, Mapping):
            continue
        inside = members(sight, folder, package)
        done.update(inside)
        found.tool(NPM)
        found.ecosystems.append("node")
        needed = any(package.get(k) for k in _NODE_KEYS if k.endswith("ependencies"))
        if not needed and not inside:
            continue
        for one in (folder, *inside):
            path = _at(one, "package.json")
            found.files[path] = _reduced(_json(sight.bytes_of(path)))
            if not any(p.startswith(_at(one, "node_modules/")) for p in sight.files):
                found.links.append(_at(one, "node_modules"))
        _node_install(sight, found, folder, package)


def _node_install(sight: Sight, found: Found, folder: str, package: Mapping[str, Any]) -> None:
    manager, _, wanted = str(package.get("packageManager", "")).partition("@")
    version = wanted.partition("+")[0]
    for lock in ("package-lock.json", "npm-shrinkwrap.json"):
        if _at(folder, lock) in sight.files:
            _see(sight, found, folder, lock)
            return found.step("npm ci", f"npm ci {NPM_FLAGS}", folder)
    if _at(folder, "pnpm-lock.yaml") in sight.files:
        _see(sight, found, folder, "pnpm-lock.yaml", "pnpm-workspace.yaml")
        lock = sight.bytes_of(_at(folder, "pnpm-lock.yaml"))[:200].decode("utf-8", "replace")
        made = re.search(r"lockfileVersion:\s*'?(\d+)", lock)
        fits = {"5": "7", "6": "8"}.get(made[1] if made else "", "9")
        found.tool(_from_npm("pnpm", "pnpm", version if manager == "pnpm" else fits))
        return found.step("pnpm install", "pnpm install --frozen-lockfile", folder)
    if _at(folder, "yarn.lock") in sight.files:
        _see(sight, found, folder, "yarn.lock")
        lock = sight.bytes_of(_at(folder, "yarn.lock"))[:2000].decode("utf-8", "replace")
        if "__metadata:" not in lock:
            found.tool(_from_npm("yarn", "yarn", "1"))
            run = "yarn install --frozen-lockfile --non-interactive"
            return found.step("yarn install", run, folder)
        found.tool(_from_npm("yarn", "@yarnpkg/cli-dist", version if manager == "yarn" else "4"))
        run = (  # it looks at no proxy variables but its own
            "export YARN_HTTP_PROXY=$http_proxy YARN_HTTPS_PROXY=$https_proxy\n"
            'if [ -n "${SSL_CERT_FILE:-}" ]; then export '
            "YARN_HTTPS_CA_FILE_PATH=$SSL_CERT_FILE; fi\n"
            "YARN_NODE_LINKER=node-modules YARN_ENABLE_GLOBAL_CACHE=0 yarn install --immutable"
        )
        return found.step("yarn install", run, folder)
    found.step("npm install", f"npm install --no-package-lock {NPM_FLAGS}", folder)
    found.assumed.append("There is no lock file for npm: the newest fitting versions are used.")
    return None


def _from_npm(name: str, package: str, version: str) -> Tool:
    known = re.fullmatch(r"[0-9][0-9A-Za-z.-]{0,30}", version)
    asked = f"{package}@{version}" if known else package
    return Tool(name, f"{name} --version", (), f"npm install -g {NPM_FLAGS} {asked}")


def members(sight: Sight, folder: str, package: Mapping[str, Any]) -> list[str]:
    """Folders of a workspace's packages; `folder` is the workspace's, `package` its manifest."""
    asked = package.get("workspaces")
    asked = asked.get("packages") if isinstance(asked, Mapping) else asked
    globs = [one for one in asked if isinstance(one, str)] if isinstance(asked, list) else []
    listed = sight.bytes_of(_at(folder, "pnpm-workspace.yaml")).decode("utf-8", "replace")
    globs += re.findall(r"^\s*-\s*['\"]?([^'\"#\n]+?)['\"]?\s*$", listed, re.MULTILINE)
    found = []
    for path in sight.files:
        if posixpath.basename(path) != "package.json" or "node_modules" in path.split("/"):
            continue
        inside = posixpath.relpath(posixpath.dirname(path) or ".", folder or ".")
        if any(match(glob.rstrip("/").removeprefix("./"), inside) for glob in globs):
            found.append(posixpath.dirname(path))
    return sorted(found)[: 4 * FOLDERS_MOST]


def _json(data: bytes) -> Any:
    try:
        return json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return None


def _reduced(package: Any) -> bytes:
    """A manifest without scripts: what says which packages are wanted."""
    known = package if isinstance(package, Mapping) else {}
    return json.dumps({k: known[k] for k in _NODE_KEYS if k in known}, indent=1).encode()


# -- the others -----------------------------------------------------------------------------------


def _go(sight: Sight, found: Found, _default_image: bool) -> None:
    for folder in _folders(sight, ("go.mod",)):
        found.tool(GO)
        found.ecosystems.append("go")
        found.env.update({"GOMODCACHE": f"{HOME}/go", "GOTOOLCHAIN": "local"})
        manifest = sight.bytes_of(_at(folder, "go.mod"))
        vendored = _at(folder, "vendor/modules.txt") in sight.files
        if vendored or not re.search(rb"^(?:require\b|\t\S+ v)", manifest, re.MULTILINE):
            continue
        _see(sight, found, folder, "go.mod", "go.sum", "go.work", "go.work.sum")
        found.step("go mod download", "go mod download", folder)


def _cargo(sight: Sight, found: Found, _default_image: bool) -> None:
    manifests = [_at(one, "Cargo.toml") for one in _folders(sight, ("Cargo.toml",))]
    if not manifests:
        return
    found.tool(CARGO)
    found.ecosystems.append("cargo")
    found.env["CARGO_HOME"] = f"{HOME}/cargo"
    needed = [one for one in manifests if b"dependencies" in sight.bytes_of(one)]
    if not needed or any(path.startswith("vendor/") for path in sight.files):
        return
    for manifest in manifests:
        folder = posixpath.dirname(manifest)
        _see(sight, found, folder, "Cargo.toml", "Cargo.lock")
        for source in ("src/lib.rs", "src/main.rs", "build.rs"):
            if _at(folder, source) in sight.files:  # cargo only wants to see that they exist
                found.files[_at(folder, source)] = b"fn main() {}\n"
    folders = [posixpath.dirname(one) for one in manifests]
    outer = _outermost(folders)
    for root in folders:
        own = _at(root, "Cargo.lock") in sight.files  # members of a workspace have none
        if (own or root in outer) and any(_lies_in(posixpath.dirname(one), root) for one in needed):
            found.step("cargo fetch", f"cargo fetch{' --locked' if own else ''}", root)


def _maven(sight: Sight, found: Found, _default_image: bool) -> None:
    folders = _folders(sight, ("pom.xml",))
    if not folders:
        return
    found.tool(MAVEN)
    found.ecosystems.append("maven")
    found.env["MAVEN_OPTS"] = f"-Dmaven.repo.local={HOME}/m2"
    for folder in folders:
        _see(sight, found, folder, "pom.xml")
    run = "mvn -B -q -DskipTests dependency:go-offline"
    for root in _outermost(folders):
        found.step("mvn dependency:go-offline", run, root)


def _gradle(sight: Sight, found: Found, _default_image: bool) -> None:
    names = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    folders = _folders(sight, names)
    if not folders:
        return
    found.tool(GRADLE)
    found.ecosystems.append("gradle")
    found.env["GRADLE_USER_HOME"] = f"{HOME}/gradle"
    for folder in folders:
        _see(sight, found, folder, *names, "gradle.properties", "gradle.lockfile")
        _see(sight, found, folder, "gradle/libs.versions.toml")
    run = "gradle --no-daemon -q dependencies --configuration testRuntimeClasspath"
    for root in _outermost(folders):
        found.step("gradle dependencies", run, root)


def _bundler(sight: Sight, found: Found, _default_image: bool) -> None:
    for folder in _folders(sight, ("Gemfile",)):
        found.tool(BUNDLER)
        found.ecosystems.append("bundler")
        found.env.update({"BUNDLE_PATH": f"{HOME}/bundle", "BUNDLE_DISABLE_SHARED_GEMS": "true"})
        _see(sight, found, folder, "Gemfile", "Gemfile.lock", ".ruby-version")
        start = f"{folder}/" if folder else ""
        for path in sight.files:  # a gemspec reads its version
            inside = path.removeprefix(start)
            if path.startswith(start) and (
                ("/" not in inside and inside.endswith(".gemspec"))
                or re.fullmatch(r"lib/(?:.+/)?version\.rb", inside)
            ):
                found.files[path] = sight.bytes_of(path)
        frozen = "BUNDLE_FROZEN=true " if _at(folder, "Gemfile.lock") in sight.files else ""
        found.step("bundle install", f"{frozen}bundle install", folder)


def _composer(sight: Sight, found: Found, _default_image: bool) -> None:
    for folder in _folders(sight, ("composer.json",)):
        found.tool(COMPOSER)
        found.ecosystems.append("composer")
        _see(sight, found, folder, "composer.json", "composer.lock")
        if not any(path.startswith(_at(folder, "vendor/")) for path in sight.files):
            found.links.append(_at(folder, "vendor"))
        run = "COMPOSER_ALLOW_SUPERUSER=1 composer install --no-interaction --no-scripts -q"
        found.step("composer install", f"{run} --no-autoloader", folder)
