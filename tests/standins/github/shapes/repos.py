"""Repositories as GitHub shows them, small and whole."""

from __future__ import annotations

from typing import Any

from tests.standins.github.shapes.accounts import node, user
from tests.standins.github.state import Repo
from tests.standins.github.world import World, stamp

Json = dict[str, Any]
LINKS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def api_url(world: World, repo: Repo) -> str:
    return f"{world.url}/repos/{repo.full_name}"


def page_url(world: World, repo: Repo) -> str:
    return f"{world.url}/{repo.full_name}"


def minimal(world: World, repo: Repo) -> Json:
    """The part that every embedded repository has."""
    api = api_url(world, repo)
    return {
        "id": repo.id,
        "node_id": node("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": user(world, repo.owner),
        "html_url": page_url(world, repo),
        "description": None,
        "fork": False,
        "url": api,
    } | {name: api + tail for name, tail in LINKS.items()}


def full(world: World, repo: Repo) -> Json:
    """The repository as in pull requests and webhooks."""
    html = page_url(world, repo)
    host = world.url.partition("://")[2].partition(":")[0]
    open_issues = sum(issue.state == "open" for issue in repo.issues.values())
    return minimal(world, repo) | {
        "clone_url": f"{html}.git",
        "git_url": f"git://{host}/{repo.full_name}.git",
        "ssh_url": f"git@{host}:{repo.full_name}.git",
        "svn_url": html,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "default_branch": repo.default_branch,
        "created_at": stamp(repo.created_at),
        "updated_at": stamp(repo.pushed_at),
        "pushed_at": stamp(repo.pushed_at),
        "size": 1,
        "forks": 0,
        "forks_count": 0,
        "open_issues": open_issues,
        "open_issues_count": open_issues,
        "stargazers_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "has_downloads": True,
        "has_issues": True,
        "has_projects": False,
        "has_wiki": False,
        "has_pages": False,
        "has_discussions": False,
        "archived": repo.archived,
        "disabled": False,
        "is_template": False,
        "topics": [],
        "visibility": "private" if repo.private else "public",
        "allow_forking": True,
        "web_commit_signoff_required": False,
    }


def detailed(world: World, repo: Repo) -> Json:
    """The answer of GET /repos/{owner}/{repo}."""
    return full(world, repo) | {
        "network_count": 0,
        "subscribers_count": 0,
        "allow_squash_merge": True,
        "allow_merge_commit": True,
        "allow_rebase_merge": True,
        "allow_auto_merge": False,
        "delete_branch_on_merge": False,
        "allow_update_branch": False,
    }
