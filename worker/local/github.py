"""What GitHub says about a pull request and its commits, by plain reads of its REST interface."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from app.domain.report import attached_in, statements_in
from worker.local.repository import NotFound

CHECK = "patchwarrant/evidence"
API = "https://api.github.com"
PAGES = 5  # of check runs on one commit
TIMEOUT = httpx.Timeout(30, connect=5)
_PULL = re.compile(r"/([A-Za-z0-9_.-]{1,100})/([A-Za-z0-9_.-]{1,100})/pull/([0-9]{1,9})(?:/.*)?")
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Away(Exception):
    """GitHub could not be asked; the text says what to do."""


@dataclass(frozen=True)
class Pull:
    """A pull request as it is now."""

    head: str
    base_branch: str
    default_branch: str
    body: str
    clone_url: str
    repository: int = 0
    full_name: str = ""
    merged_as: str = ""  # the commit that the base branch got by the merge, "" before it


class GitHub:
    """Reads one repository. `address` is the pull request's page; `api` "" finds it from there.

    Raises `NotFound` for an address that is none. The token goes to github.com's API, or to the
    `api` that the reader named: never to a host that only the address names."""

    def __init__(self, address: str, api: str, token: str) -> None:
        parts = urlsplit(address)
        found = _PULL.fullmatch(parts.path)
        if found is None or parts.scheme not in ("https", "http") or parts.username:
            raise NotFound(f"{address!r} is no pull request: https://HOST/OWNER/NAME/pull/NUMBER.")
        owner, name, number = found.groups()
        self.number = int(number)
        base = api or _api_of(parts.scheme, parts.netloc)
        known = bool(api) or base == API
        self._token = token if known else ""
        self.name = f"{urlsplit(base).hostname} ({owner}/{name})"
        self._repository = f"/repos/{owner}/{name}"
        self._http = httpx.Client(
            base_url=base,
            timeout=TIMEOUT,
            follow_redirects=False,
            trust_env=False,
            headers={
                "Accept": "application/vnd.github+json",
                "User-Agent": "patchwarrant-verify",
                **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
            },
        )

    def close(self) -> None:
        self._http.close()

    def token_for(self, address: str) -> str:
        """The token where a git address lies on the API's own host, else none: the address is what
        a server said."""
        wanted, own = urlsplit(address), urlsplit(str(self._http.base_url))
        hosts = {own.netloc, own.netloc.removeprefix("api.")}
        return self._token if wanted.scheme == own.scheme and wanted.netloc in hosts else ""

    def pull(self) -> Pull:
        data = self._get(f"/pulls/{self.number}")
        about = self._get("")
        if data is None or about is None:
            raise NotFound(
                f"There is no pull request {self.number} in {self.name}, or only for those who "
                "are logged in: name a file with a token that can read in "
                "PATCHWARRANT_GITHUB_TOKEN_FILE."
            )
        return Pull(
            head=_text(data, "head", "sha"),
            base_branch=_text(data, "base", "ref"),
            default_branch=_text(about, "default_branch"),
            body=_text(data, "body"),
            clone_url=_text(about, "clone_url"),
            repository=about["id"] if isinstance(about.get("id"), int) else 0,
            full_name=_text(about, "full_name"),
            merged_as=_text(data, "merge_commit_sha") if data.get("merged") is True else "",
        )

    def evidence(self, commit: str, branch: str) -> tuple[tuple[str, ...], str]:
        """(the lines of signed statements, the attached bundle's text) of the newest check run on
        `commit` that shows signed statements, else ((), ""). One commit can be the head of several
        pull requests: evidence that names `branch` goes before any other."""
        found: list[dict[str, Any]] = []
        for page in range(1, PAGES + 1):
            data = self._get(
                f"/commits/{_id(commit)}/check-runs?check_name={quote(CHECK, safe='')}"
                f"&per_page=100&page={page}"
            )
            runs = (data or {}).get("check_runs") or []
            found += [one for one in runs if one.get("name") == CHECK]
            if len(runs) < 100:
                break
        found.sort(key=lambda one: one.get("id") or 0, reverse=True)
        texts = [_text(one, "output", "text") for one in found]
        shown = [(lines, attached_in(text)) for text in texts if (lines := statements_in(text))]
        other = shown[0] if shown else ((), "")
        return next((one for one in shown if _branch_of(one[0]) == branch), other)

    def tree_of(self, commit: str) -> str:
        data = self._get(f"/git/commits/{_id(commit)}")
        return _text(data, "tree", "sha") if data and data.get("sha") == commit else ""

    def fault(self, commit: str) -> str:
        """GitHub checks its own objects; who wants to see for himself names a clone (--repo)."""
        return ""

    def parents(self, commit: str) -> tuple[str, ...] | None:
        data = self._get(f"/git/commits/{_id(commit)}")
        return None if data is None else tuple(_text(one, "sha") for one in data["parents"])

    def contains(self, commit: str, branch: str) -> bool | None:
        """Whether `commit` is in the history of `branch`."""
        data = self._get(f"/compare/{_id(commit)}...{quote(branch, safe='')}")
        if data is None:
            return None
        return data.get("status") in ("ahead", "identical")

    def parted(self, commit: str, branch: str) -> str:
        """Where `commit` parted from `branch` (or from a commit of that name), "" where that cannot
        be told: one of them is not there, or the branch has the commit already."""
        data = self._get(f"/compare/{quote(branch, safe='')}...{_id(commit)}?per_page=1")
        found = _text(data, "merge_base_commit", "sha") if data else ""
        return "" if found == commit else found

    def file(self, path: str, commit: str) -> bytes | None:
        data = self._get(f"/contents/{quote(path)}?ref={_id(commit)}")
        if data is None or data.get("type") != "file" or data.get("encoding") != "base64":
            return None
        try:
            return base64.b64decode(_text(data, "content"))
        except binascii.Error:
            return None

    def last_change(self, path: str, commit: str) -> str:
        """Who changed a file last before `commit`, and when; "" where that cannot be said."""
        try:
            found = self._get(f"/commits?path={quote(path)}&sha={_id(commit)}&per_page=1")
        except Away:
            return ""  # nothing rests on it
        if not isinstance(found, list) or not found:
            return ""
        one = found[0]
        day = _text(one, "commit", "author", "date")[:10]
        name = _text(one, "commit", "author", "name")
        return f"commit {_text(one, 'sha')[:12]} by {name} on {day}"

    def _get(self, path: str) -> Any:
        """The answer's JSON, None for what is not there."""
        try:
            answer = self._http.get(f"{self._repository}{path}")
        except httpx.HTTPError as error:
            raise Away(f"{self._http.base_url.host} cannot be reached: {error}") from None
        if answer.status_code in (404, 409, 422):
            return None
        if answer.status_code != 200:
            hint = "; a token that can read helps (PATCHWARRANT_GITHUB_TOKEN_FILE)"
            why = answer.status_code in (401, 403, 429)
            raise Away(f"{self.name} answers {answer.status_code}{hint if why else ''}.")
        try:
            return answer.json()
        except ValueError:
            raise Away(f"{self.name} answers what is no JSON.") from None


def _api_of(scheme: str, place: str) -> str:
    return API if (scheme, place) == ("https", "github.com") else f"{scheme}://{place}/api/v3"


def _branch_of(lines: tuple[str, ...]) -> str:
    """The base branch that signed statements claim, before anything is verified; "" for none."""
    for line in lines:
        try:
            statement = json.loads(base64.b64decode(json.loads(line)["payload"]))
            branch = statement["predicate"]["base"]["branch"]
        except (KeyError, TypeError, ValueError, RecursionError):
            continue
        if isinstance(branch, str):
            return branch
    return ""


def _id(commit: str) -> str:
    if not _OBJECT.fullmatch(commit):
        raise NotFound(f"{commit[:80]!r} is no commit id.")
    return commit


def _text(value: Any, *names: str) -> str:
    """A text deep inside, "" where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
