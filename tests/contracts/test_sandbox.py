"""What every `ports.Sandbox` promises, on the fake and on the real service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from app.domain.check import Check, Outcome
from app.domain.errors import Missing, Refused
from app.domain.ports.sandbox import Job, Sandbox
from tests.fakes.sandbox import FakeSandbox, ended
from tests.worker.sandbox.running import Service, job, look, running, sh, tar_of

__all__ = ["running"]

TREE = tar_of({"greeting.txt": b"hello", "pkg/a.py": b"a = 1\n"})


class Cancelled(Exception):
    """A person said stop."""


def acts(asked: Job, files: Mapping[str, bytes]) -> Outcome:
    """The fake's stand-in for the few commands of these tests."""
    words = asked.argv[-1] if asked.argv[0] == "sh" else asked.argv[0]
    if words == "no-such-program":
        return ended(None, error="could not start 'no-such-program'")
    if words.startswith("exit "):
        return ended(int(words[5:]))
    if words.startswith("cat "):
        return ended(0, b"".join(files[name] for name in words[4:].split()))
    if words.startswith("write "):
        return ended(0, report=words[6:].encode())
    raise AssertionError(f"the fake does not know {words!r}")


def write(text: str) -> str:
    return f"printf %s {text} > r.xml"


@dataclass
class Case:
    sandbox: Sandbox
    image: str
    report: Callable[[str], Job]
    box_report: Callable[[str], Job]


@pytest.fixture(params=["fake", pytest.param("service", marks=pytest.mark.docker)])
def case(request: pytest.FixtureRequest) -> Case:
    if request.param == "fake":
        fake = FakeSandbox(acts)

        def spoken(text: str) -> Job:
            return sh(f"write {text}", report="r.xml")

        return Case(fake, fake.image("")[0], spoken, spoken)
    real: Service = request.getfixturevalue("running")

    def done(text: str) -> Job:
        return sh(write(text), report="r.xml")

    return Case(real.client, real.image, done, done)


def certify(case: Case, asked: Job) -> Outcome:
    return case.sandbox.certify("contract", case.image, asked, TREE, look)


def test_the_default_image_has_an_id_and_a_profile(case: Case) -> None:
    image, profile = case.sandbox.image("")
    assert image.startswith("sha256:")
    assert len(profile) == 64
    assert case.sandbox.image("") == (image, profile)


def test_an_image_that_nobody_allowed_is_refused(case: Case) -> None:
    with pytest.raises(Refused):
        case.sandbox.image("evil:latest")
    with pytest.raises(Refused):
        case.sandbox.certify("contract", "sha256:" + "9" * 64, sh("exit 0"), TREE, look)


@pytest.mark.parametrize("code", [0, 1, 7, 126, 127, 137, 255])
def test_exit_codes_come_out_unchanged(case: Case, code: int) -> None:
    found = certify(case, sh(f"exit {code}"))
    assert (found.exit_code, found.limit, found.error) == (code, "", "")


def test_the_outcome_names_the_check_that_ran(case: Case) -> None:
    asked = replace(sh("exit 0", workdir="."), name="tests")
    check = Check("tests", asked.argv, {}, ".", timeout=asked.seconds)
    assert certify(case, asked).digest == check.digest()
    box = case.sandbox.open("contract", case.image, TREE)
    try:
        assert box.run(asked, {}, look).digest == check.digest()
    finally:
        box.close()


def test_a_missing_program_is_an_error_and_no_exit_code(case: Case) -> None:
    found = certify(case, job("no-such-program"))
    assert found.exit_code is None
    assert "no-such-program" in found.error


def test_the_tree_is_there_and_the_report_comes_out(case: Case) -> None:
    assert certify(case, sh("cat greeting.txt")).stdout == b"hello"
    found = certify(case, case.report("claim"))
    assert (found.exit_code, found.report) == (0, b"claim")
    missing = certify(case, sh("exit 0", report="r.xml"))
    assert (missing.report, missing.unread, found.unread) == (None, "missing", "")


@pytest.mark.parametrize("path", ["../x", "/etc", "a//b", "a/../b"])
def test_a_path_that_leaves_the_workspace_is_refused(case: Case, path: str) -> None:
    with pytest.raises(Refused):
        certify(case, sh("exit 0", workdir=path))
    with pytest.raises(Refused):
        certify(case, sh("exit 0", report=path))


def test_a_box_lays_files_for_one_run_only(case: Case) -> None:
    box = case.sandbox.open("contract", case.image, TREE)
    try:
        laid = {"greeting.txt": b"other", "new/b.txt": b" file"}
        found = box.run(sh("cat greeting.txt new/b.txt"), laid, look)
        assert (found.exit_code, found.stdout) == (0, b"other file")
        assert box.run(sh("cat greeting.txt"), {}, look).stdout == b"hello"
        assert box.run(case.box_report("claim"), {}, look).report == b"claim"
        assert box.run(sh("exit 0", report="r.xml"), {}, look).report is None
        with pytest.raises(Refused):
            box.run(sh("exit 0"), {"../x": b""}, look)
    finally:
        box.close()


def test_a_closed_box_is_missing_and_closes_quietly_again(case: Case) -> None:
    box = case.sandbox.open("contract", case.image, TREE)
    box.close()
    with pytest.raises(Missing):
        for _ in range(100):  # removal may take a moment
            box.run(sh("exit 0"), {}, look)
    box.close()


def test_what_look_raises_comes_out(case: Case) -> None:
    def stop() -> None:
        raise Cancelled

    slow = sh("exit 0") if isinstance(case.sandbox, FakeSandbox) else sh("sleep 60", seconds=90)
    with pytest.raises(Cancelled):
        case.sandbox.certify("contract", case.image, slow, TREE, stop)
