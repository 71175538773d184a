"""Tokens: minted, sealed, used, revoked, dropped; what a crash leaves, the keeper ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from redis import Redis

from app.domain.errors import Fault, Halt, IntegrityError, Reason, Unavailable
from app.domain.event import Repository
from app.domain.permissions import Phase
from app.domain.ports.tokens import Token
from app.domain.run import Run
from app.domain.state import State
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.made import new_run
from tests.worker.desk.ways import MemoryShelf, access_to, tokens_of
from worker.desk.tokens import USE_MS, Tokens, answer, phase_of
from worker.store.ledger import Ledger
from worker.store.sealing import OneTimeKey, Seal, new_secret


@dataclass
class FakeMinter:
    """Mints numbered tokens; `away` makes revoking fail."""

    alive: dict[str, Mapping[str, str]] = field(default_factory=dict)
    minted: int = 0
    away: bool = False
    refusing: Halt | Fault | None = None

    def mint(self, installation: int, repository_id: int, permissions: Mapping[str, str]) -> Token:
        if self.refusing is not None:
            raise self.refusing
        self.minted += 1
        secret = f"ghs_{self.minted}"
        self.alive[secret] = permissions
        repository = Repository(repository_id, "acme", "widgets")
        return Token(secret, repository, permissions, 10_000 * self.minted, 0.0)

    def revoke(self, secret: str) -> None:
        if self.away:
            raise Unavailable("GitHub is away")
        self.alive.pop(secret, None)


def ids() -> str:
    ids.count += 1  # type: ignore[attr-defined]
    return f"n{ids.count}"  # type: ignore[attr-defined]


ids.count = 0  # type: ignore[attr-defined]


def tokens(
    minter: FakeMinter | None = None, shelf: MemoryShelf | None = None, at: int = 0
) -> Tokens:
    minter = minter or FakeMinter()
    return Tokens(shelf or MemoryShelf(), minter, Seal(new_secret()), ids, lambda: at)


def test_a_phase_s_token_is_sealed_while_it_lives_and_gone_after() -> None:
    minter, shelf = FakeMinter(), MemoryShelf()
    made = tokens(minter, shelf)
    with made.phase(new_run(), Phase.GIT) as held:
        secret = held.token.secret
        assert minter.alive == {secret: {"contents": "write", "metadata": "read"}}
        (kept,) = shelf.tokens()
        assert secret.encode() not in kept.sealed and kept.run == "abc"
        assert phase_of(kept.name) is Phase.GIT
    assert minter.alive == {} and shelf.tokens() == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_it_is_revoked_whatever_happens(error: type[BaseException]) -> None:
    minter, shelf = FakeMinter(), MemoryShelf()
    with pytest.raises(error), tokens(minter, shelf).phase(new_run(), Phase.PULL):
        raise error
    assert minter.alive == {} and shelf.tokens() == []


def test_a_shelf_that_fails_leaves_no_token_alive() -> None:
    class Broken(MemoryShelf):
        def keep_token(self, *_: object) -> None:
            raise Unavailable("Redis is away")

    minter = FakeMinter()
    with (
        pytest.raises(Unavailable),
        tokens(minter, Broken()).phase(new_run(), Phase.PULL),
    ):
        pytest.fail("no token may be used that nobody could revoke")
    assert minter.alive == {} and minter.minted == 1


def test_what_could_not_be_revoked_is_the_keeper_s() -> None:
    minter, shelf = FakeMinter(), MemoryShelf()
    made = tokens(minter, shelf)
    with made.phase(new_run(), Phase.GIT):
        minter.away = True
    assert len(shelf.tokens()) == 1
    assert made.revoke_leftovers(0, nobody) == 0
    minter.away = False
    assert made.revoke_leftovers(0, nobody) == 1
    assert minter.alive == {} and shelf.tokens() == []


def test_a_token_in_use_is_left_alone_whoever_uses_it() -> None:
    """No run and no lease need be known: notes, progress and questions have neither."""
    minter, shelf = FakeMinter(minted=9), MemoryShelf()
    at = [0]
    made = replace(tokens(minter, shelf), now=lambda: at[0])
    with made.phase(replace(new_run(), id="unknown"), Phase.STATUS) as held:
        assert made.revoke_leftovers(USE_MS - 1, nobody) == 0
        at[0] = USE_MS - 1
        held.still()
        assert made.revoke_leftovers(2 * USE_MS - 2, nobody) == 0
        assert len(minter.alive) == 1
        assert made.revoke_leftovers(2 * USE_MS - 1, nobody) == 1, "its process died"
    assert minter.alive == {} and shelf.tokens() == []


def test_every_request_says_that_its_token_is_in_use(world: Acme) -> None:
    shelf, at = MemoryShelf(), [0]
    access = access_to(world, shelf)
    access.tokens = replace(access.tokens, now=lambda: at[0])
    run = new_run(Repository(world.repo_id, "acme", "widgets"), world.installation)
    with access.read(run) as reader:
        for at[0] in (0, 20_000, 40_000):
            reader.branch("main")
            (kept,) = shelf.tokens()
            assert kept.until == at[0] + USE_MS


def nobody(_run: str) -> bool:
    return False


def test_a_token_past_its_end_is_only_dropped() -> None:
    minter, shelf = FakeMinter(away=True), MemoryShelf()
    made = tokens(minter, shelf)
    with made.phase(new_run(), Phase.GIT):
        pass
    assert made.revoke_leftovers(10_001, lambda _run: True) == 1
    assert shelf.tokens() == []


def test_a_token_under_another_secret_waits_for_its_end() -> None:
    shelf = MemoryShelf()
    with tokens(FakeMinter(away=True), shelf).phase(new_run(), Phase.GIT):
        pass
    other = tokens(FakeMinter(), shelf)
    shelf.keep_token("odd name", b"x", 10_000, "abc")
    assert other.revoke_leftovers(0, nobody) == 0
    assert other.revoke_leftovers(10_000, nobody) == 2


# -- the runner's fetch token ----------------------------------------------------------------------


def at(state: State) -> Run:
    return replace(new_run(), state=state)


def held(run: Run, fence: int = 3) -> object:
    return lambda run_id: (run, fence) if run_id == run.id else None


def asked(key: OneTimeKey, **other: object) -> dict[str, object]:
    return {"run": "abc", "fence": 3, "public": key.public, **other}


def test_the_runner_gets_a_read_token_sealed_to_its_own_key() -> None:
    minter, shelf, key = FakeMinter(), MemoryShelf(), OneTimeKey()
    made = tokens(minter, shelf)
    got = answer(asked(key), held(at(State.PREPARE)), made)  # type: ignore[arg-type]
    secret = key.open(got["name"], got["sealed"]).decode()
    assert minter.alive == {secret: {"contents": "read", "metadata": "read"}}
    assert got["repository"] == "acme/widgets" and secret not in str(got)
    assert len(shelf.tokens()) == 1
    back = {"run": "abc", "done": got["name"]}
    assert answer({**back, "run": "other"}, held(at(State.PREPARE)), made) == {  # type: ignore[arg-type]
        "revoked": False
    }
    assert answer(back, held(at(State.PREPARE)), made) == {"revoked": True}  # type: ignore[arg-type]
    assert answer(back, held(at(State.PREPARE)), made) == {"revoked": False}  # type: ignore[arg-type]
    assert minter.alive == {} and shelf.tokens() == []


@pytest.mark.parametrize(
    ("state", "change"),
    [
        (State.ADMIT, {}),
        (State.PUBLISH, {}),
        (State.HALTED, {}),
        (State.PREPARE, {"run": "other"}),
        (State.PREPARE, {"run": 5}),
        (State.PREPARE, {"fence": 2}),
        (State.PREPARE, {"fence": None}),
        (State.PREPARE, {"public": None}),
        (State.PREPARE, {"public": "no key"}),
    ],
)
def test_nobody_else_gets_a_token(state: State, change: dict[str, object]) -> None:
    minter = FakeMinter()
    request = asked(OneTimeKey(), **change)
    got = answer(request, held(at(state)), tokens(minter))  # type: ignore[arg-type]
    assert set(got) == {"refused"} and minter.alive == {}


def test_what_stops_the_minting_is_told_to_the_runner() -> None:
    key, run = OneTimeKey(), held(at(State.PREPARE))
    gone = Halt(Reason.INSTALLATION, "gone", "install")
    for error, expected in (
        (gone, {"halt": {"reason": "installation-unavailable", "message": "gone",
                         "next_step": "install"}}),
        (Unavailable("away", 7), {"wait": 7, "why": "away"}),
        (Unavailable("away"), {"wait": 30.0, "why": "away"}),
        (IntegrityError("more"), {"refused": "more"}),
    ):  # fmt: skip
        got = answer(asked(key), run, tokens(FakeMinter(refusing=error)))  # type: ignore[arg-type]
        assert got == expected


# -- for real --------------------------------------------------------------------------------------


def test_the_exchange_through_the_ledger_gives_a_token_that_only_reads(
    world: Acme, redis: Redis
) -> None:
    ledger, key = Ledger(redis), OneTimeKey()
    made = tokens_of(world, ledger)
    run = replace(
        new_run(Repository(world.repo_id, "acme", "widgets"), world.installation),
        state=State.PREPARE,
    )
    ledger.ask("r1", asked(key), 30)
    request = ledger.take_request("r1")
    assert request is not None
    ledger.answer_request("r1", answer(request, held(run), made), 30)  # type: ignore[arg-type]
    got = ledger.await_answer("r1", 5)
    assert got is not None
    secret = key.open(got["name"], got["sealed"]).decode()
    assert secret.startswith("ghs_")
    for stored in redis.keys("*"):
        kind = redis.type(stored)
        value = redis.hgetall(stored) if kind == b"hash" else redis.get(stored)
        assert secret.encode() not in repr(value).encode()
    with world.with_token(secret) as rest:
        assert rest.get(f"/repos/{REPO}/git/ref/heads/main").status_code == 200
        assert rest.post(f"/repos/{REPO}/git/blobs", json={"content": "x"}).status_code == 403
        assert rest.get(f"/repos/{REPO}/issues/1").status_code == 403
        now = round(time.time() * 1000) + USE_MS
        assert made.revoke_leftovers(now, lambda _run: True) == 0
        assert made.revoke_leftovers(now, nobody) == 1
        assert rest.get(f"/repos/{REPO}").status_code == 401
    assert ledger.tokens() == []
