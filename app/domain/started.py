"""What the checks start and name, read from their commands and from the texts of the base.

A script is followed into what it starts itself, through Makefiles, package.json and the like. What
a script merely works on (the sources that a compiler or a linter is given) is not of it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.base_files import BaseFiles, normal
from app.domain.check import Check
from app.domain.options import VALUED, option_values
from app.domain.recipes import make_text, script_texts
from app.domain.shell_words import Command, commands

MOST = 400  # files that are followed

SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"))
PYTHONS = re.compile(r"(?:python|pypy)[\d.]*$|^py$|^\$")
INTERPRETERS = frozenset(
    (
        *("node", "nodejs", "bun", "deno", "tsx", "ts-node", "ts-node-esm", "ruby", "perl", "php"),
        *("lua", "luajit", "Rscript", "julia", "bats", "tclsh", "groovy", "pwsh", "osascript"),
        *("sed", "expect", "elixir", "escript", "swift", "scala", "kotlin", "java", "racket"),
    )
)
MAKES = frozenset(("make", "gmake", "bmake", "just", "task"))
PACKAGERS = frozenset(("npm", "pnpm", "yarn", "bun"))
COMPARED = frozenset(("diff", "cmp", "comm"))
_TEXTUAL = re.compile(r"[\"']([\w./@-]{2,200})[\"']")
_PROGRAM = re.compile(r"\.(?:py|sh|rb|pl|[cm]?js|ts|php|lua)$|^-m$")
SOURCE = re.compile(r"\.(?:py|[cm]?[jt]sx?|rb|php|go|rs|java|kt|c|cc|cpp|h|cs|swift|scala)$")


@dataclass
class Trail:
    """What was found: `files` with the words that say why, `places` that Python looks into first,
    `globs` of test files, `options` of test runners (for their own rules), `scripts` whose own
    imports belong to them."""

    files: dict[str, str] = field(default_factory=dict)
    places: set[str] = field(default_factory=set)
    globs: set[tuple[str, str]] = field(default_factory=set)
    options: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    scripts: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Text:
    text: str
    folder: str  # that its commands run in
    here: str  # that it lies in
    why: str


def trail_of(check: Check, base: BaseFiles) -> Trail:
    """What one check starts, names and looks into."""
    return _Follower(base, check).trail


class _Follower:
    """Follows one check's command from file to file, each once."""

    def __init__(self, base: BaseFiles, check: Check) -> None:
        self.base = base
        self.trail = Trail()
        self.seen: set[tuple[str, str]] = set()
        self.waiting: list[_Text] = []
        why = f"the check `{check.name}` names it"
        folder = normal(check.workdir)
        self.trail.places.add(folder)
        self._environment(check.env, folder, why)
        selector = [word for word in check.selector if word != "{tests}"]
        for argv in (check.argv, tuple(selector)):
            if argv:
                self._command(Command(tuple(argv), check.env, folder), "", why)
        while self.waiting and len(self.seen) < MOST:
            one = self.waiting.pop(0)
            for command in commands(one.text, one.folder):
                self._command(command, one.here, one.why)

    # -- one command

    def _command(self, one: Command, here: str, why: str) -> None:
        self._environment(one.env, one.folder, why)
        if not one.words:
            return
        name, rest = posixpath.basename(one.words[0]), list(one.words[1:])
        places = (one.folder, "", here)
        if one.folder:
            self.trail.places.add(one.folder)
        if "/" in one.words[0] or name.startswith("$"):
            self._script(one.words[0], one, here, why)
        self._started(name, rest, one, here, why)
        if name in COMPARED:
            for word in rest:
                self._named(word, places, why)
        self._options(name, rest, places, why)
        self.trail.options.append(((name, *rest), one.folder))

    def _started(self, name: str, rest: list[str], one: Command, here: str, why: str) -> None:
        if name in SHELLS:
            self._shell(rest, one, here, why)
        elif name in (".", "source"):
            self._script(rest[0] if rest else "", one, here, why)
        elif name.startswith("$") and not any(_PROGRAM.search(word) for word in rest[:4]):
            return  # some program of a variable, such as a compiler
        elif PYTHONS.search(name):
            self._python(rest, one, here, why)
        elif name in MAKES:
            self._make(name, rest, one, why)
        elif name in PACKAGERS:
            self._packager(name, rest, one, why)
        elif name in INTERPRETERS:
            self._interpreter(name, rest, one, here, why)
        elif name in ("tox", "nox"):
            self._tool_file(("tox.ini", "setup.cfg", "noxfile.py"), one, why)
        elif name in ("for", "run-parts"):
            self._many(name, rest, (one.folder, "", here), why)

    def _options(self, name: str, rest: Sequence[str], places: Iterable[str], why: str) -> None:
        for word, sure in option_values(name, rest):
            for path in self.base.meant(word, places):
                if sure or not SOURCE.search(path):
                    self._name(path, why)
                    self._follow(path, "", why)

    def _shell(self, rest: list[str], one: Command, here: str, why: str) -> None:
        at = 0
        while at < len(rest):
            word = rest[at]
            if word in ("sh", "ash"):  # busybox sh
                at += 1
            elif re.fullmatch(r"-[a-zA-Z]*c", word) and at + 1 < len(rest):
                self.waiting.append(_Text(rest[at + 1], one.folder, here, why))
                return
            elif word in ("-o", "+o", "-O", "+O"):
                at += 2
            elif word.startswith(("--rcfile", "--init-file")):
                at += 1 if "=" in word else 2
            elif word.startswith(("-", "+")):
                at += 1
            else:
                self._script(word, one, here, why)
                return

    def _python(self, rest: list[str], one: Command, here: str, why: str) -> None:
        at = 0
        while at < len(rest):
            word = rest[at]
            if word == "-m" and at + 1 < len(rest):
                module = rest[at + 1]
                if module == "coverage" and "run" in rest[at + 2 :]:
                    self._python(rest[rest.index("run", at) + 1 :], one, here, why)
                    return
                for path in self.base.module(module, (one.folder, *sorted(self.trail.places))):
                    self._name(path, why)
                    self._follow(path, one.folder, why)
                self._command(Command((module, *rest[at + 2 :]), {}, one.folder), here, why)
                return
            if word == "-c" and at + 1 < len(rest):
                self._python_text(rest[at + 1], one.folder, here, why)
                return
            if word in ("-W", "-X", "--check-hash-based-pycs"):
                at += 2
            elif word.startswith("-"):
                at += 1
            else:
                self._script(word, one, here, why)
                return

    def _interpreter(self, name: str, rest: list[str], one: Command, here: str, why: str) -> None:
        testing = "--test" in rest or name == "bats" or (name in ("deno", "bun") and "test" in rest)
        value = False
        for word in rest:
            if value or word.startswith("-"):
                value = not value and "=" not in word and word in VALUED
                continue
            if testing:
                folder = normal(posixpath.join(one.folder, word))
                wide = folder.partition("/")[0] in ("", "src", "lib", "app", "packages")
                self.trail.globs.add((word, one.folder))
                if not wide and "*" not in word:
                    self.trail.globs.add((f"{folder}/**", ""))
            else:
                if not (word in ("run", "test") and name in ("deno", "bun")):
                    self._script(word, one, here, why)
                    return

    def _make(self, name: str, rest: list[str], one: Command, why: str) -> None:
        folder, file, goals = one.folder, "", []
        words = iter(rest)
        for word in words:
            if word in ("-C", "--directory", "-d", "--working-directory"):
                folder = normal(posixpath.join(folder, next(words, "")))
            elif word in ("-f", "--file", "--makefile", "--justfile", "--taskfile"):
                file = next(words, "")
            elif word in ("-j", "-I", "-o", "-W"):
                next(words, "")
            elif not word.startswith("-") and "=" not in word:
                goals.append(word)
        standard = {
            "just": ("justfile", ".justfile", "Justfile"),
            "task": ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml"),
        }.get(name, ("GNUmakefile", "makefile", "Makefile"))
        for path in (file,) if file else standard:
            for found in self.base.meant(path, (folder,)):
                self._makefile(found, folder, goals, why)

    def _makefile(self, path: str, folder: str, goals: list[str], why: str) -> None:
        if ("make " + " ".join(goals), path) in self.seen:
            return
        self.seen.add(("make " + " ".join(goals), path))
        text = self.base.read(path)
        via = f"`{path}` names it"
        for found in re.findall(r"^[ \t]*[-s]?include[ \t]+(.+)$", text, re.MULTILINE):
            for word in found.split():
                for other in (*self.base.meant(word, (folder, "")), *self.base.matching(word)):
                    self._name(other, via)
                    text += "\n" + self.base.read(other)
        self.waiting.append(_Text(make_text(text, goals), folder, posixpath.dirname(path), via))

    def _packager(self, name: str, rest: list[str], one: Command, why: str) -> None:
        folder, words = one.folder, list(rest)
        for option in ("--prefix", "-C", "--cwd", "--dir"):
            if option in words[:-1]:
                at = words.index(option)
                folder = normal(posixpath.join(folder, words[at + 1]))
                del words[at : at + 2]
        plain = [word for word in words if not word.startswith("-")]
        if name == "bun" and plain[:1] == ["test"]:
            self._interpreter("bun", rest, one, folder, why)
        wanted = plain[1:2] if plain[:1] in (["run"], ["run-script"], ["rum"]) else plain[:1]
        wanted = ["test"] if wanted in (["t"], ["tst"]) else wanted or ["install"]
        for path in self.base.meant("package.json", (folder,)):
            key = (f"script {wanted[0]}", path)
            if key not in self.seen:
                self.seen.add(key)
                for text in script_texts(self.base.read(path), wanted[0]):
                    self.waiting.append(_Text(text, folder, folder, f"`{path}` names it"))

    def _tool_file(self, names: Sequence[str], one: Command, why: str) -> None:
        for name in names:
            for path in self.base.meant(name, (one.folder, "")):
                self._follow(path, one.folder, why)

    def _many(self, name: str, rest: list[str], places: Iterable[str], why: str) -> None:
        """`for x in checks/*.sh` and `run-parts checks`."""
        globs = rest[rest.index("in") + 1 :] if "in" in rest else ()
        if name == "run-parts":
            globs = [f"{word}/*" for word in rest[-1:]]
        for glob in globs:
            for path in self.base.matching(glob, places):
                if name == "run-parts" or not SOURCE.search(path):
                    self._name(path, why)

    # -- what is named

    def _named(self, word: str, places: Iterable[str], why: str) -> None:
        for path in self.base.meant(word, places):
            self._name(path, why)
            self._follow(path, "", why)

    def _name(self, path: str, why: str) -> None:
        self.trail.files.setdefault(path, why)

    def _script(self, word: str, one: Command, here: str, why: str) -> None:
        for path in self.base.meant(word, (one.folder, "", here)):
            self._name(path, why)
            self._follow(path, one.folder, why)
        if "*" in word:
            for path in self.base.matching(word, (one.folder, here)):
                self._name(path, why)

    def _follow(self, path: str, folder: str, why: str) -> None:
        """Read a file that is started, and wait with what it starts itself."""
        if ("follow", path) in self.seen or len(self.seen) > MOST:
            return
        self.seen.add(("follow", path))
        text = self.base.read(path)
        here = posixpath.dirname(path)
        via = f"`{path}` names it"
        self.trail.scripts.add(path)
        first = text.partition("\n")[0]
        if path.endswith((".py", ".pyw")) or (first.startswith("#!") and "python" in first):
            self.trail.places.add(here)
            self._python_text(text, folder, here, via)
        elif SOURCE.search(path) or (first.startswith("#!") and not re.search(r"sh\b", first)):
            self._strings(text, folder, here, via)
        elif re.search(r"(?:^|/)(?:gnu)?makefile$|\.mk$", path, re.IGNORECASE):
            self.waiting.append(_Text(make_text(text, ()), folder, here, via))
        elif not path.endswith((".md", ".rst", ".txt", ".xml", ".json", ".toml", ".lock")):
            self.waiting.append(
                _Text(re.sub(r"^(commands\w*|\s+) *=", "", text), folder, here, via)
            )

    def _python_text(self, text: str, folder: str, here: str, why: str) -> None:
        self._strings(text, folder, here, why)
        for found in re.findall(
            r"(?:os\.system|os\.popen|run|call|Popen|session\.run)\(\s*[frb]*"
            r"[\"']([^\"'\n]{2,300})[\"']",
            text,
        ):
            self.waiting.append(_Text(found, folder, here, why))

    def _strings(self, text: str, folder: str, here: str, why: str) -> None:
        """Files that a program's own strings name, but for sources, which it may work on."""
        for word in _TEXTUAL.findall(text):
            for path in self.base.meant(word, (folder, "", here)):
                if not SOURCE.search(path):
                    self._name(path, why)
                    self._follow(path, folder, why)

    def _environment(self, env: Mapping[str, str], folder: str, why: str) -> None:
        for part in env.get("PYTHONPATH", "").split(":"):
            tail = part.rpartition("$")[2].partition("/")[2] if "$" in part else part
            self.trail.places.add(normal(posixpath.join(folder, tail.removeprefix("/workspace"))))
        for key in (
            "PYTEST_ADDOPTS",
            "PYTEST_PLUGINS",
            "NODE_OPTIONS",
            "RUBYOPT",
            "BASH_ENV",
            "ENV",
            "PYTHONSTARTUP",
            "MAKEFILES",
            "GOFLAGS",
            "PERL5OPT",
        ):
            words = env.get(key, "").replace(",", " ").split()
            if key == "PYTEST_PLUGINS":
                words = [w for one in words for w in ("-p", one)]
            if not words:
                continue
            self.trail.options.append((("pytest" if "PYTEST" in key else key, *words), folder))
            self._options(key, words, (folder, ""), why)
            for word in words:
                if key in ("BASH_ENV", "ENV", "PYTHONSTARTUP", "MAKEFILES"):
                    self._named(word, (folder, ""), why)
                elif key in ("RUBYOPT", "PERL5OPT"):
                    self._named(word.removeprefix("-r").removeprefix("-M"), (folder, ""), why)
