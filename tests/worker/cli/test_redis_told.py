"""A Redis that turns us away or is not there: every role and command says so in the same words."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from app.domain.redis_faults import GRANTS, NAMELESS, NEEDLESS, REACH, REFUSED, refuses, told
from app.feeder import Feeder
from app.inbox import Away, Inbox
from app.inbox import client as receivers
from tests.redis_server import DURABLE, redis_server
from tests.redis_users import Users, users
from worker import __main__ as program
from worker.desk.github.auth import load_key
from worker.store.sealing import new_secret

SECRET = "hunter2-not-to-be-shown"
RUN = "0123456789ab"
WORDS = (
    ["desk"],
    ["runner"],
    ["status"],
    ["pause"],
    ["resume"],
    ["cancel", RUN],
    ["watch", RUN],
    ["evidence", RUN],
    ["replay", RUN],
)


@dataclass(frozen=True)
class Fault:
    """An address, what is said about it, and the exit code of what would have begun."""

    url: str
    says: str
    code: int


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Fault]]:
    with users(tmp_path_factory.mktemp("acl")) as made:
        socket = made.server.socket
        yield {
            "wrong password": Fault(f"unix://desk@{socket}?password={SECRET}&db=0", REFUSED, 2),
            "no such user": Fault(f"unix://nobody@{socket}?password={SECRET}&db=0", REFUSED, 2),
            "no user": Fault(f"unix://{socket}?db=0", "", 2),
            "nothing there": Fault(f"redis://desk:{SECRET}@127.0.0.1:1/0", REACH, 1),
            "no such host": Fault(f"redis://desk:{SECRET}@redis.invalid:6379/0", REACH, 1),
        }


KINDS = (
    "wrong password",
    "no such user",
    "no user",
    "nothing there",
    "no such host",
)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, app_key: str) -> pytest.MonkeyPatch:
    """All settings of all roles but the address of Redis; nothing of the machine's own."""
    for name in list(os.environ):
        if name.startswith(("PATCHWARRANT_", "ANTHROPIC_", "GITHUB_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATCHWARRANT_STATE", str(tmp_path))
    return monkeypatch


@pytest.fixture(scope="module")
def app_key() -> str:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    load_key(text)
    return text


def settings_of(word: str, app_key: str) -> dict[str, str]:
    if word == "desk":
        return {
            "PATCHWARRANT_APP_ID": "1",
            "PATCHWARRANT_APP_KEY": app_key,
            "PATCHWARRANT_SEAL": new_secret(),
            "PATCHWARRANT_OWNERS": "acme",
        }
    return {"ANTHROPIC_API_KEY": "sk-ant-none"} if word == "runner" else {}


CASES = [
    (kind, words)
    for kind in KINDS
    for words in WORDS
    if kind in ("wrong password", "no user") or words[0] in ("desk", "runner", "status", "replay")
]


@pytest.mark.parametrize(("kind", "words"), CASES)
def test_a_role_or_command_says_what_is_wrong_and_what_to_do(
    kind: str,
    words: list[str],
    faults: dict[str, Fault],
    place: pytest.MonkeyPatch,
    app_key: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    fault = faults[kind]
    place.setenv("PATCHWARRANT_REDIS_URL", fault.url)
    for name, value in settings_of(words[0], app_key).items():
        place.setenv(name, value)
    assert program.main(words) == fault.code
    out, err = capfd.readouterr()
    assert f"patchwarrant {words[0]}: " in err and fault.says in err
    if not fault.says:  # the default user may only PING: which question was refused differs
        assert "users.acl" in err
    assert "Traceback" not in err and SECRET not in out + err


@pytest.mark.parametrize("kind", KINDS)
def test_the_receiver_says_the_same_and_goes_on_waiting(
    kind: str, faults: dict[str, Fault], caplog: pytest.LogCaptureFixture
) -> None:
    fault = faults[kind]

    async def check() -> None:
        inbox = Inbox(receivers(fault.url))
        try:
            await inbox.check()
        finally:
            await inbox.redis.aclose()

    with pytest.raises(Away) as away:
        asyncio.run(check())
    assert (fault.says or "users.acl") in str(away.value) and SECRET not in str(away.value)
    feeder = Feeder(fault.url)
    with caplog.at_level(logging.WARNING, "app.feeder"):
        feeder.start()
        feeder.stop()
    (said,) = [one.getMessage() for one in caplog.records if one.name == "app.feeder"]
    assert "wake-ups wait" in said and (fault.says or GRANTS) in said and SECRET not in said


def test_a_password_that_is_missing_is_told_apart() -> None:
    with redis_server(**DURABLE) as server:
        with server.client() as root:
            root.config_set("requirepass", SECRET)
        with Redis.from_url(server.url) as nameless, pytest.raises(RedisError) as refused:
            nameless.get("x")
        assert told(refused.value) == NAMELESS and refuses(refused.value)


def test_a_password_for_a_user_that_has_none_is_told_apart() -> None:
    with redis_server(**DURABLE) as server, server.client() as client:
        with pytest.raises(RedisError) as refused:
            client.execute_command("AUTH", SECRET)
        assert told(refused.value) == NEEDLESS and refuses(refused.value)


def test_what_a_user_may_not_do_is_named(tmp_path: Path) -> None:
    made: Users
    with users(tmp_path) as made, made.client("operator") as client:
        with pytest.raises(RedisError) as refused:
            client.flushall()
        said = told(refused.value)
        assert "flushall" in said and said.endswith(GRANTS) and refuses(refused.value)
