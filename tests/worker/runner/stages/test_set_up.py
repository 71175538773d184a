"""Set-up in the flow: before any model call, recorded with its log, refused to changed inputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.check import Standing
from app.domain.errors import Halt, Park, Reason, Refused, Unavailable
from app.domain.record import Kept
from app.domain.repo_config import CONFIG_PATH
from app.domain.setup import SetupOutcome, SetupPlan
from tests.fakes.sandbox import IMAGE
from tests.worker.runner.checks.reports import ran
from tests.worker.runner.stages.runs import CONFIG, World
from worker.runner.checks.environment import NEEDS, InEnvironment
from worker.runner.checks.run import Certifier
from worker.runner.stages.check_kit import CheckKit
from worker.runner.stages.prepare import prepare

MADE = "sha256:" + "7" * 64
GOOD = ran(0, {"tests/test_a.py::test_a": ""})


def world(config: bytes = CONFIG, **more: bytes) -> World:
    files = {CONFIG_PATH: config, "requirements.txt": b"six\n", "pkg/a.py": b"1\n"}
    w = World(files={**files, **more})
    w.sandbox.images = {"made": MADE}
    w.sandbox.sets_up = lambda _: SetupOutcome(MADE, "k" * 64, 1500, False, b"== pip\ndone\n")
    w.says(lambda _: GOOD)
    return w


def certify(w: World) -> InEnvironment:
    return InEnvironment(
        w.hold, w.objects, w.sandbox, w.contract().config, Certifier(w.hold, w.objects, w.sandbox)
    )


def kit(w: World) -> CheckKit:
    return replace(w.kit(), certify=certify(w))


def test_checks_run_in_the_environment_that_set_up_made() -> None:
    w = world()
    run = prepare(kit(w))(w.run())
    assert run.snapshot is not None
    assert run.snapshot.image == MADE
    assert run.baseline[0].image == MADE
    assert run.snapshot.assumed == (
        "Set-up: pip install requirements.txt.",
        "Set-up: environment kkkkkkkkkkkk, made in 1.5 s.",
    )
    (note,) = [e.data for e in w.hold.journal if e.kind is Kept.NOTE]
    assert w.hold.get(note["log"]) == b"== pip\ndone\n"
    (plan,) = w.sandbox.plans
    assert dict(plan.files) == {"requirements.txt": b"six\n"}


def test_a_set_up_that_fails_ends_the_run_with_the_end_of_its_log() -> None:
    w = world()
    w.sandbox.sets_up = lambda _: SetupOutcome(
        "", "k", 9, False, b"x\n" * 5000 + b"No matching distribution\n", "pip ended with 1",
        ("files.example.org:443",),
    )  # fmt: skip
    with pytest.raises(Halt) as halt:
        prepare(kit(w))(w.run())
    record = halt.value.record
    assert record.reason is Reason.SETUP_FAILED
    assert "pip ended with 1" in record.message
    assert "files.example.org:443" in record.message
    assert record.details[-1] == "No matching distribution"
    assert len(record.details) <= 30 and "certificate" not in record.message
    assert w.sandbox.ran == []


def test_a_certificate_that_was_not_trusted_is_told_with_the_setting() -> None:
    w = world()
    log = b"[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate in certificate chain\n"
    w.sandbox.sets_up = lambda _: SetupOutcome("", "k", 9, False, log, "pip ended with 1", ())
    with pytest.raises(Halt, match="its CA belongs into PATCHWARRANT_SETUP_CERTIFICATES"):
        prepare(kit(w))(w.run())


@pytest.mark.parametrize(
    ("fault", "end"),
    [(Unavailable("busy", 5.0), Park), (Refused("the host is not allowed", 403), Halt)],
)
def test_a_sandbox_that_cannot_or_may_not_is_told_apart(
    fault: Exception, end: type[Exception]
) -> None:
    w = world()

    def refuses(_: SetupPlan) -> SetupOutcome:
        raise fault

    w.sandbox.sets_up = refuses
    with pytest.raises(end):
        prepare(kit(w))(w.run())


def test_where_nothing_is_needed_nothing_is_asked_of_the_sandbox() -> None:
    w = world()
    del w.files["requirements.txt"]
    w.__post_init__()
    run = prepare(kit(w))(w.run())
    assert run.snapshot is not None
    assert (run.snapshot.image, run.snapshot.assumed, w.sandbox.plans) == (IMAGE, (), [])


def changed(w: World, path: str, data: bytes) -> str:
    return w.objects.tree({**w.files, path: data})


def test_a_change_of_sources_is_checked_in_the_same_environment() -> None:
    w = world()
    run = prepare(kit(w))(w.run())
    assert run.snapshot is not None
    tree = changed(w, "pkg/a.py", b"2\n")
    result = certify(w)(run.id, "verify", run.snapshot.checks[0], tree, MADE)
    assert (result.standing, result.image) == (Standing.PASSED, MADE)
    assert len(w.sandbox.plans) == 1


@pytest.mark.parametrize("path", ["requirements.txt", "requirements-test.txt", "package.json"])
def test_a_change_of_dependencies_needs_new_ones_and_installs_nothing(path: str) -> None:
    w = world()
    run = prepare(kit(w))(w.run())
    assert run.snapshot is not None
    before = len(w.sandbox.ran)
    data = b'{"dependencies": {"evil": "1"}}' if path == "package.json" else b"evil\n"
    tree = changed(w, path, data)
    result = certify(w)(run.id, "verify", run.snapshot.checks[0], tree, MADE, None, 1)
    assert (result.standing, result.reason) == (Standing.UNAVAILABLE, NEEDS)
    assert "needs new dependencies" in result.tail
    assert len(w.sandbox.plans) == 1
    assert len(w.sandbox.ran) == before
    assert w.hold.journal[-1].data["result"]["reason"] == NEEDS


def test_a_first_dependency_is_a_change_as_well() -> None:
    w = world()
    del w.files["requirements.txt"]
    w.__post_init__()
    run = prepare(kit(w))(w.run())
    assert run.snapshot is not None
    tree = changed(w, "requirements.txt", b"six\n")
    result = certify(w)(run.id, "verify", run.snapshot.checks[0], tree, IMAGE)
    assert result.reason == NEEDS


def test_the_base_may_allow_a_set_up_of_the_change() -> None:
    again = CONFIG + b"setup: {run: [make deps], again: true}\n"
    w = world(again)
    run = prepare(kit(w))(w.run())
    assert run.snapshot is not None
    tree = changed(w, "requirements.txt", b"attrs\n")
    result = certify(w)(run.id, "verify", run.snapshot.checks[0], tree, MADE)
    assert result.standing is Standing.PASSED
    assert [dict(plan.files)["requirements.txt"] for plan in w.sandbox.plans] == [
        b"six\n",
        b"attrs\n",
    ]
    w.sandbox.sets_up = lambda _: SetupOutcome("", "k", 9, False, b"no attrs", "pip ended with 1")
    result = certify(w)(run.id, "verify", run.snapshot.checks[0], tree, MADE, None, 2)
    assert (result.standing, result.reason) == (Standing.UNAVAILABLE, NEEDS)
    assert "no attrs" in result.tail


def test_a_candidates_own_configuration_allows_nothing() -> None:
    w = world()
    run = prepare(kit(w))(w.run())
    assert run.snapshot is not None
    again = CONFIG + b"setup: {run: [evil], again: true}\n"
    files = {**w.files, CONFIG_PATH: again, "requirements.txt": b"evil\n"}
    tree = w.objects.tree(files)
    result = certify(w)(run.id, "verify", run.snapshot.checks[0], tree, MADE)
    assert result.reason == NEEDS
    assert len(w.sandbox.plans) == 1
