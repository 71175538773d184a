"""Git through the GitHub stand-in: what the API makes is in git, what git pushes is in the API."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path
from typing import Any

import pygit2
import pytest

from tests.standins.github_world import REPO, Acme


class Callbacks(pygit2.RemoteCallbacks):
    """Answers once, as the product does."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token
        self.asked = 0

    def credentials(self, url: str, username: str | None, allowed: Any) -> pygit2.UserPass:
        self.asked += 1
        if self.asked > 1:
            raise PermissionError("refused")
        return pygit2.UserPass("x-access-token", self.token)


def git(*arguments: str, cwd: Path, token: str = "") -> subprocess.CompletedProcess[str]:
    """The git program with a token in a header that no configuration file sees."""
    env = {
        "PATH": os.defpath,
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    if token:
        secret = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        env |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {secret}",
        }
    return subprocess.run(
        ["git", *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


def remote(world: Acme) -> str:
    return f"{world.standin.git_url}/{REPO}.git"


def test_pygit2_fetches_one_commit_by_its_id(world: Acme, tmp_path: Path) -> None:
    world.standin.push(REPO, "alice", "main", {"later": "1\n"})
    repo = pygit2.init_repository(str(tmp_path), bare=True)
    callbacks = Callbacks(world.mint(contents="read"))
    repo.remotes.create_anonymous(remote(world)).fetch(
        [f"+{world.head}:refs/base/run"], callbacks=callbacks, depth=1
    )
    assert str(repo.references["refs/base/run"].target) == world.head
    assert repo.is_shallow
    readme = repo[world.head].peel(pygit2.Tree)["README.md"]
    assert isinstance(readme, pygit2.Blob)
    assert readme.data == b"# Widgets\n"


def test_what_the_api_makes_git_sees_with_the_same_tree(world: Acme, tmp_path: Path) -> None:
    gh = world.kit(contents="write")
    base = gh.rest.git.get_commit("acme", "widgets", world.head).json()["tree"]["sha"]
    tree = gh.rest.git.create_tree(
        "acme",
        "widgets",
        base_tree=base,
        tree=[{"path": "src/new.py", "mode": "100755", "type": "blob", "content": "x = 1\n"}],
    ).json()
    made = gh.rest.git.create_commit(
        "acme", "widgets", message="m", tree=tree["sha"], parents=[world.head]
    ).json()
    gh.rest.git.create_ref("acme", "widgets", ref="refs/heads/topic", sha=made["sha"])
    token = world.mint(contents="read")
    cloned = git("clone", "-q", "-b", "topic", remote(world), "c", cwd=tmp_path, token=token)
    assert cloned.returncode == 0, cloned.stderr
    head = git("rev-parse", "HEAD", "HEAD^{tree}", cwd=tmp_path / "c").stdout.split()
    assert head == [made["sha"], tree["sha"]]
    assert os.access(tmp_path / "c" / "src" / "new.py", os.X_OK)
    assert git("fsck", "--strict", cwd=tmp_path / "c").returncode == 0


@pytest.mark.parametrize("protocol", ["0", "2"])
def test_the_git_program_pushes_and_the_api_and_the_pull_follow(
    world: Acme, tmp_path: Path, protocol: str
) -> None:
    token = world.mint(contents="write")
    version = ("-c", f"protocol.version={protocol}")
    git(*version, "clone", "-q", remote(world), "c", cwd=tmp_path, token=token)
    work = tmp_path / "c"
    git("checkout", "-q", "-b", "topic", cwd=work)
    (work / "big").write_bytes(os.urandom(3_000_000))
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "big", cwd=work)
    pushed = git(*version, "push", "-q", "origin", "topic", cwd=work, token=token)
    assert pushed.returncode == 0, pushed.stderr
    sha = git("rev-parse", "HEAD", cwd=work).stdout.strip()
    assert world.standin.refs(REPO)["refs/heads/topic"] == sha
    number = world.standin.open_pull(REPO, "alice", "topic", "Big")
    git("commit", "-q", "--allow-empty", "-m", "more", cwd=work)
    git("push", "-q", "origin", "topic", cwd=work, token=token)
    sha = git("rev-parse", "HEAD", cwd=work).stdout.strip()
    assert world.standin.pull(REPO, number)["head"]["sha"] == sha
    told = [(d["event"], d["action"]) for d in world.standin.deliveries()]
    assert told.count(("push", None)) >= 2
    assert ("pull_request", "synchronize") in told


def test_git_refuses_without_and_with_the_wrong_token(world: Acme, tmp_path: Path) -> None:
    assert git("ls-remote", remote(world), cwd=tmp_path).returncode != 0
    narrow = git("ls-remote", remote(world), cwd=tmp_path, token=world.mint(issues="write"))
    assert "403" in narrow.stderr
    world.standin.create_repo("acme/secret")
    token = world.mint(contents="read")
    other = f"{world.standin.git_url}/acme/secret.git"
    assert "not found" in git("ls-remote", other, cwd=tmp_path, token=token).stderr
    git("clone", "-q", remote(world), "c", cwd=tmp_path, token=token)
    pushed = git("push", "origin", "HEAD:refs/heads/x", cwd=tmp_path / "c", token=token)
    assert "403" in pushed.stderr
    with world.with_token(token) as http:
        http.delete("/installation/token")
    assert git("ls-remote", remote(world), cwd=tmp_path, token=token).returncode != 0


def test_a_pushed_workflow_needs_its_permission(world: Acme, tmp_path: Path) -> None:
    token = world.mint(contents="write")
    git("clone", "-q", remote(world), "c", cwd=tmp_path, token=token)
    work = tmp_path / "c"
    (work / ".github" / "workflows" / "evil.yml").write_text("on: push\n")
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "evil", cwd=work)
    pushed = git("push", "origin", "HEAD:refs/heads/evil", cwd=work, token=token)
    assert pushed.returncode != 0
    assert "refusing to allow a GitHub App" in pushed.stderr
    assert "refs/heads/evil" not in world.standin.refs(REPO)


@pytest.mark.parametrize("detached", [False, True])
def test_a_repository_comes_from_a_local_one_that_stays_as_it_is(
    world: Acme, tmp_path: Path, detached: bool
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    git("init", "-q", "-b", "trunk", cwd=source)
    (source / "a").write_text("1\n")
    git("add", ".", cwd=source)
    git("commit", "-q", "-m", "one", cwd=source)
    sha = git("rev-parse", "HEAD", cwd=source).stdout.strip()
    if detached:
        git("commit", "-q", "--allow-empty", "-m", "two", cwd=source)
        git("checkout", "-q", "--detach", "HEAD^", cwd=source)
    (source / "a").write_text("uncommitted\n")
    before = {p: p.stat().st_mtime_ns for p in source.rglob("*") if p.is_file()}
    made = world.standin.create_repo("acme/copy", source=source)
    assert made["head"] == sha
    assert made["default_branch"] == ("main" if detached else "trunk")
    assert {p: p.stat().st_mtime_ns for p in source.rglob("*") if p.is_file()} == before
    assert Path(made["path"]).is_relative_to(world.standin.root.resolve())
