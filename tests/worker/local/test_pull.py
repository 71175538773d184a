"""A stranger verifies a pull request by its address, against GitHub's stand-in."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.domain import report
from app.domain.evidence import Holds, Result
from app.domain.run import Run
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.made import SIGNER
from tests.worker.desk.stages import test_publish
from tests.worker.desk.stages.test_publish import BRANCH, Scene, scene
from worker.attest import bundle
from worker.attest.examine import Signed, belongs
from worker.attest.keys import line_of
from worker.attest.verify import public_key
from worker.local import verify
from worker.settings.door import Door

KEY_LINE = line_of(public_key(SIGNER.public_pem))
CONFIG = f'evidence: {{key: "{KEY_LINE}"}}\n'


@dataclass
class Published:
    """A pull request with its evidence, and how to look at it."""

    world: Acme
    scene: Scene
    run: Run
    folder: Path

    @property
    def address(self) -> str:
        return f"{self.world.standin.url}/{REPO}/pull/{self.run.publication.pull}"

    def verify(self, *words: str, key: bool = True) -> int:
        token = self.folder / "token"
        token.write_text(self.world.mint(contents="read", checks="read", pull_requests="read"))
        door = Door(
            {
                "GITHUB_API_URL": self.world.standin.url,
                "PATCHWARRANT_GITHUB_TOKEN_FILE": str(token),
            }
        )
        pem = self.folder / "key.pem"
        pem.write_text(SIGNER.public_pem)
        return verify.main(door, [self.address, *(("--key", str(pem)) if key else ()), *words])

    def bundle(self) -> Path:
        path = self.folder / "bundle.json"
        hold = self.scene.desk.hold
        path.write_bytes(hold.blobs[hold.intents["statement"]["bundle"]])
        return path

    def body(self, change: str | None = None) -> str:
        number = self.run.publication.pull
        if change is not None:
            with self.world.rest(pull_requests="write", contents="read") as client:
                client.patch(f"/repos/{REPO}/pulls/{number}", json={"body": change})
        return str(self.world.standin.pull(REPO, number)["body"])


@pytest.fixture
def published(world: Acme, tmp_path: Path) -> Published:
    made = scene(world)
    return Published(world, made, made.publish(), tmp_path)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_a_pull_request_verifies_by_its_address(
    published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    code = published.verify()
    words = said(capsys)
    assert code == 0, words
    assert "Verified" in words
    assert "✔ The commit stands on the base that the evidence names" in words
    assert "✔ The pull request's text is as it was written" in words
    assert "✔ Every part of the bundle is what was signed" in words  # attached to the check run
    assert published.verify("--bundle", str(published.bundle())) == 0


def test_no_key_at_base_and_none_given_is_not_found_out(
    published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    assert published.verify(key=False) == 2
    assert "There is no .github/agent.yml at the base" in said(capsys)


def test_the_key_line_at_base_is_taken_from_github(
    world: Acme, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.standin.push(REPO, "alice", "main", {".github/agent.yml": CONFIG}, "Name the key")
    head = world.standin.refs(REPO)["refs/heads/main"]
    moved = replace(world, head=head)
    test_publish.BASE[".github/agent.yml"] = (0o100644, CONFIG.encode())
    try:
        made = scene(moved)
        published = Published(moved, made, made.publish(), tmp_path)
        code = published.verify(key=False)
    finally:
        del test_publish.BASE[".github/agent.yml"]
    words = said(capsys)
    assert code == 0, words
    assert f"from .github/agent.yml at base {head[:12]} on main" in words


def test_a_push_makes_it_stale_and_it_is_still_examined(
    published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    published.world.standin.push(REPO, "alice", BRANCH, {"README.md": "# Other\n"}, "More")
    assert published.verify() == 1
    words = said(capsys)
    assert "Stale: the head is" in words
    assert "✔ Both statements are signed by the trusted key" in words


def test_every_flipped_byte_of_the_marker_is_found(
    published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    body = published.body()
    line = re.search(r"<!-- patchwarrant:evidence:[0-9a-f:]+ -->", body)
    assert line
    for at in range(line.start(), line.end()):
        touched = f"{body[:at]}{chr(ord(body[at]) ^ 1)}{body[at + 1 :]}"
        marker, _ = report.body_marker(touched)
        if marker is not None:
            good, _ = report.body_marker(body)
            assert marker != good  # and each field is compared below
    for field in range(5):
        parts = line.group().removeprefix("<!-- patchwarrant:evidence:").split(":")
        parts[field] = f"{int(parts[field][0], 16) ^ 1:x}{parts[field][1:]}"
        published.body(body.replace(line.group(), f"<!-- patchwarrant:evidence:{':'.join(parts)}"))
        assert published.verify("--bundle", str(published.bundle())) == 2
        words = said(capsys)
        wanted = ("tree", "commit", "envelope", "bundle", "edited since")[field]
        assert f"Its marker names the {wanted}" in words or wanted in words


def test_an_edit_of_our_text_is_found_and_one_beside_it_is_not(
    published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    body = published.body()
    published.body(f"A person's words first.\r\n\r\n{body}\n\nAnd last.\n")
    assert published.verify() == 0, said(capsys)
    published.body(body.replace("**Passed.**", "**Passed!**"))
    assert published.verify() == 2
    assert "Our part of it was edited since" in said(capsys)
    published.body("Nothing of it is left.")
    assert published.verify() == 2
    assert "Its evidence marker is missing" in said(capsys)


def test_a_failed_verdict_is_told(
    world: Acme, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = scene(world, Result.FAILED)
    published = Published(world, made, made.publish(), tmp_path)
    assert published.verify() == 1
    assert "It is failed: The required check `tests` failed." in said(capsys)


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/acme/widgets",
        "https://token@github.com/acme/widgets/pull/1",
        "ftp://github.com/acme/widgets/pull/1",
        "https://github.com/acme/widgets/pull/one",
    ],
)
def test_an_address_that_is_no_pull_request_is_said(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify.main(Door({}), [address]) == 2
    assert "is no pull request" in said(capsys)


def test_evidence_of_another_branch_or_repository_does_not_hold(
    published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    world = published.world
    world.standin.push(REPO, "alice", "release", {"NEWS.md": "Stricter\n"}, "Release")
    world.standin.rebase_pull(REPO, published.run.publication.pull, "alice", "release")
    assert published.verify() == 2
    assert "a change to 'main'; the pull request goes to 'release'" in said(capsys)


def test_evidence_of_another_repository_does_not_hold() -> None:
    told = {"repository": {"id": 7, "name": "acme/calc"}, "base": {"branch": "main"}}
    signed = Signed("a" * 40, "b" * 40, told, {})
    assert belongs(signed, (7, "acme/renamed"), "main").standing is Holds.HOLDS
    assert belongs(signed, (8, "acme/calc"), "main").standing is Holds.FAILS
    assert belongs(signed, (0, "Acme/Calc"), "main").standing is Holds.HOLDS
    assert belongs(signed, (7, "acme/calc"), "release").standing is Holds.FAILS


def test_nobody_there_is_not_found_out(capsys: pytest.CaptureFixture[str]) -> None:
    door = Door({"GITHUB_API_URL": "http://127.0.0.1:9"})
    assert verify.main(door, ["https://github.com/acme/widgets/pull/1"]) == 2
    assert "cannot be reached" in said(capsys)


def test_a_touched_attachment_is_found(
    published: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    hub, run = published.world.standin, published.run
    (check,) = hub.check_runs(REPO, run.publication.commit)
    text = check["output"]["text"]
    packed = report.attached_in(text)
    assert bundle.unpacked(packed) == published.bundle().read_bytes()
    other = bundle.packed(published.bundle().read_bytes().replace(b'"run":"abc"', b'"run":"abd"'))
    flipped = f"{packed[:50]}{'B' if packed[50] == 'A' else 'A'}{packed[51:]}"
    with published.world.rest(checks="write") as client:
        for touched in (flipped, other):
            shown = {**check["output"], "text": text.replace(packed, touched)}
            output = {key: shown[key] for key in ("title", "summary", "text")}
            path = f"/repos/{REPO}/check-runs/{check['id']}"
            assert client.patch(path, json={"output": output}).status_code == 200
            assert published.verify() == 2
    assert "names the run" in said(capsys)
