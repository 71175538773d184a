"""Acts on check runs and statuses: made, changed and announced."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.standins.github.refusals import Refusal, failed, invalid
from tests.standins.github.shapes import checks, commits
from tests.standins.github.shapes.checks import branch_at
from tests.standins.github.state import Actor, App, CheckRun, CheckSuite, Repo, Status
from tests.standins.github.webhooks import emit
from tests.standins.github.world import World, stamp

Json = dict[str, Any]
STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
CONCLUSIONS = (
    "success",
    "failure",
    "neutral",
    "cancelled",
    "skipped",
    "timed_out",
    "action_required",
)
TEXT_LIMIT = 65_535


def suite_for(world: World, repo: Repo, app: App, sha: str) -> CheckSuite:
    for suite in repo.suites:
        if suite.app is app and suite.head_sha == sha:
            return suite
    made = CheckSuite(world.next_id(), app, sha, world.now(), world.now())
    repo.suites.append(made)
    return made


def create_run(world: World, repo: Repo, app: App, told: Json) -> CheckRun:
    """`told` is the body of POST check-runs, its types already looked at by `checked`."""
    if repo.store.commit(told["head_sha"]) is None:
        raise Refusal(422, f"No commit found for SHA: {told['head_sha']}")
    suite = suite_for(world, repo, app, told["head_sha"])
    run = CheckRun(
        id=world.next_id(),
        suite=suite,
        name=told["name"],
        head_sha=told["head_sha"],
        status="queued",
        conclusion=None,
        started_at=None,
        completed_at=None,
        external_id="",
        details_url=None,
        output={},
    )
    _apply(world, run, told)
    suite.runs.append(run)
    _announce(world, repo, run, "created", Actor(app.bot, app))
    if run.status == "completed":
        _announce(world, repo, run, "completed", Actor(app.bot, app))
    return run


def update_run(world: World, repo: Repo, run: CheckRun, told: Json) -> None:
    was = run.status
    _apply(world, run, told)
    run.suite.updated_at = world.now()
    if run.status == "completed" and was != "completed":
        app = run.suite.app
        _announce(world, repo, run, "completed", Actor(app.bot, app))


def ask_again(world: World, repo: Repo, run: CheckRun, actor: Actor, action: str | None) -> None:
    """A person pressed "Re-run" or one of the run's own buttons."""
    extra = {} if action is None else {"requested_action": {"identifier": action}}
    name = "rerequested" if action is None else "requested_action"
    _announce(world, repo, run, name, actor, extra)


def _announce(
    world: World,
    repo: Repo,
    run: CheckRun,
    action: str,
    actor: Actor,
    extra: Json | None = None,
) -> None:
    shown = checks.check_run(world, repo, run)
    shown["check_suite"] = checks.check_suite(world, repo, run.suite)
    emit(world, repo, "check_run", action, actor, {"check_run": shown} | (extra or {}))


def checked(told: Json) -> Json:
    """The types and limits of a check run's body; 422 where GitHub says so."""
    for name in ("name", "head_sha", "status", "conclusion", "external_id", "details_url"):
        value = told.get(name)
        if value is not None and not isinstance(value, str):
            raise invalid(
                f"Invalid request.\n\nFor 'properties/{name}', {value!r:.80} is not a string."
            )
    for name in ("started_at", "completed_at"):
        _moment(told.get(name))
    if told.get("status") not in (None, *STATUSES):
        raise invalid(f"Invalid request.\n\n{told['status']!r:.80} is not a possible status.")
    if told.get("conclusion") not in (None, *CONCLUSIONS):
        raise invalid(
            f"Invalid request.\n\n{told['conclusion']!r:.80} is not a possible conclusion."
        )
    if told.get("status") == "completed" and told.get("conclusion") is None:
        raise invalid('Invalid request.\n\n"conclusion" wasn\'t supplied.')
    _check_output(told.get("output"))
    return told


def _check_output(output: object) -> None:
    if output is None:
        return
    if not isinstance(output, dict):
        raise invalid("Invalid request.\n\nFor 'properties/output', not an object.")
    for name in ("title", "summary", "text"):
        value = output.get(name)
        if value is None and name in ("summary",):
            raise invalid(f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        if value is not None and not isinstance(value, str):
            raise invalid(f"Invalid request.\n\nFor 'properties/{name}', not a string.")
        if isinstance(value, str) and len(value) > TEXT_LIMIT:
            message = f"{name} exceeds a maximum of {TEXT_LIMIT} characters"
            raise failed("CheckRun", field=name, message=message)
    notes = output.get("annotations", [])
    if not isinstance(notes, list) or len(notes) > 50:
        raise invalid("Invalid request.\n\nNo more than 50 items are allowed in annotations.")


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise invalid("Invalid request.\n\nNot a date-time.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _apply(world: World, run: CheckRun, told: Json) -> None:
    run.name = told.get("name") or run.name
    run.external_id = told.get("external_id") or run.external_id
    run.details_url = told.get("details_url") or run.details_url
    run.started_at = _moment(told.get("started_at")) or run.started_at
    if told.get("conclusion") is not None:
        run.status, run.conclusion = "completed", told["conclusion"]
        run.completed_at = _moment(told.get("completed_at")) or world.now()
    elif told.get("status") is not None:
        run.status, run.conclusion, run.completed_at = told["status"], None, None
    run.started_at = run.started_at or world.now()
    output = told.get("output") or {}
    run.output |= {key: output[key] for key in ("title", "summary", "text") if key in output}
    run.annotations += output.get("annotations", [])
    if isinstance(told.get("actions"), list):
        run.actions = told["actions"]


def set_status(
    world: World,
    repo: Repo,
    actor: Actor,
    sha: str,
    state: str,
    context: str,
    description: str | None,
    target_url: str | None,
) -> Status:
    commit = repo.store.commit(sha)
    if commit is None:
        raise Refusal(422, f"No commit found for SHA: {sha}")
    if state not in ("error", "failure", "pending", "success"):
        raise failed("Status", field="state", code="invalid")
    if description is not None and len(description) > 140:
        raise failed("Status", field="description", message="is too long (maximum is 140)")
    now = world.now()
    made = Status(world.next_id(), sha, state, context, description, target_url, actor.account, now)
    repo.statuses.append(made)
    shown = checks.status(world, repo, made)
    fields = {
        "id": made.id,
        "sha": sha,
        "name": repo.full_name,
        "target_url": target_url,
        "avatar_url": shown["avatar_url"],
        "context": context,
        "description": description,
        "state": state,
        "commit": commits.commit_item(world, repo, commit),
        "branches": _pointing(world, repo, sha),
        "created_at": stamp(now),
        "updated_at": stamp(now),
    }
    emit(world, repo, "status", None, actor, fields)
    return made


def _pointing(world: World, repo: Repo, sha: str) -> list[Json]:
    """The branch at a commit, as a status names it."""
    name = branch_at(repo, sha)
    url = f"{world.url}/repos/{repo.full_name}/commits/{sha}"
    return [{"name": name, "commit": {"sha": sha, "url": url}, "protected": False}] if name else []
