"""New Python files that are imported instead of what was imported until now.

A file beside the tests, or at the root under `python -m`, comes before the standard library and
before the test runner's own packages.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Sequence

from app.domain.check import Check
from app.domain.edit import Delta

# The modules of CPython 3.11 to 3.14.
_STANDARD = (
    "abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit",
    "audioop base64 bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk",
    "cmath cmd code codecs codeop collections colorsys compileall compression concurrent",
    "configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses",
    "datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum",
    "errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc",
    "genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http",
    "idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword",
    "lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap",
    "modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path",
    "numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes",
    "pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd",
    "py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib",
    "resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal",
    "site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants",
    "sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys",
    "sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading",
    "time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle",
    "turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref",
    "webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib",
    "zoneinfo",
)
# Those that begin with an underscore, without it.
_HIDDEN = (
    "abc aix_support android_support ast asyncio bisect blake2 bootsubprocess bz2 codecs",
    "codecs_cn codecs_hk codecs_iso2022 codecs_jp codecs_kr codecs_tw collections",
    "collections_abc colorize compat_pickle compression contextvars crypt csv ctypes curses",
    "curses_panel datetime dbm decimal elementtree frozen_importlib",
    "frozen_importlib_external functools gdbm hashlib heapq imp interpchannels interpqueues",
    "interpreters io json locale lsprof lzma markupbase md5 msi multibytecodec",
    "multiprocessing opcode opcode_metadata operator osx_support overlapped pickle",
    "posixshmem posixsubprocess py_abc pydatetime pydecimal pyio pylong pyrepl queue random",
    "scproxy sha1 sha2 sha256 sha3 sha512 signal sitebuiltins socket sqlite3 sre ssl stat",
    "statistics string strptime struct suggestions symtable sysconfig thread",
    "threading_local tkinter tokenize tracemalloc typing uuid warnings weakref weakrefset",
    "winapi wmi zoneinfo",
)
# pytest, what it imports, and what commonly measures with it.
_RUNNER = (
    "_pytest attr attrs colorama coverage exceptiongroup execnet iniconfig importlib_metadata",
    "mock nose packaging pluggy py pygments pytest pytest_asyncio pytest_cov pytest_mock",
    "pytest_timeout setuptools sitecustomize tomli typing_extensions usercustomize xdist zipp",
    "__future__ pkg_resources _distutils_hack _virtualenv hypothesis nose2 testtools parameterized",
    "freezegun responses requests_mock faker factory allure allure_pytest anyio trio twisted",
)
STANDARD, HIDDEN, RUNNER = (
    frozenset(" ".join(names).split()) for names in (_STANDARD, _HIDDEN, _RUNNER)
)
_PLUGIN = re.compile(r"_?pytest")
SUFFIXES = (".py", ".pyc", ".pyd", ".so")
SOURCES = ("", "src", "lib", "python")


def taken(name: str) -> bool:
    """Whether `name` is a module of the standard library or of the test runner."""
    return (
        name in STANDARD
        or name in RUNNER
        or bool(_PLUGIN.match(name))
        or (name[:1] == "_" and name[1:] in HIDDEN)
    )


def usurpers(
    deltas: Iterable[Delta],
    known: Collection[str],
    tests: Iterable[str],
    checks: Sequence[Check],
    more: Iterable[str] = (),
    wanted: Callable[[set[str]], set[str]] = lambda _names: set(),
) -> set[str]:
    """The new paths that stand for a module of the standard library, of the test runner, or for
    another that the base's files import from elsewhere.

    `known` are the base's paths, `tests` those of tests in the candidate, `more` places that
    settings and scripts put on the import path. `wanted` says which of some names the base imports.
    Looked at are the places that Python or pytest put first on the import path; what the base holds
    there already keeps its meaning, and a module inside a package takes nobody's name.
    """
    places = {*_places(known, tests, checks), *more}
    before = {_module(path, place) for path in known for place in places}
    own = {one[1] for one in before if one is not None}
    found: set[str] = set()
    others: dict[str, set[str]] = {}
    for delta in deltas:
        if delta.old_mode or not delta.path.endswith(SUFFIXES):
            continue
        for place in places:
            module = _module(delta.path, place)
            if module is None or module in before or not module[1]:
                continue
            if taken(module[1]):
                found.add(delta.path)
            elif module[1] not in own:
                others.setdefault(module[1], set()).add(delta.path)
    for name in wanted(set(others)):
        found |= others[name]
    return found


def _module(path: str, place: str) -> tuple[str, str] | None:
    """(place, top-level name) under which `path` can be imported from there, None for neither."""
    inside = path if not place else path.removeprefix(f"{place}/")
    if (place and inside == path) or not path.endswith(SUFFIXES):
        return None
    return place, inside.partition("/")[0].partition(".")[0]


def _places(known: Collection[str], tests: Iterable[str], checks: Sequence[Check]) -> set[str]:
    places = set(SOURCES)
    for check in checks:
        work = posixpath.normpath(check.workdir).lstrip(".") if check.workdir else ""
        places.add(work)
        for part in check.env.get("PYTHONPATH", "").split(":"):
            place = posixpath.normpath(posixpath.join(work, part)) if part else work
            places.add("" if place == "." else place)
    packages = {posixpath.dirname(path) for path in known if path.endswith("/__init__.py")}
    for path in tests:
        folder = posixpath.dirname(path)
        while folder in packages:
            folder = posixpath.dirname(folder)
        places.add(folder)
    return places
