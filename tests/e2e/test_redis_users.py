"""A whole run with a Redis user for each process: nothing that the product does is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.evidence import Result
from tests.e2e.conftest import FIX, OWNER, Town
from tests.redis_users import OPTIONAL, with_passwords
from tests.stack import ROLES, stack

pytestmark = pytest.mark.docker


def test_a_run_from_label_to_pull_request_as_four_users(tmp_path: Path) -> None:
    extra: dict[str, dict[str, str]] = {role: {} for role in ROLES}
    with stack(OWNER, extra=extra, roles=()) as up, up.redis.client() as root:
        for line in with_passwords().splitlines()[1:]:  # the test itself is the one without a name
            root.execute_command("ACL", "SETUSER", *line.split()[1:])
        for role in ("receiver", "desk", "runner"):
            address = f"unix://{role}@{up.redis.socket}?password=secret-{role}&db=0"
            path = up.secret(f"redis-{role}", address)
            extra[role] |= {"PATCHWARRANT_REDIS_URL_FILE": path, "PATCHWARRANT_REDIS_URL": ""}
        up.hub.create_organisation(OWNER)
        up.installation = up.hub.install("patchwarrant", OWNER, [])
        for role in ROLES:
            up.start(role)
        up.await_ready()
        town = Town(up, tmp_path)
        name = town.repository()
        town.patches(name, FIX)
        run = town.end(name, town.ask(name))
        assert run.verdict is not None and run.verdict.result is Result.PASSED
        denied = {(row["username"], row["object"]) for row in root.acl_log()}
        assert {one for one in denied if one[1] not in OPTIONAL} == set()
