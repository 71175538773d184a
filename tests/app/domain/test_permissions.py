"""The table of calls: closed, least-privileged, and equal to what the App's manifest asks for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.domain.permissions import (
    CALLS,
    EVENTS,
    MARK_READY,
    METADATA,
    PHASES,
    Phase,
    permissions,
    registration,
    surplus,
)

MANIFESTS = Path(__file__).resolve().parents[3] / "manifests"


def test_the_manifest_asks_for_exactly_what_the_table_needs() -> None:
    manifest = json.loads((MANIFESTS / "github-app.json").read_text())
    assert manifest["default_permissions"] == registration()
    assert tuple(manifest["default_events"]) == EVENTS
    assert manifest["public"] is False


def test_nothing_is_asked_that_must_never_be_asked() -> None:
    never = {"administration", "workflows", "actions", "secrets", "members", "deployments"}
    assert not never & set(registration())


@pytest.mark.parametrize(
    ("phase", "wanted"),
    [
        (Phase.AUTHORIZE, {"metadata": "read", "issues": "read", "contents": "read"}),
        (
            Phase.LOOK,
            {"metadata": "read", "issues": "read", "contents": "read", "pull_requests": "read"},
        ),
        (
            Phase.EXAMINE,
            {"metadata": "read", "contents": "read", "pull_requests": "read"},
        ),
        (
            Phase.REVIEW,
            {"metadata": "read", "issues": "read", "contents": "read", "pull_requests": "read"},
        ),
        (Phase.STATUS, {"metadata": "read", "issues": "write"}),
        (Phase.SURVEY, {"metadata": "read", "issues": "read"}),
        (Phase.FETCH, {"metadata": "read", "contents": "read"}),
        (Phase.GIT, {"metadata": "read", "contents": "write"}),
        (Phase.PULL, {"metadata": "read", "pull_requests": "write"}),
        (
            Phase.READY,
            {"metadata": "read", "contents": "write", "pull_requests": "write"},
        ),
        (Phase.HISTORY, {"metadata": "read", "issues": "read", "pull_requests": "read"}),
        (Phase.EVIDENCE, {"metadata": "read", "checks": "write"}),
        (Phase.DOCTOR, {"metadata": "read", "contents": "read"}),
        (Phase.REPORTS, {"metadata": "read", "checks": "read", "statuses": "read"}),
        (
            Phase.WEIGH,
            {"metadata": "read", "contents": "read", "pull_requests": "read", "checks": "read"},
        ),
    ],
)
def test_a_phase_asks_for_the_least(phase: Phase, wanted: dict[str, str]) -> None:
    assert permissions(phase) == wanted


def test_no_phase_can_merge() -> None:
    """`contents: write` and `pull_requests: write` meet in one token alone, since GitHub wants both
    for making a draft ready; that phase can send this one thing and look at the pull request."""
    for phase in set(Phase) - {Phase.READY}:
        asked = permissions(phase)
        assert not (asked.get("contents") == "write" and "pull_requests" in asked)
    assert set(PHASES[Phase.READY]) == {"pull", "mark_ready"}
    assert [phase for phase in Phase if "mark_ready" in PHASES[phase]] == [Phase.READY]


def test_graphql_is_one_fixed_text() -> None:
    addressed = [name for name, call in CALLS.items() if "graphql" in (name + call.path).lower()]
    assert addressed == ["mark_ready"]
    assert re.findall(r"\w+(?=\()", MARK_READY) == ["mutation", "markPullRequestReadyForReview"]
    assert re.findall(r"\$\w+", MARK_READY) == ["$id", "$id"]


def test_every_call_belongs_to_a_phase_and_every_phase_to_the_table() -> None:
    used = {name for names in PHASES.values() for name in names}
    assert used == set(CALLS)
    assert set(PHASES) == set(Phase)


def test_the_table_holds_no_call_that_moves_or_deletes_work() -> None:
    for name, call in CALLS.items():
        bound = call.path.startswith("/repos/{owner}/{repo}")
        assert bound or (name, call.path) == ("mark_ready", "/graphql")
        assert "merge" not in call.path and "dispatches" not in call.path
        assert "force" not in call.sends and "author" not in call.sends
        assert not {"committer", "signature"} & call.sends
        if call.method == "DELETE":
            assert name == "remove_label"
        if "/git/refs" in call.path:  # made, or moved forward: without `force` GitHub refuses more
            assert (name, call.method) in {("create_ref", "POST"), ("move_ref", "PATCH")}
            assert call.sends <= {"ref", "sha"}
        assert call.writes == (call.method in {"POST", "PATCH", "DELETE"})
        assert bool(call.sends) <= call.writes
        assert not (call.permission == METADATA and call.writes)


@pytest.mark.parametrize("name", CALLS)
def test_no_call_merges_approves_or_dismisses(name: str) -> None:
    """Reviews can be read and never written; nothing is merged, queued or merged by itself."""
    call = CALLS[name]
    assert not {"merge_method", "merge_commit_sha", "auto_merge", "event"} & call.sends
    if "reviews" in call.path or "dismissals" in call.path:
        assert call.method == "GET"
    for words in ("/merge", "/merges", "/update-branch", "/dismissals", "/merge-queue"):
        assert words not in call.path


def test_nowhere_is_there_a_word_that_merges_or_approves() -> None:
    """GraphQL could do what the table of REST calls does not hold; its one text is `MARK_READY`."""
    never = re.compile(
        r"mergePullRequest|convertPullRequestToDraft|mergeBranch|AutoMerge|enqueuePullRequest|PullRequestReview\b|"
        r"submitPullRequestReview|addPullRequestReview|dismissPullRequestReview|"
        r"[\"'](?:APPROVE|REQUEST_CHANGES)[\"']"
    )
    root = MANIFESTS.parent
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in [*(root / "app").rglob("*.py"), *(root / "worker").rglob("*.py")]
    }
    for path, text in texts.items():
        assert not never.search(text), path
    said = [path.name for path, text in texts.items() if re.search(r"\bmutation\b", text)]
    assert said == ["permissions.py"]


def test_what_was_granted_is_compared_in_both_directions() -> None:
    asked = {"issues": "write"}
    assert surplus(asked, {"issues": "write", "metadata": "read"}) == ()
    assert surplus(asked, {"issues": "read", "metadata": "read"}) == (
        "issues: read instead of write",
    )
    assert surplus(asked, {"issues": "write", "metadata": "read", "contents": "read"}) == (
        "contents: read instead of nothing",
    )
    assert surplus(asked, {"metadata": "write"}) == (
        "issues: nothing instead of write",
        "metadata: write instead of read",
    )


def test_the_rulesets_keep_the_app_out_of_everything_but_its_branches() -> None:
    files = sorted((MANIFESTS / "rulesets").glob("*.json"))
    assert len(files) == 4
    rules = {file.name: json.loads(file.read_text()) for file in files}
    fence = rules["1-fence-branches.json"]
    assert fence["conditions"]["ref_name"]["exclude"] == ["refs/heads/agent/**"]
    for name, ruleset in rules.items():
        assert ruleset["enforcement"] == "active"
        apps = [a for a in ruleset["bypass_actors"] if a["actor_type"] == "Integration"]
        assert bool(apps) == (name == "3-agent-branches.json")
    for name in ("1-fence-branches.json", "2-fence-tags.json", "3-agent-branches.json"):
        kinds = {rule["type"] for rule in rules[name]["rules"]}
        assert {"creation", "update", "deletion"} <= kinds


def test_paths_name_only_parameters_that_the_client_checks() -> None:
    known = {
        "owner", "repo", "username", "number", "branch", "path", "sha", "check_run", "comment",
        "label", "base", "head", "ruleset",
    }  # fmt: skip
    for call in CALLS.values():
        assert set(re.findall(r"{(\w+)}", call.path)) <= known
