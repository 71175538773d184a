"""Publish against the stand-in's real git: one branch, one draft, one check run, whatever breaks.

The last tests stop the stage at every intent and repeat it, and lose every answer once.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from app.domain import report
from app.domain.check import Failure
from app.domain.errors import Halt, IntegrityError, Park, Reason
from app.domain.event import Person, Repository
from app.domain.evidence import Holds, Result
from app.domain.record import Kept
from app.domain.repo_config import OnStop, RepoConfig
from app.domain.run import Publication, Run
from app.domain.state import State
from tests.fakes.github import Files, tree_id
from tests.fakes.hold import FakeHold
from tests.standins.github import GitHubStandin
from tests.standins.github_world import FILES as WORLD_FILES
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.made import AFTER, SIGNER, Office, new_run, office, ready
from tests.worker.desk.mortal import Killed, Mortal
from tests.worker.desk.ways import access_to
from worker.attest import bundle, examine
from worker.attest.verify import public_key, subjects, verify
from worker.desk.remains import remains
from worker.desk.stages.publish import publish

BRANCH = "agent/issue-1-abc"
BASE: Files = {path: (0o100644, text.encode()) for path, text in WORLD_FILES.items()}
TREE = tree_id({**BASE, "src/widgets.py": (0o100644, AFTER)})


@dataclass
class Scene:
    """A run that is ready to be published on the stand-in."""

    world: Acme
    desk: Office
    run: Run

    @property
    def hub(self) -> GitHubStandin:
        return self.world.standin

    def publish(self) -> Run:
        return publish(self.desk.kit())(self.run)

    def git(self, *words: str) -> str:
        folder = self.hub.root / f"{REPO}.git"
        done = subprocess.run(
            ["git", "--git-dir", str(folder), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def agent_refs(self) -> list[str]:
        return [name for name in self.hub.refs(REPO) if "agent/" in name]


READS = {"contents": "read", "issues": "read"}


def scene(world: Acme, verdict: Result = Result.PASSED, config: RepoConfig | None = None) -> Scene:
    hub = world.standin
    assert hub.open_issue(REPO, "bob", "add is wrong", "It fails", ["agent:running", "bug"]) == 1
    desk = office()
    access = access_to(world)
    desk.read, desk.write = access.read, access.write
    run = new_run(Repository(world.repo_id, "acme", "widgets"), world.installation)
    run = ready(run, world.head, BASE, desk.hold, verdict, config)
    hub.clear_log()
    return Scene(world, desk, run)


def writes(hub: GitHubStandin) -> list[str]:
    """Our writes, without minting and revoking."""
    return [
        f"{one['method']} {one['path']}"
        for one in hub.log()
        if one["method"] != "GET" and "token" not in one["path"] and "/_/" not in one["path"]
    ]


def only_one_of_each(made: Scene, run: Run) -> None:
    """One branch, one pull request, one check run, one sticky comment, all of this run."""
    hub = made.hub
    assert [ref.removeprefix("refs/heads/") for ref in made.agent_refs()] == [BRANCH]
    (pull,) = hub.pulls(REPO)
    assert pull["number"] == run.publication.pull and pull["head"]["sha"] == run.publication.commit
    (check,) = hub.check_runs(REPO, run.publication.commit)
    assert check["id"] == run.publication.check_run
    stickies = [c for c in hub.comments(REPO, 1) if "patchwarrant:status:" in c["body"]]
    assert [c["id"] for c in stickies] == [run.status_comment]
    assert {x["name"] for x in hub.issue(REPO, 1)["labels"]} == {"agent:done", "bug"}
    assert made.git("rev-parse", f"{BRANCH}^{{tree}}") == TREE
    assert run.state is State.COMPLETE


def test_the_checked_tree_becomes_a_draft_with_its_evidence(world: Acme) -> None:
    made = scene(world)
    run = made.publish()
    only_one_of_each(made, run)
    assert made.git("rev-parse", BRANCH) == run.publication.commit
    assert made.git("rev-parse", f"{BRANCH}~1") == world.head
    message = made.git("log", "-1", "--format=%B", BRANCH)
    assert message.splitlines()[-1] == "Agent-Run: abc"
    assert made.git("log", "-1", "--format=%an", BRANCH) == "patchwarrant[bot]"
    pull = made.hub.pull(REPO, run.publication.pull)
    assert pull["draft"] is True and pull["base"]["ref"] == "main"
    assert TREE in pull["body"] and run.publication.commit in pull["body"]
    (check,) = made.hub.check_runs(REPO, run.publication.commit)
    assert (check["name"], check["conclusion"]) == ("patchwarrant/evidence", "success")
    assert check["external_id"] == "abc" and TREE in json.dumps(check["output"])
    (sticky,) = made.hub.comments(REPO, 1)
    assert f"#{run.publication.pull}" in sticky["body"]


def test_the_signed_statement_names_commit_and_tree_and_is_kept_by_its_hash(world: Acme) -> None:
    made = scene(world)
    run = made.publish()
    kept = made.desk.hold.intents["statement"]["envelope"]
    data = made.desk.hold.blobs[kept]
    assert hashlib.sha256(data).hexdigest() == kept
    statement = verify(json.loads(data), public_key(SIGNER.public_pem))
    assert subjects(statement) == (TREE, run.publication.commit)
    assert kept in made.hub.pull(REPO, run.publication.pull)["body"]
    assert kept in json.dumps(made.hub.check_runs(REPO, run.publication.commit))


def test_both_statements_and_the_bundle_belong_together(world: Acme) -> None:
    made = scene(world)
    made.desk.hold.note(Kept.CHECK, {"check": "tests", "phase": "verify", "result": {}})
    run = made.publish()
    kept = made.desk.hold.intents["statement"]
    (check,) = made.hub.check_runs(REPO, run.publication.commit)
    lines = report.statements_in(check["output"]["text"])
    assert "\n".join(lines).encode() == made.desk.hold.blobs[kept["envelopes"]]
    found, signed = examine.signatures(
        [json.loads(line) for line in lines], public_key(SIGNER.public_pem)
    )
    assert found.standing is Holds.HOLDS and signed is not None
    whole = examine.whole(signed, bundle.read(made.desk.hold.blobs[kept["bundle"]]))
    assert whole.standing is Holds.HOLDS
    marker, text = report.body_marker(made.hub.pull(REPO, run.publication.pull)["body"])
    assert marker == report.Marker(
        TREE, run.publication.commit, kept["envelope"], kept["bundle"], text
    )


def test_a_journal_that_was_touched_is_signed_by_nobody(world: Acme) -> None:
    made = scene(world)
    made.desk.journal_fault = "journal entry 1-0 does not follow from the one before it"
    with pytest.raises((IntegrityError, Halt), match="journal"):
        made.publish()
    assert made.agent_refs() == [] and made.hub.pulls(REPO) == []


def test_failures_stand_at_their_file_and_line(world: Acme) -> None:
    made = scene(world, Result.FAILED)
    failures = tuple(Failure(f"t{n}", "E", "m", "src/widgets.py", n) for n in range(60))
    last = made.run.attempts[-1]
    results = (replace(last.results[0], failures=failures),)
    made.run = replace(made.run, attempts=(replace(last, results=results),))
    run = made.publish()
    (check,) = made.hub.check_runs(REPO, run.publication.commit)
    assert check["output"]["annotations_count"] == 60


def test_every_token_is_least_and_ended(world: Acme) -> None:
    made = scene(world)
    made.publish()
    tokens = made.hub.tokens()
    asked = [{k: v for k, v in t["permissions"].items() if k != "metadata"} for t in tokens]
    assert asked == [
        READS,
        {"contents": "write"},
        READS,
        {"pull_requests": "write"},
        {"checks": "write"},
        {"issues": "write"},
    ]
    log = made.hub.log()
    minted = [one for one in log if one["path"].endswith("/access_tokens")]
    ended = [one for one in log if one["path"] == "/installation/token"]
    assert len(minted) == len(ended) == 6 and all(one["status"] == 204 for one in ended)


def test_only_the_table_s_writes_are_sent(world: Acme) -> None:
    made = scene(world)
    made.publish()
    repo = f"/repos/{REPO}"
    assert writes(made.hub) == [
        f"POST {repo}/git/trees",
        f"POST {repo}/git/commits",
        f"POST {repo}/git/refs",
        f"POST {repo}/pulls",
        f"POST {repo}/check-runs",
        f"POST {repo}/issues/1/comments",
        f"POST {repo}/issues/1/labels",
        f"DELETE {repo}/issues/1/labels/agent:running",
    ]


@pytest.mark.parametrize("verdict", [Result.FAILED, Result.PARTIAL])
def test_partial_work_becomes_an_incomplete_draft(world: Acme, verdict: Result) -> None:
    made = scene(world, verdict)
    run = made.publish()
    pull = made.hub.pull(REPO, run.publication.pull)
    assert pull["draft"] is True and "incomplete" in pull["title"].lower()
    (check,) = made.hub.check_runs(REPO, run.publication.commit)
    assert check["conclusion"] == "action_required"
    assert "agent:incomplete" in {x["name"] for x in made.hub.issue(REPO, 1)["labels"]}


@pytest.mark.parametrize("on_stop", [OnStop.PATCH, OnStop.NOTHING])
def test_on_stop_can_want_no_draft(world: Acme, on_stop: OnStop) -> None:
    made = scene(world, Result.FAILED, RepoConfig(on_stop=on_stop))
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.BUDGET_TURNS
    assert f"on_stop: {on_stop}" in stop.value.record.next_step
    assert made.hub.log() == []


def test_a_passed_run_is_published_whatever_on_stop_says(world: Acme) -> None:
    made = scene(world, config=RepoConfig(on_stop=OnStop.NOTHING))
    assert made.publish().publication.pull == 2


@pytest.mark.parametrize("part", ["tree", "base", "verdict", "candidate", "contract", "halt"])
def test_without_a_verdict_on_that_very_tree_nothing_is_sent(world: Acme, part: str) -> None:
    made = scene(world)
    run = made.run
    assert run.verdict is not None
    broken = {
        "tree": replace(run, verdict=replace(run.verdict, tree="0" * 40)),
        "base": replace(run, verdict=replace(run.verdict, base_commit="0" * 40)),
        "verdict": replace(run, verdict=None),
        "candidate": replace(run, candidate=None),
        "contract": replace(run, contract=None),
        "halt": replace(run, halt=ready(run, "x", BASE, FakeHold(), Result.FAILED).halt),
    }
    made.run = broken[part]
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.INTEGRITY and made.hub.log() == []


def test_bytes_that_are_not_what_was_checked_are_not_published(world: Acme) -> None:
    made = scene(world)
    assert made.run.candidate is not None
    digest = made.run.candidate.changes[0].blob
    made.desk.hold.blobs[digest] = b"something else"
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.INTEGRITY and made.agent_refs() == []


def test_a_candidate_with_another_tree_stops_before_the_ref(world: Acme) -> None:
    made = scene(world)
    run = made.run
    assert run.candidate is not None and run.verdict is not None
    made.run = replace(
        run,
        candidate=replace(run.candidate, tree="1" * 40),
        verdict=replace(run.verdict, tree="1" * 40),
    )
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.INTEGRITY
    assert made.agent_refs() == [] and made.hub.pulls(REPO) == []


@pytest.mark.parametrize(
    "where", ["git/blobs", "git/trees", "git/commits", "git/refs", "git/commits/"]
)
def test_a_flipped_digit_in_any_answer_stops_before_the_pull_request(
    world: Acme, where: str
) -> None:
    made = scene(world)
    binary_too(made)
    method = "GET" if where.endswith("/") else "POST"
    made.hub.fault("flip", where if method == "GET" else f"{where}$", method=method)
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.INTEGRITY
    assert made.hub.pulls(REPO) == []


def binary_too(made: Scene) -> None:
    """Adds a file that needs a blob of its own."""
    run, data = made.run, b"\x00\x01"
    assert run.candidate is not None and run.verdict is not None
    files = {**BASE, "src/widgets.py": (0o100644, AFTER), "z.bin": (0o100644, data)}
    change = replace(run.candidate.changes[0], path="z.bin", blob=made.desk.hold.put(data))
    candidate = replace(
        run.candidate, tree=tree_id(files), changes=(*run.candidate.changes, change)
    )
    made.run = replace(run, candidate=candidate, verdict=replace(run.verdict, tree=candidate.tree))


# -- what people did meanwhile ---------------------------------------------------------------------


def test_a_requester_who_lost_write_gets_nothing_published(world: Acme) -> None:
    made = scene(world)
    made.hub.set_role(REPO, "alice", "read")
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.REFUSED_ROLE
    assert writes(made.hub) == [] and made.agent_refs() == []


def test_a_closed_issue_ends_the_run(world: Acme) -> None:
    made = scene(world)
    made.hub.close_issue(REPO, 1, "alice")
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.CANCELLED and made.agent_refs() == []


def test_a_locked_issue_is_no_failure(world: Acme) -> None:
    made = scene(world)
    made.hub.lock_issue(REPO, 1, "alice")
    run = made.publish()
    assert run.state is State.COMPLETE and run.publication.pull and run.status_comment == 0
    assert any("locked" in str(entry.data) for entry in made.desk.hold.journal)


def test_the_base_stays_pinned_when_it_moves(world: Acme) -> None:
    made = scene(world)
    made.hub.push(REPO, "alice", "main", {"src/widgets.py": "moved = 1\n"}, "Elsewhere")
    run = made.publish()
    assert made.git("rev-parse", f"{run.publication.commit}~1") == world.head
    assert made.git("rev-parse", f"{BRANCH}^{{tree}}") == TREE


def test_a_foreign_branch_of_that_name_is_left_alone(world: Acme) -> None:
    made = scene(world)
    sha = made.hub.push(REPO, "bob", BRANCH, {"x": "y"}, "Squatting")
    with pytest.raises(Halt, match="other work"):
        made.publish()
    assert made.hub.refs(REPO)[f"refs/heads/{BRANCH}"] == sha and made.hub.pulls(REPO) == []


def test_a_branch_with_a_tail_is_found_again_after_a_kill(world: Acme) -> None:
    made = scene(world)
    assert made.run.contract is not None
    made.run = replace(made.run, contract=replace(made.run.contract, tail="fix-add-is-wrong"))
    with pytest.raises(Killed):
        killed_after_the_branch(made)
    run = made.publish()
    assert made.agent_refs() == [f"refs/heads/{BRANCH}-fix-add-is-wrong"]
    (pull,) = made.hub.pulls(REPO)
    assert pull["number"] == run.publication.pull
    assert f"refs/heads/{pull['head']['ref']}" == made.agent_refs()[0]


def test_a_closed_pull_request_is_not_opened_again(world: Acme) -> None:
    made = scene(world)
    run = made.publish()
    made.hub.close_issue(REPO, run.publication.pull, "alice")
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.CANCELLED and len(made.hub.pulls(REPO)) == 1


def test_a_pull_request_that_shows_another_head_is_not_vouched_for(world: Acme) -> None:
    made = scene(world)
    made.publish()
    made.hub.push(REPO, "alice", BRANCH, {"extra": "by hand"}, "By hand")
    del made.desk.hold.intents["check"]
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.INTEGRITY
    (pull,) = made.hub.pulls(REPO)
    assert pull["title"].startswith("[not certified] ")
    assert "Not certified" in pull["body"] and "Closes #" not in pull["body"]


def stopped(made: Scene) -> tuple[Halt, Run]:
    """How publishing ended, and the run as its ending is told."""
    with pytest.raises(Halt) as stop:
        made.publish()
    made.hub.clear_faults()
    return stop.value, remains(made.desk.kit())(made.run)


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/check-runs$", "POST", 403),
        ("/check-runs$", "POST", 422),
        (r"/pulls/\d+$", "GET", 404),
    ],
)
def test_a_stop_after_the_pull_request_is_there_knows_it(
    world: Acme, path: str, method: str, status: int
) -> None:
    made = scene(world)
    made.hub.fault("status", path, method=method, status=status, times=0)
    halt, run = stopped(made)
    assert halt.record.reason is Reason.INFRASTRUCTURE
    (pull,) = made.hub.pulls(REPO)
    assert run.publication.pull == pull["number"] and run.publication.pull_url
    assert run.publication.commit == pull["head"]["sha"]


def test_a_person_who_pushes_first_gets_no_pull_request_in_our_words(world: Acme) -> None:
    made = scene(world)
    with pytest.raises(Killed):
        killed_after_the_branch(made)
    made.hub.push(REPO, "alice", BRANCH, {"extra": "by hand"}, "By hand")
    halt, run = stopped(made)
    assert halt.record.reason is Reason.INTEGRITY and "pushed" in halt.record.message
    assert made.hub.pulls(REPO) == [] and run.publication.pull == 0
    assert run.publication.branch == BRANCH and run.publication.commit


def killed_after_the_branch(made: Scene) -> None:
    hold = made.desk.hold
    fulfil = hold.fulfil

    def deadly(key: str, data: Mapping[str, Any]) -> None:
        fulfil(key, data)
        if key == "branch":
            hold.fulfil = fulfil  # type: ignore[method-assign]
            raise Killed

    hold.fulfil = deadly  # type: ignore[method-assign]
    made.publish()


def test_a_foreign_branch_is_not_claimed_and_what_nobody_can_see_is_not_denied(
    world: Acme,
) -> None:
    made = scene(world)
    made.hub.push(REPO, "alice", BRANCH, {"extra": "by hand"}, "By hand")
    _halt, run = stopped(made)
    assert run.publication == Publication()
    made.hub.fault("status", "/git/ref/heads/", method="GET", status=403, times=0)
    assert remains(made.desk.kit())(made.run).publication == Publication(branch=BRANCH)


def test_a_base_that_is_gone_is_said_before_anything_is_there(world: Acme) -> None:
    made = scene(world)
    assert made.run.contract is not None
    lost = replace(made.run.contract, base_branch="gone")
    made.run = replace(made.run, contract=lost)
    halt, run = stopped(made)
    assert halt.record.reason is Reason.BASE_LOST
    assert made.agent_refs() == [] and run.publication == Publication()


def test_what_a_person_wrote_in_the_body_survives(world: Acme) -> None:
    made = scene(world)
    run = made.publish()
    body = made.hub.pull(REPO, run.publication.pull)["body"]
    edited = f"Read this first.\n\n{body}\n\nAnd this last."
    made.hub.edit_issue(REPO, run.publication.pull, "alice", body=edited)
    made.publish()
    kept = made.hub.pull(REPO, run.publication.pull)["body"]
    assert kept.startswith("Read this first.") and kept.rstrip().endswith("And this last.")
    assert kept.count("<!-- patchwarrant:body:abc -->") == 1


def test_where_drafts_do_not_exist_the_pull_request_says_so(world: Acme) -> None:
    made = scene(world)
    made.hub.configure_repo(REPO, drafts=False)
    run = made.publish()
    pull = made.hub.pull(REPO, run.publication.pull)
    assert not pull["draft"] and pull["title"].startswith("[draft] ")
    assert pull["body"].startswith("> This repository does not offer draft")
    assert not run.publication.draft
    (sticky,) = made.hub.comments(REPO, 1)
    assert "not a draft" in sticky["body"]
    assert "not ready for review" in pull["body"] and TREE in pull["body"]


def test_line_counts_come_from_the_gate_s_note(world: Acme) -> None:
    made = scene(world)
    note = {"deltas": [["src/widgets.py", 0o100644, 0o100644, 11, 7]]}
    made.desk.hold.note(Kept.NOTE, note)
    run = made.publish()
    body = made.hub.pull(REPO, run.publication.pull)["body"]
    assert "+11" in body and "src/widgets.py" in body


def test_a_ledger_that_forgot_everything_finds_its_own_work_again(world: Acme) -> None:
    made = scene(world)
    first = made.publish()
    made.desk.hold.intents.clear()
    again = made.publish()
    only_one_of_each(made, again)
    assert again.publication == first.publication
    kept = made.desk.hold.blobs[made.desk.hold.intents["statement"]["envelope"]]
    statement = verify(json.loads(kept), public_key(SIGNER.public_pem))
    assert subjects(statement) == (TREE, first.publication.commit)


def test_an_issue_that_went_away_after_the_branch_is_no_failure(world: Acme) -> None:
    made = scene(world)
    made.desk.hold = Mortal(blobs=made.desk.hold.blobs, left=5, after=True)
    with pytest.raises(Killed):
        made.publish()
    made.hub.fault("status", "/issues/1$", method="GET", status=404, body={"message": "Gone"})
    made.hub.set_role(REPO, "alice", "none")
    assert made.publish().publication.pull == 2


# -- what breaks -----------------------------------------------------------------------------------


# intend and fulfil of commit, branch, pull, check; fulfil of statement, status; intend of unmarked
RECORDS = 11


def test_the_number_of_records_is_known(world: Acme) -> None:
    made = scene(world)
    hold = Mortal(blobs=made.desk.hold.blobs, left=1_000)
    made.desk.hold = hold
    made.publish()
    assert 1_000 - hold.left == RECORDS


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("point", range(1, RECORDS + 1))
def test_killed_at_any_record_there_is_one_of_everything(
    world: Acme, point: int, after: bool
) -> None:
    made = scene(world)
    made.desk.hold = Mortal(blobs=made.desk.hold.blobs, left=point, after=after)
    with pytest.raises(Killed):
        made.publish()
    only_one_of_each(made, made.publish())


LOST = ["git/blobs", "git/trees", "git/commits", "git/refs", "pulls", "check-runs", "comments"]


@pytest.mark.parametrize("kind", ["do_then_drop", "do_then_status"])
@pytest.mark.parametrize("where", LOST)
def test_an_answer_that_was_lost_leads_to_no_second_effect(
    world: Acme, where: str, kind: str
) -> None:
    made = scene(world)
    if where == "git/blobs":
        binary_too(made)
    made.hub.fault(kind, f"/{where}$", method="POST")
    run = until_published(made)
    assert all(one["fired"] for one in made.hub.faults())
    if where == "git/blobs":
        assert run.publication.pull and len(made.hub.pulls(REPO)) == 1
    else:
        only_one_of_each(made, run)


@pytest.mark.parametrize("where", ["git/refs", "pulls", "check-runs", "comments"])
def test_copies_that_lag_behind_lead_to_no_second_effect(world: Acme, where: str) -> None:
    made = scene(world)
    made.hub.fault("read_lag", f"/{where}$", method="POST", reads=2)
    only_one_of_each(made, until_published(made))


@pytest.mark.parametrize("where", LOST[1:])
def test_a_limit_is_waited_for_and_nothing_is_done_twice(world: Acme, where: str) -> None:
    made = scene(world)
    made.hub.fault("rate_secondary", f"/{where}$", method="POST", retry_after=77)
    with pytest.raises(Park) as park:
        made.publish()
    assert park.value.seconds == 77
    only_one_of_each(made, made.publish())


def until_published(made: Scene, most: int = 4) -> Run:
    """Publish as `carry` would: again after every wait."""
    for _ in range(most):
        try:
            return made.publish()
        except Park:
            continue
    raise AssertionError("it still waits")


def test_a_rule_violation_is_shown_with_its_words(world: Acme) -> None:
    made = scene(world)
    words = "Repository rule violations found\n\nCommits must have verified signatures"
    made.hub.fault("status", "/git/refs$", method="POST", status=422, body={"message": words})
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.NEEDS_OPERATOR
    assert "verified signatures" in stop.value.record.message


def test_a_suspended_installation_ends_the_run(world: Acme) -> None:
    made = scene(world)
    made.hub.suspend(world.installation, True)
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.INSTALLATION


def test_a_worker_whose_lease_is_over_sends_no_write(world: Acme) -> None:
    made = scene(world)
    made.desk.hold.lost = True
    with pytest.raises(Exception, match="another worker"):
        made.publish()
    assert made.agent_refs() == [] and made.hub.pulls(REPO) == []


def test_a_cancelled_run_publishes_nothing(world: Acme) -> None:
    made = scene(world)
    made.desk.hold.cancelled = True
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.CANCELLED and made.agent_refs() == []


def test_a_renamed_repository_is_published_to_by_its_id(world: Acme) -> None:
    made = scene(world)
    made.hub.configure_repo(REPO, rename="gadgets")
    run = made.publish()
    assert run.state is State.COMPLETE and len(made.hub.pulls("acme/gadgets")) == 1


def test_a_person_s_login_that_changed_hands_publishes_nothing(world: Acme) -> None:
    made = scene(world)
    made.run = replace(made.run, requester=Person(987_654, "alice"))
    with pytest.raises(Halt) as stop:
        made.publish()
    assert stop.value.record.reason is Reason.REFUSED_ROLE


def test_the_stage_itself_raises_no_fault(world: Acme) -> None:
    """Faults of adapters are endings or waits by the time that the stage gives up."""
    made = scene(world)
    made.hub.fault("flip", "/git/trees$", method="POST")
    try:
        made.publish()
    except IntegrityError:
        pytest.fail("an adapter's fault came through")
    except Halt:
        pass
