"""`patchwarrant doctor OWNER/NAME`: what of the App's fence and of the repository's settings holds.

Read-only. Looks with the App's own key, and with an administrator's token where one is given by the
name of an environment variable. Exit code: 0 nothing that can be seen fails, 1 something fails, 2
wrong words or settings, or the repository could not be looked at.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from app.domain.doctor import ADMIN, OPERATOR, Facts, Point, Standing, Unseen, summary
from app.domain.doctor_rules import examine
from app.domain.errors import Fault, Halt
from app.domain.event import Repository
from app.domain.permissions import Phase, permissions
from app.domain.ports.tokens import Token
from worker import logs
from worker.attest.keys import line_of
from worker.attest.signing import KeyUnusable, Signer
from worker.attest.verify import public_key
from worker.config_file import config_of, load
from worker.desk.github import sight
from worker.desk.github.auth import App, KeyProblem, load_key
from worker.desk.github.http import Client
from worker.desk.pace import AlonePace
from worker.settings.doctor import DoctorSettings, doctor_settings
from worker.settings.door import Door
from worker.settings.environment import clock

NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,99})/([A-Za-z0-9._-]{1,100})")
ALLOWED = "good, and allowed to read administration, contents and metadata there"
REFUSED = f"an administrator whose token is {ALLOWED}; the given one was refused"
MARKS = {Standing.HOLDS: "holds", Standing.FAILS: "FAILS", Standing.UNSEEN: "cannot be seen"}


def main(door: Door, arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    named = NAME.fullmatch(given.repository)
    if named is None or not named[2].strip("."):
        return _no(f"{given.repository!r} is no OWNER/NAME")
    admin = door.environment.get(given.token_env, "").strip() if given.token_env else ""
    if given.token_env and not admin:
        return _no(f"{given.token_env} is empty. Export a token there that can read settings.")
    found = doctor_settings(door, needed=not admin)
    logs.configure([found.app_key.value, admin])
    try:
        app = _app(found)
    except KeyProblem as problem:
        return _no(str(problem))
    facts = gathered(app, found, named[1], named[2], admin)
    blind = _blind(facts, admin)
    points = examine(facts)
    if not blind or not isinstance(facts.app, Unseen):
        write = _json if given.json else _sentences
        sys.stdout.write(write(given.repository, points))
    if blind:
        return _no(f"{given.repository} could not be looked at ({found.api_url}): {blind}")
    return int(any(one.standing is Standing.FAILS for one in points))


def _blind(facts: Facts, admin: str) -> str:
    """Why nothing of the repository was seen, "" where it was, or where that is itself a finding:
    the App is not installed there, or suspended."""
    if not isinstance(facts.repository, Unseen):
        return ""
    place = facts.installation
    told = not isinstance(place, Unseen) and (place.id == 0 or place.suspended)
    if told and not admin:
        return ""
    todo = f" Is the name right, and the token in --token-env {ALLOWED}?" if admin else ""
    return f"{facts.repository.why}{todo}"


def unseen() -> Facts:
    """Nothing was looked at yet."""
    nothing = Unseen("it was not looked at")
    return Facts(
        app=nothing, hook=nothing, installation=nothing, repository=nothing, rulesets=nothing,
        branch=nothing, actions=nothing, files=nothing, owners=nothing,
    )  # fmt: skip


def around(app: App | None, found: DoctorSettings, owner: str, name: str) -> Facts:
    """What the App itself knows about its place in one repository; the rest is unseen."""
    none = sight.unseen_by_app()
    installation = (
        none
        if app is None
        else sight.seen(lambda: sight.installation_facts(app, owner, name), OPERATOR)
    )
    away = Unseen("the App is not installed here")
    if isinstance(installation, Unseen):
        away = Unseen(installation.why)  # what kept it from being asked, never a guess
    return Facts(
        app=none if app is None else sight.seen(lambda: sight.app_facts(app), OPERATOR),
        hook=none if app is None else sight.seen(lambda: sight.hook_facts(app), OPERATOR),
        installation=installation,
        repository=away,
        rulesets=away,
        branch=away,
        actions=Unseen("the App must not see it"),
        files=away,
        owners=frozenset(one.casefold() for one in found.owners)
        if found.owners is not None
        else Unseen("PATCHWARRANT_OWNERS is not set here", "whoever has the desk's settings"),
        intake=found.intake,
        signing=_signing(found.signing_key),
    )


def gathered(app: App | None, found: DoctorSettings, owner: str, name: str, admin: str) -> Facts:
    """All facts about one repository, with what is at hand."""
    facts = around(app, found, owner, name)
    installation = facts.installation
    if admin:
        token = Token(admin, Repository(0, owner, name), {}, 0, float("-inf"))
        with _client(token, Phase.INSPECT, found.api_url) as client:
            return looked(client, facts, admin=True)
    if app is None or isinstance(installation, Unseen) or not installation.id:
        return facts
    return _as_app(app, installation.id, facts, owner, name, found.api_url)


def _as_app(
    app: App, installation: int, facts: Facts, owner: str, name: str, api_url: str
) -> Facts:
    """With a token for this repository alone, of reads alone, that is revoked afterwards."""
    try:
        number = repository_id(app, installation, owner, name)
        token = app.mint(installation, number, permissions(Phase.DOCTOR))
    except (Fault, Halt) as no:
        away = Unseen(str(no), OPERATOR)
        return replace(facts, repository=away, rulesets=away, branch=away, files=away)
    try:
        with _client(token, Phase.DOCTOR, api_url) as client:
            return looked(client, facts, admin=False)
    finally:
        app.revoke(token.secret)


def repository_id(app: App, installation: int, owner: str, name: str) -> int:
    """The repository's number, by a token that can see names alone and is revoked at once."""
    path = f"/app/installations/{int(installation)}/access_tokens"
    asked = {"repositories": [name], "permissions": {"metadata": "read"}}
    data = app.call("POST", path, asked).data
    secret = str(data.get("token", "")) if isinstance(data, dict) else ""
    try:
        token = Token(secret, Repository(0, owner, name), {}, 0, app.clock())
        with _client(token, Phase.DOCTOR, app.api_url) as client:
            return sight.repository_facts(client)[0]
    finally:
        app.revoke(secret)


