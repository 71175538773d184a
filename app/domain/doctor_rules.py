"""The doctor's rules: from facts to points, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.domain.doctor import (
    ADMIN,
    Facts,
    HookFacts,
    Point,
    Unseen,
    fails,
    holds,
    unseen,
)
from app.domain.doctor_fence import default_branch, fences
from app.domain.permissions import EVENTS, registration, surplus
from app.domain.repo_config import CONFIG_PATH
from app.domain.workflows import Judgement, Push, judge

PROBE = "agent/issue-1-doctor"  # a branch name as ours are
SHOWN = 4  # of a list in one sentence


def examine(facts: Facts) -> tuple[Point, ...]:
    """Every point, none left out."""
    judged = judgement(facts)
    return (
        *_app(facts),
        *_installation(facts),
        _hook(facts),
        _owner(facts),
        _repository(facts),
        *fences(facts),
        *default_branch(facts),
        _codeowners(facts),
        _actions(facts),
        _workflows(facts, judged),
        _merging(facts, judged),
        _drafts(facts),
        *_configuration(facts),
    )


def judgement(facts: Facts) -> Judgement | None:
    """What a push to `agent/**` would start, whatever it changes; None where it was not seen."""
    if isinstance(facts.files, Unseen) or isinstance(facts.repository, Unseen):
        return None
    reads = not isinstance(facts.actions, Unseen) and not facts.actions.writes
    files = {path: _any_path(one, reads) for path, one in facts.files.workflows.items()}
    return judge(files, Push(PROBE, facts.repository.default_branch, ()))


def _any_path(workflow: Mapping[Any, Any] | None, reads: bool) -> Mapping[Any, Any] | None:
    """The workflow without its filters by path: some change of ours will touch them. `reads`: a
    token can only read here where nothing else is said."""
    if workflow is None:
        return None
    if reads:
        workflow = {"permissions": "read-all", **workflow}
    key = "on" if "on" in workflow else True
    on = workflow.get(key)
    if not isinstance(on, Mapping):
        return workflow
    paths = ("paths", "paths-ignore")
    freed = {
        name: {k: v for k, v in said.items() if k not in paths}
        if isinstance(said, Mapping)
        else said
        for name, said in on.items()
    }
    return {**workflow, key: freed}


def _app(facts: Facts) -> Iterator[Point]:
    rights = "the App asks for exactly the permissions that are used"
    events = "the App is told of every event that is read"
    if isinstance(facts.app, Unseen):
        yield unseen("app-permissions", rights, facts.app)
        yield unseen("app-events", events, facts.app)
        return
    todo = f"Change it on the App's page under Permissions & events (App {facts.app.slug})."
    amiss = surplus(registration(), facts.app.permissions)
    yield (
        fails("app-permissions", rights, "; ".join(amiss), todo)
        if amiss
        else holds("app-permissions", rights)
    )
    missing = sorted(set(EVENTS) - set(facts.app.events))
    yield (
        fails("app-events", events, f"missing: {', '.join(missing)}", todo)
        if missing
        else holds("app-events", events)
    )


def _installation(facts: Facts) -> Iterator[Point]:
    covers = "the App is installed on this repository, and not suspended"
    agreed = "the installation agreed to all of the App's permissions"
    found = facts.installation
    if isinstance(found, Unseen):
        yield unseen("installation", covers, found)
        yield unseen("installation-permissions", agreed, found)
        return
    if found.id == 0:
        todo = "Install it: the App's page → Install App, with this repository among the selected."
        yield fails("installation", covers, "no installation covers it", todo)
        yield unseen("installation-permissions", agreed, Unseen("there is no installation"))
        return
    yield (
        fails("installation", covers, "it is suspended", "Unsuspend it in the owner's settings.")
        if found.suspended
        else holds("installation", covers)
    )
    amiss = surplus(registration(), found.permissions)
    todo = "The owner accepts the new permissions under Settings → GitHub Apps → Configure."
    yield (
        fails("installation-permissions", agreed, "; ".join(amiss), todo)
        if amiss
        else holds("installation-permissions", agreed)
    )


def _hook(facts: Facts) -> Point:
    claim = "GitHub's deliveries arrive"
    if isinstance(facts.hook, Unseen):
        return unseen("webhook", claim, facts.hook)
    wrong = _miswired(facts.hook)
    if wrong:
        return fails("webhook", claim, wrong, "Change it on the App's page under Webhook.")
    if facts.intake == "poll":
        return holds("webhook", claim, "read from GitHub's own list (`intake: poll`)")
    codes = facts.hook.codes
    if not codes:
        return unseen("webhook", claim, Unseen("there was no delivery in three days", "time"))
    if not 200 <= codes[0] < 300:
        return fails(
            "webhook", claim, f"the newest delivery was answered with {codes[0] or 'nothing'}",
            "401: the secret here and there differ. 502 or nothing: GitHub does not reach the "
            "receiver; is it up, and its address public? Otherwise set PATCHWARRANT_INTAKE=poll.",
        )  # fmt: skip
    bad = sum(not 200 <= code < 300 for code in codes)
    return holds("webhook", claim, f"{len(codes) - bad} of the last {len(codes)} were taken")


def _miswired(hook: HookFacts) -> str:
    if not hook.url:
        return "the App has no webhook address, so nothing is recorded or sent"
    if hook.content_type != "json":
        return f"its content type is `{hook.content_type}`, and `application/json` is read"
    return "it does not verify TLS certificates" if hook.insecure else ""


def _owner(facts: Facts) -> Point:
    claim = "the owner is among those that the operator allows"
    if isinstance(facts.owners, Unseen):
        return unseen("owner", claim, facts.owners)
    if isinstance(facts.repository, Unseen):
        return unseen("owner", claim, facts.repository)
    if facts.repository.owner.casefold() in facts.owners:
        return holds("owner", claim)
    todo = f"Add {facts.repository.owner} to PATCHWARRANT_OWNERS and start the desk again."
    return fails("owner", claim, f"{facts.repository.owner} is not", todo)


def _repository(facts: Facts) -> Point:
    claim = "the repository can be written to"
    if isinstance(facts.repository, Unseen):
        return unseen("repository", claim, facts.repository)
    if facts.repository.archived:
        return fails("repository", claim, "it is archived", "Unarchive it.")
    return holds("repository", claim)


def _codeowners(facts: Facts) -> Point:
    claim = "code owners are named, so that reviews are asked of them"
    if isinstance(facts.files, Unseen):
        return unseen("codeowners", claim, facts.files)
    if facts.files.codeowners:
        return holds("codeowners", claim)
    todo = "Add .github/CODEOWNERS; name an owner for .github/ itself first."
    return fails("codeowners", claim, "there is no CODEOWNERS file", todo)


def _actions(facts: Facts) -> Point:
    claim = "a job's token can only read unless its workflow says otherwise"
    if isinstance(facts.actions, Unseen):
        return unseen("actions-token", claim, facts.actions)
    if not facts.actions.enabled:
        return holds("actions-token", claim, "GitHub Actions are switched off here")
    if facts.actions.writes:
        todo = "Settings → Actions → General → Workflow permissions → Read repository contents."
        return fails("actions-token", claim, "by default it may write", todo)
    return holds("actions-token", claim)


def _workflows(facts: Facts, judged: Judgement | None) -> Point:
    claim = "no workflow runs the model's code with secrets, write access or own machines"
    if judged is None:
        fact = facts.files if isinstance(facts.files, Unseen) else facts.repository
        assert isinstance(fact, Unseen)
        return unseen("workflows", claim, fact)
    if not isinstance(facts.actions, Unseen) and not facts.actions.enabled:
        return holds("workflows", claim, "GitHub Actions are switched off here")
    told = [
        f"{one.workflow}{f' ({one.job})' if one.job else ''} on {one.event}: {one.words}"
        for one in judged.reasons
    ]
    if not told:
        return holds("workflows", claim, f"{len(judged.started)} would run, without such rights")
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    open_ended = any(not one.holdable for one in judged.reasons)
    todo = (
        "Give each `permissions: {contents: read}`, keep secrets out of what runs on push and "
        "pull_request, or leave `agent/**` out of `branches`."
    )
    if open_ended:
        todo += " `pull_request_target` and `workflow_run` cannot be held back by the App at all."
    return fails("workflows", claim, "; ".join(told[:SHOWN]) + more, todo)


def _merging(facts: Facts, judged: Judgement | None) -> Point:
    claim = "a merge copies no skip-checks trailer into the default branch"
    if isinstance(facts.repository, Unseen):
        return unseen("merge-messages", claim, facts.repository)
    if judged is not None and not judged.privileged:
        return holds("merge-messages", claim, "no workflow is held back here, so there is none")
    merge = facts.repository.merge
    if merge is None or "allow_squash_merge" not in merge:
        why = "the merge settings were not shown"
        return unseen("merge-messages", claim, Unseen(why, ADMIN))
    ways = []
    if merge.get("allow_squash_merge") and (
        merge.get("squash_merge_commit_message") in (None, "COMMIT_MESSAGES")
    ):
        ways.append("a squash merge takes the commits' messages over")
    if merge.get("allow_rebase_merge"):
        ways.append("a rebase merge takes the commits over as they are")
    if not ways:
        return holds("merge-messages", claim)
    todo = (
        "Settings → General → Pull Requests: default the squash message to the pull request's "
        "title and description, and switch rebase merging off. Otherwise workflows on the default "
        "branch may not run after a merge."
    )
    return fails("merge-messages", claim, " and ".join(ways), todo)


def _drafts(facts: Facts) -> Point:
    claim = "draft pull requests are available"
    if isinstance(facts.repository, Unseen):
        return unseen("drafts", claim, facts.repository)
    if not facts.repository.private:
        return holds("drafts", claim, "the repository is public")
    why = "in private repositories they depend on the owner's plan, which GitHub does not tell"
    return unseen("drafts", claim, Unseen(why, "anybody who opens a draft pull request here once"))


def _configuration(facts: Facts) -> Iterator[Point]:
    valid = f"{CONFIG_PATH} is there and can be used"
    key = "the key that evidence is signed with is named in the repository"
    files = facts.files
    if isinstance(files, Unseen):
        yield unseen("configuration", valid, files)
        yield unseen("evidence-key", key, files)
        return
    if files.error:
        todo = "Mend it on the default branch; `patchwarrant config check` says the same offline."
        yield fails("configuration", valid, files.error, todo)
    elif not files.configured:
        todo = "`patchwarrant config init --write` makes a first one from what is recognised."
        yield fails("configuration", valid, "there is none: checks are guessed", todo)
    else:
        yield holds("configuration", valid)
    line = facts.signing or "ed25519:…"
    todo = f'Add `evidence: {{key: "{line}"}}` to {CONFIG_PATH}; others then verify without a file.'
    if not files.evidence_key:
        yield fails("evidence-key", key, "no key is named", todo)
    elif facts.signing and facts.signing != files.evidence_key:
        yield fails("evidence-key", key, "it names another key than this instance's", todo)
    else:
        yield holds("evidence-key", key)
