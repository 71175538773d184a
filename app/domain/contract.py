"""The contract of a run: request, criteria, scope, limits and base, fixed when it is admitted."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.budget import Limits
from app.domain.commits import BranchCommit
from app.domain.repo_config import RepoConfig
from app.domain.revision import Revision


@dataclass(frozen=True)
class Request:
    """What was asked, as signed at the trigger and adopted by the labelling writer.

    `title` and `body` are cleaned of hidden text (`hidden` counts the characters removed);
    `digest` is the SHA-256 of the original title, a newline and the original body.
    """

    title: str
    body: str
    digest: str
    hidden: int
    author: str
    adopted_by: str
    updated_at: str
    said: str = ""  # what the adopting person wrote with the command, part of `body`
    adopted: tuple[str, ...] = ()  # links of comments that this person adopted, part of `body`
    edited: str = ""  # "12 s before the trigger by mona", where the issue's text was edited


def hidden_words(request: Request, issue: int) -> tuple[str, ...]:
    """How much of the request nobody sees, and where both can be seen: what is left of it, and what
    was written. () where nothing was hidden."""
    if not request.hidden:
        return ()
    many = "1 character" if request.hidden == 1 else f"{request.hidden:,} characters"
    were = "was" if request.hidden == 1 else "were"
    beside = " and of the comments taken with it" if request.adopted or request.said else ""
    return (
        f"{many} of hidden text {were} removed before anything read the request. What is left "
        "stands under “What was asked”; what was written shows in the source of "
        f"#{issue}{beside} (“Edit” or “Quote reply” open it).",
    )


@dataclass(frozen=True)
class Criterion:
    """One acceptance criterion, or a reproduction, as found in the request."""

    text: str
    source: str  # checklist | heading | expected-actual | traceback | reproduction | failing-test


@dataclass(frozen=True)
class Contract:
    """The snapshot that a run is held to; nothing in the run can widen it.

    `base_commit` comes from the refs API; `config_source` is the blob id of the repository's
    configuration file at that commit, or "" when there is none. `large`: the task is of class large
    (B4), so `limits` are that class's; `larger` are these for a task whose plan may still make it
    one, None where it may not.
    """

    request: Request
    criteria: tuple[Criterion, ...]
    base_branch: str
    base_commit: str
    config: RepoConfig
    config_source: str
    limits: Limits
    plan_approval: bool = False  # nothing is edited before a person approved the plan
    head: str = ""  # the commit of a pull request that is examined or revised
    revision: Revision | None = None  # what is asked of our own pull request (kind revise)
    fork: str = ""  # where that head parted from the base (kind update)
    others: tuple[BranchCommit, ...] = ()  # the branch's commits that this app did not make
    large: bool = False
    larger: Limits | None = None
    tail: str = ""  # of the branch's name, settled here for the whole Change
    before: str = ""  # the commit that the evidence before this one is about
    rewritten: bool = False  # that commit is no part of the branch's history any more

    def held_to(self, files: int) -> Limits:
        """The limits of a run whose plan names so many files: with more than `limits` have, those
        of class large, where its plan may make it one."""
        return self.larger if self.larger and files > self.limits.files else self.limits
