"""The check run, check suite and status calls."""

from __future__ import annotations

from typing import Any

from tests.standins.github import check_acts
from tests.standins.github.refusals import Refusal, not_accessible, not_found
from tests.standins.github.rest.call import Answer, Call, Operation
from tests.standins.github.shapes import checks, repos
from tests.standins.github.state import CheckRun, Repo, Status

Json = dict[str, Any]


def create_run(call: Call) -> Answer:
    repo, app = call.repo, call.caller.installation.app
    call.text("name")
    call.text("head_sha")
    run = check_acts.create_run(call.world, repo, app, check_acts.checked(call.body))
    shown = checks.check_run(call.world, repo, run)
    return Answer(201, shown, {"Location": shown["url"]})


def _run(call: Call) -> CheckRun:
    wanted = int(call.params["check_run_id"])
    for run in _runs(call.repo):
        if run.id == wanted:
            return run
    raise not_found()


def _runs(repo: Repo) -> list[CheckRun]:
    return [run for suite in repo.suites for run in suite.runs]


def get_run(call: Call) -> Answer:
    return Answer(200, checks.check_run(call.world, call.repo, _run(call)))


def update_run(call: Call) -> Answer:
    """Only the app that made a check run may change it."""
    repo, run = call.repo, _run(call)
    if run.suite.app is not call.caller.installation.app:
        raise not_accessible(("checks:write",))
    check_acts.update_run(call.world, repo, run, check_acts.checked(call.body))
    return Answer(200, checks.check_run(call.world, repo, run))


def list_annotations(call: Call) -> Answer:
    run = _run(call)
    href = f"{repos.api_url(call.world, call.repo)}/git/blobs/{run.head_sha}"
    return call.paged(run.annotations, lambda one: checks.annotation(one, href))


def _sha(call: Call) -> str:
    name = str(call.params["ref"])
    commit = call.repo.store.resolve(name)
    if commit is None:
        raise Refusal(422, f"No commit found for SHA: {name}")
    return str(commit.id)


def list_runs(call: Call) -> Answer:
    """Filters check_name, status, app_id; `filter=latest` (default) keeps one per app and name."""
    repo, sha, query = call.repo, _sha(call), call.query
    found = [
        run
        for run in sorted(_runs(repo), key=lambda r: -r.id)
        if run.head_sha == sha
        and query.get("check_name", run.name) == run.name
        and query.get("status", run.status) == run.status
        and query.get("app_id", str(run.suite.app.id)) == str(run.suite.app.id)
    ]
    if query.get("filter", "latest") == "latest":
        latest: dict[tuple[int, str], CheckRun] = {}
        for run in found:
            latest.setdefault((run.suite.app.id, run.name), run)
        found = list(latest.values())
    return call.paged(found, lambda run: checks.check_run(call.world, repo, run), wrap="check_runs")


def list_suites(call: Call) -> Answer:
    repo, sha = call.repo, _sha(call)
    found = [suite for suite in repo.suites if suite.head_sha == sha]
    return call.paged(
        found, lambda one: checks.check_suite(call.world, repo, one), wrap="check_suites"
    )


def create_status(call: Call) -> Answer:
    repo = call.repo
    made = check_acts.set_status(
        call.world,
        repo,
        call.actor,
        sha=str(call.params["sha"]),
        state=call.text("state"),
        context=call.text("context", "default"),
        description=call.maybe_text("description"),
        target_url=call.maybe_text("target_url"),
    )
    return Answer(201, checks.status(call.world, repo, made))


def combined_status(call: Call) -> Answer:
    """The newest status of each context, and the worst of them."""
    repo, sha = call.repo, _sha(call)
    latest: dict[str, Status] = {}
    for one in repo.statuses:
        if one.sha == sha:
            latest[one.context] = one
    states = {one.state for one in latest.values()}
    state = "success" if states == {"success"} else "pending"
    if states & {"error", "failure"}:
        state = "failure"
    page = call.paged(list(latest.values()), lambda s: _simple(call, repo, s))
    api = repos.api_url(call.world, repo)
    body: Json = {
        "state": state,
        "statuses": page.body,
        "sha": sha,
        "total_count": len(latest),
        "repository": repos.minimal(call.world, repo),
        "commit_url": f"{api}/commits/{sha}",
        "url": f"{api}/commits/{sha}/status",
    }
    return Answer(200, body, page.headers)


def _simple(call: Call, repo: Repo, one: Status) -> Json:
    shown = checks.status(call.world, repo, one)
    return {key: value for key, value in shown.items() if key != "creator"}


REPO = "/repos/{owner}/{repo}"
REF = f"{REPO}/commits/{{ref}}"
OPERATIONS = (
    Operation("POST", f"{REPO}/check-runs", create_run, ("checks:write",)),
    Operation("GET", f"{REPO}/check-runs/{{check_run_id}}", get_run, ("checks:read",)),
    Operation(
        "GET",
        f"{REPO}/check-runs/{{check_run_id}}/annotations",
        list_annotations,
        ("checks:read",),
    ),
    Operation("PATCH", f"{REPO}/check-runs/{{check_run_id}}", update_run, ("checks:write",)),
    Operation("GET", f"{REF}/check-runs", list_runs, ("checks:read",), deep=("ref",)),
    Operation("GET", f"{REF}/check-suites", list_suites, ("checks:read",), deep=("ref",)),
    Operation("GET", f"{REF}/status", combined_status, ("statuses:read",), deep=("ref",)),
    Operation("POST", f"{REPO}/statuses/{{sha}}", create_status, ("statuses:write",)),
)
