"""The stub of the sandbox behaves to the real client as the service does, faults included."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator

import pytest

from app.domain.errors import Missing, Unavailable
from app.domain.ports.sandbox import Job
from tests.crash.stub_sandbox import StubSandbox
from worker.runner.boxes import SandboxClient, never

FILES = {
    "sums.py": b"def add(a, b):\n    return a - b\n",
    "tests/test_sums.py": b"from sums import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
}
RIGHT = {"sums.py": b"def add(a, b):\n    return a + b\n"}
JOB = Job(("python3", "-m", "pytest"), {}, "", ".reports/junit.xml", 60, name="tests")


def tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(scope="module")
def stub() -> Iterator[StubSandbox]:
    with StubSandbox() as made:
        yield made


@pytest.fixture
def client(stub: StubSandbox) -> Iterator[SandboxClient]:
    stub.reset()
    made = SandboxClient(stub.socket)
    yield made
    made.close()


def test_a_check_says_what_the_files_say(client: SandboxClient, stub: StubSandbox) -> None:
    image, _profile = client.image("")
    wrong = client.certify("r", image, JOB, tar(FILES), never)
    right = client.certify("r", image, JOB, tar({**FILES, **RIGHT}), never)
    assert (wrong.exit_code, right.exit_code) == (1, 0)
    assert b"<failure" in (wrong.report or b"") and b"<failure" not in (right.report or b"")
    assert stub.state()["checks"] == {"r": 2}


def test_a_box_lives_until_it_is_closed(client: SandboxClient, stub: StubSandbox) -> None:
    image, _profile = client.image("")
    box = client.open("r", image, tar(FILES))
    assert box.run(JOB, RIGHT, never).exit_code == 0
    assert stub.state()["boxes"] == {"r": 1}
    box.close()
    with pytest.raises(Missing):
        box.run(JOB, {}, never)
    client.open("r", image, tar(FILES))
    assert client.stop("r") == 1 and stub.state()["boxes"] == {}


@pytest.mark.parametrize(
    ("kind", "done"), [("drop", 0), ("status", 0), ("do_then_drop", 1), ("do_then_status", 1)]
)
def test_faults_come_before_or_after_the_work(
    client: SandboxClient, stub: StubSandbox, kind: str, done: int
) -> None:
    stub.faults({"kind": kind, "path": "/certify"})
    image, _profile = client.image("")
    with pytest.raises(Unavailable):
        client.certify("r", image, JOB, tar(FILES), never)
    assert stub.state()["checks"].get("r", 0) == done
    assert client.certify("r", image, JOB, tar(FILES), never).exit_code == 1