def looked(client: Client, facts: Facts, *, admin: bool) -> Facts:
    """`facts` with all that this client may see of its repository."""
    who = REFUSED if admin else ADMIN
    pair = sight.seen(lambda: sight.repository_facts(client), who)
    if isinstance(pair, Unseen):
        dark = replace(facts, repository=pair, rulesets=pair, branch=pair, files=pair)
        return replace(dark, actions=pair) if admin else dark
    told = pair[1]
    branch = told.default_branch
    return replace(
        facts,
        repository=told,
        rulesets=sight.seen(lambda: sight.ruleset_facts(client, own=not admin), who),
        branch=sight.seen(lambda: sight.branch_facts(client, branch, admin=admin), who),
        actions=sight.seen(lambda: sight.actions_facts(client), who) if admin else facts.actions,
        files=sight.seen(lambda: sight.file_facts(client, branch, config_of, load), who),
    )


@contextmanager
def _client(token: Token, phase: Phase, api_url: str) -> Iterator[Client]:
    pace = AlonePace(0, time.monotonic, time.sleep)
    with Client(token, phase, "", api_url, pace) as client:
        yield client


def _app(found: DoctorSettings) -> App | None:
    if not found.app_id or not found.app_key.value:
        return None
    key = load_key(found.app_key.value)
    now = clock
    return App(found.app_id, key, found.api_url, now, time.monotonic, time.sleep)


def _signing(file: Path) -> str:
    """The line of this instance's public key, "" where the key is not at hand; none is made."""
    if not file.is_file():
        return ""
    try:
        return line_of(public_key(Signer.load(file).public_pem))
    except (KeyUnusable, ValueError, OSError):
        return ""


def _sentences(repository: str, points: Sequence[Point]) -> str:
    lines = [f"{repository}:"]
    for one in points:
        lines.append(f"  {MARKS[one.standing]:<15}{one.claim}")
        if one.found and one.standing is not Standing.HOLDS:
            lines.append(f"{'':<17}{one.found}")
        if one.todo:
            lines.append(f"{'':<17}→ {one.todo}")
    wanted = {str(one.ruleset["name"]): one.ruleset for one in points if one.ruleset is not None}
    for name, ruleset in wanted.items():
        lines.append(f"\nThe ruleset to import, {name!r}:")
        lines.append(json.dumps(ruleset, indent=2))
    tally = {s: sum(one.standing is s for one in points) for s in Standing}
    lines.append(
        f"\n{tally[Standing.HOLDS]} hold, {tally[Standing.FAILS]} fail, "
        f"{tally[Standing.UNSEEN]} cannot be seen."
    )
    return "\n".join(lines) + "\n"


def _json(repository: str, points: Sequence[Point]) -> str:
    told = {"repository": repository, "summary": summary(points)}
    return json.dumps(told | {"points": [asdict(one) for one in points]}, indent=2) + "\n"


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="patchwarrant doctor",
        description="Say what of the App's fence and of a repository's settings holds, what fails "
        "and what to do about it, and what cannot be seen and by whom it could. Nothing is "
        "changed.",
        epilog="Needs PATCHWARRANT_APP_ID and PATCHWARRANT_APP_KEY_FILE, or --token-env. Exit "
        "code: 0 nothing fails, 1 something does, 2 the repository could not be looked at.",
    )
    made.add_argument("repository", metavar="OWNER/NAME")
    made.add_argument("--json", action="store_true", help="one JSON object")
    made.add_argument(
        "--token-env", default="", metavar="NAME",
        help="the environment variable that holds an administrator's own token (reads alone: "
        "administration, contents, metadata); it shows what the App must not see",
    )  # fmt: skip
    return made


def _no(why: str) -> int:
    sys.stderr.write(f"patchwarrant doctor: {why}\n")
    return 2
