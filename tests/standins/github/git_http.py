"""Git smart HTTP over the real bare repositories, by git's own http-backend.

A raw ASGI endpoint: a streaming response would listen for the disconnect and eat the chunks of
the request body, and a push would hang for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tests.standins.github import auth
from tests.standins.github.faults import Receive, Scope, Send
from tests.standins.github.pull_acts import refs_moved
from tests.standins.github.refusals import Refusal, not_found
from tests.standins.github.state import Actor, Repo, Token
from tests.standins.github.world import World

Json = dict[str, Any]
SERVICES = ("git-upload-pack", "git-receive-pack")
PASSED = (
    ("git-protocol", "GIT_PROTOCOL"),
    ("content-encoding", "HTTP_CONTENT_ENCODING"),
    ("content-length", "CONTENT_LENGTH"),
)


class GitHttp:
    """`/{owner}/{repo}.git/{info/refs | git-upload-pack | git-receive-pack}`."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        token: Token | None = None
        try:
            token = self._token(request)
            repo = self._repo(request, token)
        except Refusal as refusal:
            self._note(request, token, refusal.status)
            answer = Response(refusal.message, refusal.status, refusal.headers, "text/plain")
            await answer(scope, receive, send)
            return
        await self._serve(request, repo, token, receive, send)

    def _token(self, request: Request) -> Token:
        """Basic x-access-token:<token>; without it the challenge."""
        challenge = {"WWW-Authenticate": 'Basic realm="GitHub"'}
        header = request.headers.get("authorization", "")
        if not header.lower().startswith("basic "):
            raise Refusal(401, "Authentication required", headers=challenge)
        try:
            return auth.token_of(self.world, header)
        except Refusal as refusal:
            if refusal.status == 401:
                said = "Invalid username or token."
                raise Refusal(401, said, headers=challenge) from refusal
            raise

    def _repo(self, request: Request, token: Token) -> Repo:
        rest = str(request.path_params["rest"])
        service = request.query_params.get("service", "") if rest == "info/refs" else rest
        if service not in SERVICES:
            raise not_found()
        repo = self.world.repo(request.path_params["owner"], request.path_params["repo"])
        if not auth.reaches(token, repo.id):
            raise Refusal(404, "Repository not found.")
        level = "write" if service == "git-receive-pack" else "read"
        if not auth.allows(token, (f"contents:{level}",)):
            raise Refusal(403, f"Permission to {repo.full_name} denied")
        if level == "write" and repo.archived:
            raise Refusal(403, "This repository was archived so it is read-only.")
        return repo

    def _environment(self, request: Request, repo: Repo, token: Token) -> dict[str, str]:
        workflows = auth.allows(token, ("workflows:write",))
        place = repo.store.path
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": str(place.parent),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{place.name}/{request.path_params['rest']}",
            "REQUEST_METHOD": request.method,
            "QUERY_STRING": request.url.query,
            "CONTENT_TYPE": request.headers.get("content-type", ""),
            "REMOTE_USER": "x-access-token",
            "REMOTE_ADDR": "127.0.0.1",
            "STANDIN_WORKFLOWS": "yes" if workflows else "no",
        }
        return env | {k: request.headers[h] for h, k in PASSED if h in request.headers}

    async def _serve(
        self, request: Request, repo: Repo, token: Token, receive: Receive, send: Send
    ) -> None:
        pushing = request.url.path.endswith("/git-receive-pack")
        before = repo.store.refs() if pushing else {}
        process = await asyncio.create_subprocess_exec(
            "git",
            "http-backend",
            env=self._environment(request, repo, token),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        feeder = asyncio.create_task(_feed(process, process.stdin, receive))
        status, headers = await _head(process.stdout)
        held = b""
        if pushing:
            # Whoever sees the end of a push also sees its effects and its webhooks queued.
            held = await process.stdout.read()
            app = token.installation.app
            refs_moved(self.world, repo, before, Actor(app.bot, app))
        self._note(request, token, status)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        while chunk := held or await process.stdout.read(65536):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            held = b""
        await feeder
        await process.wait()
        await send({"type": "http.response.body", "body": b""})

    def _note(self, request: Request, token: Token | None, status: int) -> None:
        self.world.log.append(
            {
                "method": request.method,
                "path": request.url.path,
                "query": request.url.query,
                "operation": "git",
                "token": None if token is None else token.id,
                "app": None,
                "permissions": None if token is None else token.permissions,
                "repositories": None if token is None else sorted(token.repositories),
                "body": None,
                "status": status,
            }
        )


async def _feed(
    process: asyncio.subprocess.Process, stdin: asyncio.StreamWriter, receive: Receive
) -> None:
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                process.kill()
                return
            stdin.write(message.get("body", b""))
            await stdin.drain()
            if not message.get("more_body"):
                return
    except (BrokenPipeError, ConnectionResetError):
        return  # the backend has heard enough; its answer says why
    finally:
        stdin.close()


async def _head(stdout: asyncio.StreamReader) -> tuple[int, list[tuple[bytes, bytes]]]:
    """The CGI header block."""
    status, headers = 200, []
    while line := (await stdout.readline()).strip():
        name, _, value = line.partition(b": ")
        if name.lower() == b"status":
            status = int(value.split()[0])
        else:
            headers.append((name.lower(), value))
    return status, headers
