"""The doctor as a process against the stand-in: live reads, permissions checked there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.domain import rulesets
from app.domain.permissions import registration
from tests.shared_data import REPOSITORY
from tests.standins.github import GitHubStandin
from tests.standins.github_world import REPO, Acme, acme

CONFIG = 'checks:\n  - name: t\n    run: x\nevidence: {{key: "ed25519:{}="}}\n'.format("A" * 43)
SAFE = """on: [push, pull_request]
permissions: {contents: read}
jobs: {test: {runs-on: ubuntu-24.04, steps: [{run: make}]}}
"""
URL = "https://pw.example.com/webhooks/github"


@pytest.fixture
def world(standin: GitHubStandin) -> Acme:
    """A repository in which everything is in order, and public."""
    standin.reset()
    made = acme(standin)
    files = {
        ".github/agent.yml": CONFIG,
        ".github/workflows/ci.yml": SAFE,
        ".github/CODEOWNERS": "* @alice\n",
    }
    standin.push(REPO, "alice", "main", files, "Set up")
    app = made.app.app_id
    standin.change_installation(made.installation, permissions=registration())
    standin.act("configure_repo", repo=REPO, private=False)
    standin.set_webhook("patchwarrant", URL)
    for ruleset in (
        rulesets.fence_branches(),
        rulesets.fence_tags(),
        rulesets.agent_branches(app),
        rulesets.default_branch(app),
    ):
        standin.act("add_ruleset", repo=REPO, ruleset=ruleset)
    return made


def doctor(world: Acme, folder: Path, *words: str, **names: str) -> tuple[int, str, str]:
    key = folder / "key.pem"
    key.write_text(world.app.private_key)
    environment = {
        "PATH": os.environ["PATH"],
        "PATCHWARRANT_APP_ID": str(world.app.app_id),
        "PATCHWARRANT_APP_KEY_FILE": str(key),
        "PATCHWARRANT_OWNERS": "acme",
        "PATCHWARRANT_INTAKE": "poll",
        "PATCHWARRANT_STATE": str(folder),
        "GITHUB_API_URL": world.standin.url,
        **names,
    }
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "doctor", *(words or (REPO,))],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
    )
    return done.returncode, done.stdout, done.stderr


def standings(world: Acme, folder: Path, *words: str, **names: str) -> dict[str, str]:
    code, out, err = doctor(world, folder, REPO, "--json", *words, **names)
    assert code in (0, 1), err
    told: dict[str, Any] = json.loads(out)
    found = {one["id"]: one["standing"] for one in told["points"]}
    assert code == int("fails" in found.values())
    return found


def admin(world: Acme) -> str:
    world.standin.set_role(REPO, "root", "admin")
    return str(world.standin.act("create_person_token", login="root")["token"])


def test_a_repository_in_order_holds_in_all_that_the_app_may_see(
    world: Acme, tmp_path: Path
) -> None:
    found = standings(world, tmp_path)
    amiss = {name: s for name, s in found.items() if s != "holds"}
    # this App's registration has `statuses: write`, which nothing of ours uses
    assert amiss == {"app-permissions": "fails", "actions-token": "unseen"}


def test_an_administrators_token_shows_the_rest(world: Acme, tmp_path: Path) -> None:
    token = admin(world)
    found = standings(world, tmp_path, "--token-env", "MINE", MINE=token)
    assert found["actions-token"] == "holds" and "unseen" not in found.values()
    world.standin.act("set_settings", repo=REPO, actions={"default_workflow_permissions": "write"})
    found = standings(world, tmp_path, "--token-env", "MINE", MINE=token)
    assert found["actions-token"] == "fails"


def test_only_reads_are_made_with_tokens_that_cannot_write_and_are_revoked(
    world: Acme, tmp_path: Path
) -> None:
    world.standin.clear_log()
    doctor(world, tmp_path)
    log = world.standin.log()
    assert {one["status"] for one in log} <= {200, 201, 204, 404}
    for one in log:
        minting = one["path"].endswith("/access_tokens")
        revoking = one["path"] == "/installation/token"
        assert one["method"] == "GET" or minting or revoking, one
        assert "write" not in (one["permissions"] or {}).values()
    tokens = world.standin.tokens()
    assert tokens and not any(one["alive"] for one in tokens)
    assert all(set(one["permissions"]) <= {"metadata", "contents"} for one in tokens)


def test_each_missing_fence_is_said_with_the_ruleset_to_import(tmp_path: Path, world: Acme) -> None:
    world.standin.create_repo("acme/bare", private=False)
    world.standin.push("acme/bare", "alice", "main", {"a": "b"}, "First")
    world.standin.change_installation(world.installation, add=["acme/bare"])
    code, out, _ = doctor(world, tmp_path, "acme/bare")
    assert code == 1
    for number in (1, 2, 3, 4):
        assert out.count(f'"name": "patchwarrant {number}: ') == 1
    assert f'"actor_id": {world.app.app_id}' in out
    assert "→ " in out and "cannot be seen" in out
    assert out.rstrip().splitlines()[-1].endswith("cannot be seen.")


def test_classic_protection_is_unseen_by_the_app_and_seen_by_an_administrator(
    world: Acme, tmp_path: Path
) -> None:
    hub = world.standin
    hub.create_repo("acme/classic", private=False)
    hub.push("acme/classic", "alice", "main", {"a": "b"}, "First")
    hub.change_installation(world.installation, add=["acme/classic"])
    protection = {
        "required_pull_request_reviews": {
            "dismiss_stale_reviews": False,
            "required_approving_review_count": 1,
        },
        "required_status_checks": {"contexts": ["patchwarrant/approval"]},
    }
    hub.act("set_settings", repo="acme/classic", protection=protection)
    for name in ("acme/classic", REPO):
        hub.set_role(name, "root", "admin")
    token = str(hub.act("create_person_token", login="root")["token"])
    told = json.loads(doctor(world, tmp_path, "acme/classic", "--json")[1])
    found = {one["id"]: one["standing"] for one in told["points"]}
    assert found["default-branch"] == found["stale-approvals"] == "unseen"
    assert found["required-check"] == "fails"  # any App could set it
    words = ("acme/classic", "--json", "--token-env", "MINE")
    told = json.loads(doctor(world, tmp_path, *words, MINE=token)[1])
    found = {one["id"]: one["standing"] for one in told["points"]}
    assert (found["default-branch"], found["stale-approvals"]) == ("holds", "fails")


def test_a_workflow_with_secrets_and_squash_messages_are_two_findings(
    world: Acme, tmp_path: Path
) -> None:
    text = SAFE.replace("make", "'x ${{ secrets.A }}'")
    world.standin.push(REPO, "alice", "main", {".github/workflows/ci.yml": text}, "Secrets")
    found = standings(world, tmp_path)
    assert (found["workflows"], found["merge-messages"]) == ("fails", "unseen")
    found = standings(world, tmp_path, "--token-env", "MINE", MINE=admin(world))
    assert found["merge-messages"] == "fails"
    quiet = {
        "allow_squash_merge": True,
        "squash_merge_commit_message": "PR_BODY",
        "allow_rebase_merge": False,
    }
    world.standin.act("set_settings", repo=REPO, merge=quiet)
    found = standings(world, tmp_path, "--token-env", "MINE", MINE=admin(world))
    assert found["merge-messages"] == "holds"


def test_where_the_app_is_not_installed_that_is_the_finding(world: Acme, tmp_path: Path) -> None:
    world.standin.create_repo("acme/other", private=False)
    code, out, err = doctor(world, tmp_path, "acme/other", "--json")
    told = {one["id"]: one for one in json.loads(out)["points"]}
    assert (code, err) == (1, "")
    assert told["installation"]["standing"] == "fails"
    assert told["fence-branches"]["standing"] == "unseen"


def test_a_suspended_installation_is_said(world: Acme, tmp_path: Path) -> None:
    world.standin.act("change_installation", installation=world.installation, suspended=True)
    found = standings(world, tmp_path)
    assert found["installation"] == "fails" and found["repository"] == "unseen"


def test_a_token_alone_is_enough_and_never_shown(world: Acme, tmp_path: Path) -> None:
    token = admin(world)
    names = {"PATCHWARRANT_APP_ID": "", "PATCHWARRANT_APP_KEY_FILE": "", "MINE": token}
    code, out, err = doctor(world, tmp_path, REPO, "--token-env", "MINE", **names)
    assert code == 0, out
    assert token not in out + err
    assert "the App's id and key are not at hand" in out


@pytest.mark.parametrize(
    ("words", "names", "part"),
    [
        (("widgets",), {}, "is no OWNER/NAME"),
        (("acme/..",), {}, "is no OWNER/NAME"),
        ((REPO, "--token-env", "NONE"), {}, "NONE is empty"),
        ((REPO,), {"PATCHWARRANT_APP_ID": ""}, "PATCHWARRANT_APP_ID"),
        ((REPO,), {"GITHUB_API_URL": "http://127.0.0.1:9"}, "cannot be reached"),
    ],
)
def test_what_cannot_be_looked_at_is_exit_code_2(
    world: Acme, tmp_path: Path, words: tuple[str, ...], names: dict[str, str], part: str
) -> None:
    code, out, err = doctor(world, tmp_path, *words, **names)
    assert (code, out) == (2, "") and part in err
    assert "Traceback" not in err


def test_a_wrong_cause_is_never_named(world: Acme, tmp_path: Path) -> None:
    code, out, err = doctor(world, tmp_path, GITHUB_API_URL="http://127.0.0.1:9")
    assert (code, out) == (2, "") and "http://127.0.0.1:9" in err and "installed" not in err
    code, out, err = doctor(world, tmp_path, PATCHWARRANT_APP_ID="987654")
    assert (code, out) == (2, "") and "belong together" in err and "installed" not in err


@pytest.mark.parametrize("app", [True, False])
def test_a_refused_token_is_exit_code_2_and_is_not_asked_for_again(
    world: Acme, tmp_path: Path, app: bool
) -> None:
    none = {} if app else {"PATCHWARRANT_APP_ID": "", "PATCHWARRANT_APP_KEY_FILE": ""}
    words = (REPO, "--token-env", "MINE")
    code, out, err = doctor(world, tmp_path, *words, MINE="ghp_wrong", **none)
    assert code == 2 and "401" in err and "--token-env" in err and "ghp_wrong" not in out + err
    assert ("the given one was refused" in out) == app
    assert "give a token of theirs" not in out
    assert bool(out) == app  # what the App sees of itself is told all the same


def test_a_repository_that_the_token_cannot_see_is_exit_code_2(world: Acme, tmp_path: Path) -> None:
    words = ("acme/nowhere", "--json", "--token-env", "MINE")
    code, out, err = doctor(world, tmp_path, *words, MINE=admin(world))
    assert code == 2 and "Is the name right" in err
    assert json.loads(out)["points"]
