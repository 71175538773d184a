"""What a change did to what decides about it is told in sentences that name it."""

from __future__ import annotations

import time

import pytest

from app.domain.check import Check
from app.domain.touched import runners, shadows, touches

OLD = b"import pytest\n\n\ndef test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert g()\n"


def changed(old: bytes, new: bytes) -> bytes:
    assert old in OLD
    return OLD.replace(old, new)


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (changed(b"def test_a", b"@pytest.mark.skip\ndef test_a"), "skips or expects failures"),
        (changed(b"def test_a", b"@pytest.mark.xfail\ndef test_a"), "skips or expects failures"),
        (changed(b"assert f() == 1", b"assert True"), "asserts what is always true"),
        (changed(b"    assert f() == 1\n", b"    f()\n"), "1 assertion is gone"),
        (changed(b"== 1", b"== 2"), "an assertion of the base reads otherwise"),
        (changed(b"def test_a", b"def check_a"), "removed or renamed 1 test: `test_a`"),
        (changed(b"import pytest\n", b"import os\nos._exit(0)\n"), "ends early"),
        (OLD + b"\n\ndef test_a():\n    pass\n", "the same name hides 1 test: `test_a`"),
        (OLD + b"\n\ndef pytest_runtest_setup(item):\n    pass\n", "hooks into the runner"),
    ],
)
def test_a_changed_test_is_told_by_what_was_done_to_it(new: bytes, said: str) -> None:
    told = touches("tests/test_x.py", OLD, new, test=True)
    assert told[0] == "`tests/test_x.py` (test) is changed."
    assert any(said in one for one in told), told


def test_more_tests_are_not_called_weaker() -> None:
    more = OLD + b"\n\ndef test_c():\n    assert h() == 3\n"
    assert touches("tests/test_x.py", OLD, more, test=True) == (
        "`tests/test_x.py` (test) is changed.",
    )


def test_a_deleted_test_file_names_its_tests() -> None:
    assert touches("Makefile", b"x\n", None, test=False) == (
        "`Makefile` (what decides how tests or builds run) is deleted.",
    )
    (said,) = touches("tests/test_x.py", OLD, None, test=True)
    assert said == "`tests/test_x.py` (test) is deleted with 2 tests: `test_a`, `test_b`."


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"fail_under = 90\n", b"fail_under = 50\n", "`fail_under` is lowered from 90 to 50"),
        (b'"branches": 80\n', b'"branches": 8\n', "`branches` is lowered from 80 to 8"),
        (b"LIMIT = 3\n", b"LIMIT = 30\n", "`LIMIT` is raised from 3 to 30"),
        (b"a = 1\n", b"a = 1  # same\nb = 2\n", "is changed"),
        (b"[pytest]\n", b"[pytest]\naddopts = -k nothing\n", "selects which tests run"),
        (b"pytest\n", b"export X=1\npytest\n", "sets the environment of tests"),
        (b"pytest\n", b"pytest '-k none'\n", "selects which tests run"),
        (b"test:\n\tpytest\n", b"test:\n\tpytest || true\n", "hides an exit code"),
    ],
)
def test_a_changed_setting_is_told_with_its_numbers(old: bytes, new: bytes, said: str) -> None:
    told = touches("setup.cfg", old, new, test=False)
    assert any(said in one for one in told), told


def test_a_new_start_up_file_is_told_with_what_it_does() -> None:
    told = touches("conftest.py", None, b"import os\nos._exit(0)\n", test=True)
    assert told == (
        "`conftest.py` is new: test.",
        "`conftest.py` ends early or hides an exit code: os._exit(0).",
    )


CHECK = Check("t", ("sh", "-euc", "cd sub && ./run_tests.sh --fast"))


@pytest.mark.parametrize(
    ("texts", "path", "starts"),
    [
        ((), "sub/run_tests.sh", True),
        ((), "sub/other.sh", False),
        ((), "sub/tests.py", False),
        (("check:\n\tpython3 tools/size.py 3\n",), "tools/size.py", True),
        (("version = {attr = 'pkg/version.py'}",), "pkg/version.py", False),
        (("x scripts/ab.sh",), "scripts/b.sh", False),
    ],
)
def test_scripts_that_checks_start_are_found(
    texts: tuple[str, ...], path: str, starts: bool
) -> None:
    assert runners([CHECK], texts, {path, "README.md"}) == ({path} if starts else set())


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("tests/price.py", "shop/price.py"),
        ("shop.py", "src/shop/__init__.py"),
        ("tests/new.py", ""),
        ("tests/__init__.py", ""),
        ("tests/price.txt", ""),
    ],
)
def test_a_file_that_could_be_imported_instead_is_named(path: str, other: str) -> None:
    known = {"shop/price.py", "shop/__init__.py", "src/shop/__init__.py", "a.txt"}
    said = shadows(path, known)
    assert (f"`{other}`" in said) if other else said == ""


def test_hostile_text_costs_time_in_proportion_to_its_length() -> None:
    nasty = [b"assert " * 150_000, b"x_" * 500_000, b'test("' * 150_000, b" " * 1_000_000]
    began = time.thread_time()
    for data in nasty:
        assert touches("tests/test_x.py", b"a\n", data, test=True)
    assert time.thread_time() - began < 8  # of the processor, whoever else is at it
