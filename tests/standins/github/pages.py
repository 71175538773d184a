"""Plain pages to look at: repository, issue, pull request, files; nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pygit2
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tests.standins.github import markdown
from tests.standins.github.refusals import Refusal, not_found
from tests.standins.github.rest.endpoint import nowhere
from tests.standins.github.shapes import commits, pulls
from tests.standins.github.state import CheckRun, Issue, Repo
from tests.standins.github.world import World, stamp

Json = dict[str, Any]
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["markdown"] = lambda text: Markup(markdown.rendered(text))
TEMPLATES.filters["stamp"] = stamp
Page = Callable[[World, Request], tuple[str, Json]]


def _repo(world: World, request: Request) -> Repo:
    return world.repo(request.path_params["owner"], request.path_params["repo"])


def _thread(world: World, request: Request) -> tuple[Repo, Issue]:
    repo = _repo(world, request)
    issue = repo.issues.get(int(request.path_params["number"]))
    if issue is None:
        raise not_found()
    return repo, issue


def repository(world: World, request: Request) -> tuple[str, Json]:
    repo = _repo(world, request)
    head = repo.store.resolve(repo.default_branch)
    files = [] if head is None else list(repo.store.entries(head.tree, deep=True))
    threads = sorted(repo.issues.values(), key=lambda i: -i.number)
    return "repository.html", {
        "repo": repo,
        "refs": repo.store.refs(),
        "files": [f.path for f in files if f.type != "tree"][:500],
        "issues": [i for i in threads if i.pull is None],
        "pulls": [i for i in threads if i.pull is not None],
    }


def thread(world: World, request: Request) -> tuple[str, Json]:
    """An issue; a pull request's number works too and shows its conversation."""
    repo, issue = _thread(world, request)
    if issue.pull is not None:
        return pull_request(world, request)
    return "issue.html", {"repo": repo, "issue": issue}


def pull_request(world: World, request: Request) -> tuple[str, Json]:
    repo, issue = _thread(world, request)
    pull = issue.pull
    if pull is None:
        raise not_found()
    listed = [
        {"sha": str(c.id), "title": commits.message(c).partition("\n")[0], "by": c.author.name}
        for c in pulls.pull_commits(repo, pull)
    ]
    runs = [r for suite in repo.suites for r in suite.runs if r.head_sha == pull.head_sha]
    statuses = {s.context: s for s in repo.statuses if s.sha == pull.head_sha}
    return "pull.html", {
        "repo": repo,
        "issue": issue,
        "pull": pull,
        "commits": listed,
        "runs": _latest(runs),
        "statuses": list(statuses.values()),
    }


def _latest(runs: list[CheckRun]) -> list[CheckRun]:
    newest = {(run.suite.app.id, run.name): run for run in runs}
    return list(newest.values())


def pull_files(world: World, request: Request) -> tuple[str, Json]:
    repo, issue = _thread(world, request)
    if issue.pull is None:
        raise not_found()
    files = pulls.pull_changes(repo, issue.pull)
    return "files.html", {"repo": repo, "issue": issue, "pull": issue.pull, "files": files}


def check_run(world: World, request: Request) -> tuple[str, Json]:
    repo = _repo(world, request)
    wanted = int(request.path_params["number"])
    for suite in repo.suites:
        for run in suite.runs:
            if run.id == wanted:
                return "run.html", {"repo": repo, "run": run}
    raise not_found()


def file(world: World, request: Request) -> tuple[str, Json]:
    """`blob/{ref}/{path}`: the ref is the longest beginning that names something."""
    repo, parts = _repo(world, request), str(request.path_params["rest"]).split("/")
    for cut in range(len(parts) - 1, 0, -1):
        commit = repo.store.resolve("/".join(parts[:cut]))
        found = None if commit is None else repo.store.find(commit.tree, "/".join(parts[cut:]))
        if isinstance(found, pygit2.Blob):
            text = found.data.decode(errors="replace")
            return "file.html", {"repo": repo, "path": "/".join(parts[cut:]), "text": text}
    raise not_found()


def _route(world: World, path: str, page: Page) -> Route:
    unknown = nowhere(world)

    async def handle(request: Request) -> Response:
        try:
            template, values = page(world, request)
        except Refusal as refusal:
            if "text/html" not in request.headers.get("accept", ""):
                return await unknown(request)
            return HTMLResponse(f"<h1>{refusal.status}</h1>", refusal.status, HEADERS)
        return HTMLResponse(TEMPLATES.get_template(template).render(values), headers=HEADERS)

    return Route(path, handle)


def routes(world: World) -> list[Route]:
    place = "/{owner}/{repo}"
    listed: list[tuple[str, Page]] = [
        (place, repository),
        (f"{place}/issues/{{number:int}}", thread),
        (f"{place}/pull/{{number:int}}", pull_request),
        (f"{place}/pull/{{number:int}}/files", pull_files),
        (f"{place}/runs/{{number:int}}", check_run),
        (f"{place}/blob/{{rest:path}}", file),
    ]
    return [_route(world, path, page) for path, page in listed]
