"""The typed client of the control API, for a stand-in that already listens."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

Json = dict[str, Any]
PATIENCE = 90.0


class StandinRefused(Exception):
    """The control API said no; the message says why."""


@dataclass(frozen=True)
class AppKeys:
    """A registered app: its id, its bot's login, its private key as PEM, its webhook secret."""

    app_id: int
    slug: str
    bot: str
    private_key: str
    webhook_secret: str


def new_key() -> tuple[str, str]:
    """(private, public) RSA PEM texts."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


class Control:
    """The control API of a stand-in that already listens at `url`.

    Repositories are named "owner/name"; people by login, made on first mention. What a person
    does here produces the same webhooks as on GitHub.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.git_url = url
        self._http = httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE)

    def act(self, act: str, /, **told: Any) -> Any:
        """Any act by its name. Raises StandinRefused."""
        answer = self._http.post(f"/_/{act}", json=told)
        if answer.status_code != 200:
            raise StandinRefused(f"{act}: {answer.status_code} {answer.text}")
        return answer.json()

    def close(self) -> None:
        self._http.close()

    # --- setting up

    def create_app(
        self,
        slug: str = "patchwarrant",
        *,
        permissions: dict[str, str],
        webhook_url: str | None = None,
        webhook_secret: str = "",
        app_id: int | None = None,
        owner: str = "operator",
        events: list[str] | None = None,
        keys: tuple[str, str] | None = None,
    ) -> AppKeys:
        """Register an app; without `keys` (private, public) a fresh RSA key is made."""
        private, public = keys or new_key()
        made = self.act(
            "create_app",
            slug=slug,
            public_key=public,
            app_id=app_id,
            owner=owner,
            webhook_url=webhook_url,
            webhook_secret=webhook_secret,
            permissions=permissions,
            events=events,
        )
        return AppKeys(made["id"], slug, made["bot"], private, webhook_secret)

    def set_webhook(self, app: str, url: str | None, secret: str | None = None) -> None:
        self.act("set_webhook", app=app, url=url, secret=secret)

    def offer_manifest(self, app: str, pem: str) -> str:
        """The one-time code for POST /app-manifests/{code}/conversions."""
        return str(self.act("offer_manifest", app=app, pem=pem)["code"])

    def create_user(self, login: str) -> int:
        return int(self.act("create_account", login=login)["id"])

    def create_organisation(self, login: str) -> int:
        return int(self.act("create_account", login=login, kind="Organization")["id"])

    def create_repo(
        self,
        full_name: str,
        *,
        source: Path | None = None,
        private: bool = True,
        default_branch: str | None = None,
        drafts: bool = True,
    ) -> Json:
        """{"id", "full_name", "default_branch", "head", "path"}; empty without a source."""
        made: Json = self.act(
            "create_repo",
            full_name=full_name,
            source=None if source is None else str(source),
            private=private,
            default_branch=default_branch,
            drafts=drafts,
        )
        return made

    def configure_repo(
        self,
        repo: str,
        *,
        drafts: bool | None = None,
        archived: bool | None = None,
        private: bool | None = None,
        rename: str | None = None,
    ) -> None:
        self.act(
            "configure_repo",
            repo=repo,
            drafts=drafts,
            archived=archived,
            private=private,
            rename=rename,
        )

    def add_ruleset(self, repo: str, ruleset: Json) -> int:
        return int(self.act("add_ruleset", repo=repo, ruleset=ruleset)["id"])

    def set_role(self, repo: str, login: str, role: str) -> None:
        """admin, maintain, write, triage, read or none."""
        self.act("set_role", repo=repo, login=login, role=role)

    def install(
        self,
        app: str,
        account: str,
        repositories: list[str],
        permissions: dict[str, str] | None = None,
    ) -> int:
        """The installation's id; permissions default to those of the app."""
        told = {"app": app, "account": account, "repositories": repositories}
        return int(self.act("install", **told, permissions=permissions)["id"])

    def suspend(self, installation: int, suspended: bool = True, silent: bool = False) -> None:
        self.act(
            "change_installation", installation=installation, suspended=suspended, silent=silent
        )

    def change_installation(
        self,
        installation: int,
        *,
        permissions: dict[str, str] | None = None,
        add: list[str] | None = None,
        remove: list[str] | None = None,
        silent: bool = False,
    ) -> None:
        self.act(
            "change_installation",
            installation=installation,
            permissions=permissions,
            add=add,
            remove=remove,
            silent=silent,
        )

    def uninstall(self, installation: int, silent: bool = False) -> None:
        self.act("uninstall", installation=installation, silent=silent)

    def extra_grant(
        self,
        installation: int,
        *,
        permissions: dict[str, str] | None = None,
        repositories: list[str] | None = None,
    ) -> None:
        """The next token gets this beyond what it asked for."""
        self.act(
            "extra_grant",
            installation=installation,
            permissions=permissions,
            repositories=repositories,
        )

    # --- what people do

    def open_issue(
        self,
        repo: str,
        user: str,
        title: str,
        body: str | None = None,
        labels: list[str] | None = None,
    ) -> int:
        told = {"repo": repo, "user": user, "title": title, "body": body, "labels": labels}
        return int(self.act("open_issue", **told))

    def edit_issue(
        self, repo: str, number: int, user: str, title: str | None = None, body: str | None = None
    ) -> None:
        self.act("edit_issue", repo=repo, number=number, user=user, title=title, body=body)

    def close_issue(self, repo: str, number: int, user: str) -> None:
        """Pull requests too."""
        self.act("close_issue", repo=repo, number=number, user=user)

    def reopen_issue(self, repo: str, number: int, user: str) -> None:
        self.act("reopen_issue", repo=repo, number=number, user=user)

    def take_away(self, repo: str, number: int, user: str, action: str = "deleted") -> None:
        """The issue is deleted or transferred."""
        self.act("take_away", repo=repo, number=number, user=user, action=action)

    def lock_issue(self, repo: str, number: int, user: str, locked: bool = True) -> None:
        self.act("lock_issue", repo=repo, number=number, user=user, locked=locked)

    def add_label(self, repo: str, number: int, user: str, name: str) -> None:
        self.act("add_label", repo=repo, number=number, user=user, name=name)

    def remove_label(self, repo: str, number: int, user: str, name: str) -> None:
        self.act("remove_label", repo=repo, number=number, user=user, name=name)

    def comment(self, repo: str, number: int, user: str, body: str) -> int:
        return int(self.act("comment", repo=repo, number=number, user=user, body=body))

    def edit_comment(self, repo: str, comment_id: int, user: str, body: str) -> None:
        self.act("edit_comment", repo=repo, comment_id=comment_id, user=user, body=body)

    def delete_comment(self, repo: str, comment_id: int, user: str) -> None:
        self.act("delete_comment", repo=repo, comment_id=comment_id, user=user)

    def push(
        self,
        repo: str,
        user: str,
        branch: str,
        files: dict[str, Any],
        message: str = "A change",
        start: str | None = None,
    ) -> str:
        """Commit files (text, {"base64", "mode"} or None = delete) to a branch; the commit's id."""
        return str(
            self.act(
                "push",
                repo=repo,
                user=user,
                branch=branch,
                files=files,
                message=message,
                start=start,
            )
        )

    def move_branch(self, repo: str, user: str, branch: str, sha: str | None) -> None:
        """Force a branch to a commit; None deletes it."""
        self.act("move_branch", repo=repo, user=user, branch=branch, sha=sha)

    def open_pull(
        self,
        repo: str,
        user: str,
        head: str,
        title: str,
        *,
        base: str | None = None,
        body: str | None = None,
        draft: bool = False,
        fork: str | None = None,
    ) -> int:
        """`fork` is the repository that the head branch is in, where it is another one."""
        told = {"repo": repo, "user": user, "head": head, "title": title, "base": base}
        return int(self.act("open_pull", **told, body=body, draft=draft, fork=fork))

    def set_draft(self, repo: str, number: int, user: str, draft: bool) -> None:
        self.act("set_draft", repo=repo, number=number, user=user, draft=draft)

    def unrequest_review(self, repo: str, number: int, user: str, login: str) -> None:
        """A person takes back that `login` was asked for a review."""
        self.act("unrequest_review", repo=repo, number=number, user=user, login=login)

    def pull_history(self, repo: str, number: int) -> list[Json]:
        """What was done to a pull request's draft and whom a review was asked of, oldest first:
        {event, by, whom}."""
        found: list[Json] = self.act("pull_history", repo=repo, number=number)
        return found

    def review(
        self,
        repo: str,
        number: int,
        user: str,
        event: str,
        body: str = "",
        commit_id: str | None = None,
        comments: list[Json] | None = None,
    ) -> int:
        """APPROVE, REQUEST_CHANGES or COMMENT; comments are {path, body, line, side}."""
        told = {"repo": repo, "number": number, "user": user, "event": event, "body": body}
        return int(self.act("review", **told, commit_id=commit_id, comments=comments))

    def dismiss_review(self, repo: str, number: int, user: str, review: int) -> None:
        self.act("dismiss_review", repo=repo, number=number, user=user, review=review)

    def rebase_pull(self, repo: str, number: int, user: str, base: str) -> None:
        """Let a pull request go into another branch."""
        self.act("rebase_pull", repo=repo, number=number, user=user, base=base)

    def reply(self, repo: str, number: int, user: str, comment_id: int, body: str) -> int:
        """A person's reply in a review thread; the comment's id."""
        told = {"repo": repo, "number": number, "user": user, "comment_id": comment_id}
        return int(self.act("reply", **told, body=body))

    def merge(self, repo: str, number: int, user: str, method: str = "merge") -> str:
        return str(self.act("merge", repo=repo, number=number, user=user, method=method))

    def update_branch(self, repo: str, number: int, user: str) -> str:
        """A person presses "Update branch" on a pull request; the merge commit's id."""
        return str(self.act("update_branch", repo=repo, number=number, user=user))

    def set_status(self, repo: str, user: str, sha: str, context: str, state: str) -> int:
        told = {"repo": repo, "user": user, "sha": sha, "context": context, "state": state}
        return int(self.act("set_status", **told))

    def add_check_run(
        self,
        repo: str,
        app: str,
        sha: str,
        name: str,
        conclusion: str | None = None,
        output: Json | None = None,
    ) -> int:
        """`output` is {title, summary, text, annotations}, as an app gives it."""
        told = {"repo": repo, "app": app, "sha": sha, "name": name, "conclusion": conclusion}
        return int(self.act("add_check_run", **told, output=output))

    def press(self, repo: str, check_run: int, user: str, action: str | None = None) -> None:
        """Re-run a check run, or press one of its buttons."""
        self.act("press", repo=repo, check_run=check_run, user=user, action=action)

    # --- looking

    def issue(self, repo: str, number: int) -> Json:
        shown: Json = self.act("get_issue", repo=repo, number=number)
        return shown

    def comments(self, repo: str, number: int) -> list[Json]:
        shown: list[Json] = self.act("get_comments", repo=repo, number=number)
        return shown

    def pull(self, repo: str, number: int) -> Json:
        shown: Json = self.act("get_pull", repo=repo, number=number)
        return shown

    def review_comments(self, repo: str, number: int) -> list[Json]:
        """All comments on a pull request's diff, oldest first."""
        shown: list[Json] = self.act("get_review_comments", repo=repo, number=number)
        return shown

    def pulls(self, repo: str) -> list[Json]:
        """Open and closed, oldest first."""
        shown: list[Json] = self.act("get_pulls", repo=repo)
        return shown

    def commit(self, repo: str, sha: str) -> Json:
        shown: Json = self.act("get_commit", repo=repo, sha=sha)
        return shown

    def check_runs(self, repo: str, sha: str) -> list[Json]:
        shown: list[Json] = self.act("get_check_runs", repo=repo, sha=sha)
        return shown

    def refs(self, repo: str) -> dict[str, str]:
        shown: dict[str, str] = self.act("get_refs", repo=repo)
        return shown

    def log(self, since: int = 0) -> list[Json]:
        """Every request so far: method, path, token (its id), permissions, status, body, fault."""
        shown: list[Json] = self.act("log", since=since)
        return shown

    def keep_answers(self) -> None:
        """From now on every line of the log has `answer` too, until the next reset."""
        self.act("keep_answers")

    def clear_log(self) -> None:
        self.act("clear_log")

    def tokens(self) -> list[Json]:
        """{"id", "permissions", "repositories", "expires_at", "revoked", "alive"} each."""
        shown: list[Json] = self.act("tokens")
        return shown

    def expire_tokens(self) -> int:
        return int(self.act("expire_tokens"))

    def deliveries(self, since: int = 0) -> list[Json]:
        """Every webhook but the first `since`, with event, action, guid, status_code, payload
        (text), oldest first."""
        shown: list[Json] = self.act("deliveries", since=since)
        return shown

    def wait_delivered(self, seconds: float = PATIENCE) -> None:
        """Until no webhook waits. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while not self.act("idle"):
            if time.monotonic() > end:
                raise TimeoutError("webhooks still wait; does the receiver answer?")
            time.sleep(0.02)

    # --- faults

    def fault(
        self,
        kind: str,
        path: str,
        *,
        method: str = "*",
        nth: int = 1,
        times: int = 1,
        status: int | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
        seconds: float = 0.0,
        retry_after: int | None = None,
        reads: int = 1,
    ) -> int:
        """A rule for requests whose path matches the regex `path`.

        kind: status, drop, do_then_drop, do_then_status (502), delay, late (done at once,
        answered later), flip, rate_primary,
        rate_secondary, read_lag. `nth` matching request is the first hit, `times` are (0 = all).
        """
        return int(
            self.act(
                "add_fault",
                kind=kind,
                path=path,
                method=method,
                nth=nth,
                times=times,
                status=status,
                body=body,
                headers=headers,
                seconds=seconds,
                retry_after=retry_after,
                reads=reads,
            )["id"]
        )

    def faults(self) -> list[Json]:
        """{"id", "kind", "path", "seen", "fired"} each."""
        shown: list[Json] = self.act("faults")
        return shown

    def clear_faults(self) -> None:
        self.act("clear_faults")

    def reset(self) -> None:
        self.act("reset")
