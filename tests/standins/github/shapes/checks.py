"""Check runs, check suites and statuses as GitHub shows them."""

from __future__ import annotations

from typing import Any

from tests.standins.github.shapes.accounts import app, node, user
from tests.standins.github.shapes.commits import simple_commit
from tests.standins.github.shapes.repos import api_url, minimal, page_url
from tests.standins.github.state import CheckRun, CheckSuite, Pull, Repo, Status
from tests.standins.github.world import World, stamp

Json = dict[str, Any]


def _end(world: World, repo: Repo, ref: str, sha: str) -> Json:
    return {
        "ref": ref,
        "sha": sha,
        "repo": {"id": repo.id, "url": api_url(world, repo), "name": repo.name},
    }


def _pull(world: World, repo: Repo, number: int, pull: Pull) -> Json:
    return {
        "url": f"{api_url(world, repo)}/pulls/{number}",
        "id": pull.id,
        "number": number,
        "head": _end(world, repo, pull.head_ref, pull.head_sha),
        "base": _end(world, repo, pull.base_ref, pull.base_sha),
    }


def pulls_at(world: World, repo: Repo, sha: str) -> list[Json]:
    """The open pull requests whose head is that commit."""
    return [
        _pull(world, repo, issue.number, issue.pull)
        for issue in repo.issues.values()
        if issue.pull is not None and issue.state == "open" and issue.pull.head_sha == sha
    ]


def branch_at(repo: Repo, sha: str) -> str | None:
    names = (n for n, s in repo.store.refs().items() if s == sha and n.startswith("refs/heads/"))
    found = next(names, None)
    return None if found is None else found.removeprefix("refs/heads/")


def check_run(world: World, repo: Repo, run: CheckRun) -> Json:
    url = f"{api_url(world, repo)}/check-runs/{run.id}"
    html = f"{page_url(world, repo)}/runs/{run.id}"
    return {
        "id": run.id,
        "node_id": node("CR", run.id),
        "head_sha": run.head_sha,
        "name": run.name,
        "external_id": run.external_id,
        "url": url,
        "html_url": html,
        "details_url": run.details_url or html,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": stamp(run.started_at),
        "completed_at": stamp(run.completed_at),
        "output": {
            "title": run.output.get("title"),
            "summary": run.output.get("summary"),
            "text": run.output.get("text"),
            "annotations_count": len(run.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": run.suite.id},
        "app": app(world, run.suite.app),
        "pull_requests": pulls_at(world, repo, run.head_sha),
    }


def annotation(one: Json, href: str) -> Json:
    """An annotation as it was given, with what GitHub adds."""
    names = ("path", "start_line", "end_line", "start_column", "end_column", "annotation_level",
             "title", "message", "raw_details")  # fmt: skip
    return {name: one.get(name) for name in names} | {"blob_href": href}


def verdict(suite: CheckSuite) -> tuple[str, str | None]:
    """(status, conclusion) of a suite from its runs."""
    if not suite.runs:
        return "queued", None
    if any(run.status != "completed" for run in suite.runs):
        return "in_progress", None
    conclusions = {run.conclusion for run in suite.runs}
    order = ("failure", "timed_out", "cancelled", "action_required", "success", "neutral")
    return "completed", next((c for c in order if c in conclusions), "neutral")


def check_suite(world: World, repo: Repo, suite: CheckSuite) -> Json:
    url = f"{api_url(world, repo)}/check-suites/{suite.id}"
    status, conclusion = verdict(suite)
    head = repo.store.commit(suite.head_sha)
    return {
        "id": suite.id,
        "node_id": node("CS", suite.id),
        "head_branch": branch_at(repo, suite.head_sha),
        "head_sha": suite.head_sha,
        "status": status,
        "conclusion": conclusion,
        "url": url,
        "before": "0" * 40,
        "after": suite.head_sha,
        "pull_requests": pulls_at(world, repo, suite.head_sha),
        "app": app(world, suite.app),
        "created_at": stamp(suite.created_at),
        "updated_at": stamp(suite.updated_at),
        "rerequestable": True,
        "runs_rerequestable": False,
        "latest_check_runs_count": len(suite.runs),
        "check_runs_url": f"{url}/check-runs",
        "head_commit": None if head is None else simple_commit(world, repo, head),
        "repository": minimal(world, repo),
    }


def status(world: World, repo: Repo, one: Status) -> Json:
    creator = user(world, one.creator)
    return {
        "url": f"{api_url(world, repo)}/statuses/{one.sha}",
        "avatar_url": creator["avatar_url"],
        "id": one.id,
        "node_id": node("SC", one.id),
        "state": one.state,
        "description": one.description,
        "target_url": one.target_url,
        "context": one.context,
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.created_at),
        "creator": creator,
    }
