"""Labelled issues by the hundred, each told twice, while processes die: none lost, none twice.

Three receivers, two desks and two runners, all of them the product's own processes, work on a real
Redis that writes everything to its log; GitHub and the model are stood in for, checks are
pretended. Every few seconds one of them gets a kill -9, and comes back at once.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from app import settings as receiving
from app.domain.record import RUNS
from app.main import serve
from tests.bench import soak_mail as mail
from tests.bench.soak_crowd import Body, Crowd, forked
from tests.bench.soak_verdict import judged
from tests.crash.invariants import Expected, expected
from tests.crash.office import Office
from tests.crash.town import OWNER, Town, town
from tests.stack import free_port
from worker.desk import role as desk
from worker.runner import wiring as runner
from worker.runner.repository import mirror
from worker.settings.door import Door

WHOLE, QUICK = 1_000, 50
RECEIVERS, DESKS, RUNNERS = 3, 2, 2
FIRST_KILL, KILL_EVERY = 1.0, 5.0  # seconds; a small soak may be over in four
SAID_EVERY = 5.0
PATIENCE = 180.0  # seconds in which no run ends, until the soak is given up
A_REPOSITORY = 20  # issues
ZEROS = ("lost", "duplicates", "broken_invariants")


def run(issues: int = WHOLE, seed: int = 1) -> dict[str, float]:
    """`runs`, `lost`, `duplicates`, `broken_invariants`, and what it took."""
    with town() as up:
        began = time.monotonic()
        soak = _begun(up, issues, random.Random(seed))
        with soak.at_work():
            soak.watch()
        took = time.monotonic() - began
        found = judged(up, soak.issues, soak.wanted, soak.crowd.kills, soak.log)
        for amiss in found.broken[:50]:
            _say(f"BROKEN {amiss}")
        if found.lost or found.duplicates or found.broken:
            _say(soak.log.read_text(errors="replace")[-8_000:])
        return {
            "runs": found.runs,
            "lost": found.lost,
            "duplicates": found.duplicates,
            "broken_invariants": len(found.broken),
            "kills": soak.crowd.kills,
            "repeated_requests": found.repeated,
            "orphan_tokens": found.orphans,
            "seconds": round(took, 1),
        }


def failed(figures: dict[str, float]) -> bool:
    """Whether anything was lost, came twice or does not hold."""
    return not figures["runs"] or any(figures[name] for name in ZEROS)


@dataclass
class Soak:
    """One soak: its issues by repository, its processes, the post to bring."""

    up: Town
    issues: dict[str, int]
    wanted: Expected
    copies: list[mail.Letter]
    ports: list[int]
    crowd: Crowd
    log: Path
    rng: random.Random
    postman: int = field(default=0)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        self.crowd.start()
        try:
            yield
        finally:
            self.crowd.end()

    def watch(self) -> None:
        """Kill and start again until everything is over, or nothing goes on any more."""
        bring = partial(mail.sent, self.copies, self.ports, self.rng)
        self.postman = forked(bring, self.log)
        began = moved = said = time.monotonic()
        kill, last = began + FIRST_KILL, -1
        while True:
            now = time.monotonic()
            self.crowd.tend()
            if now >= kill:
                _say(f"kill -9 of {self.crowd.strike()}")
                kill += KILL_EVERY
            ended, waits = self._counted()
            if ended != last:
                last, moved = ended, now
            if now - said >= SAID_EVERY:
                said = now
                self.up.hub.clear_log()  # an hour's requests to GitHub are made in a minute here
                words = f"{ended} ended, {waits} open, {self._left()}{self.crowd.kills} kills"
                _say(f"{now - began:5.0f} s: {words}")
            if self._settled(ended) or now - moved > PATIENCE:
                return
            time.sleep(0.1)

    def _counted(self) -> tuple[int, int]:
        """Runs that have ended and said so, and those that have not."""
        waits = len(self.up.ledger.runs_without_end())
        with self.up.redis.client() as client:
            return int(client.zcard(RUNS)) - waits, waits

    def _left(self) -> str:
        """What else is waited for."""
        ledger = self.up.ledger
        events, tokens = len(ledger.unhandled_events(9_999)), len(ledger.tokens())
        return f"{events} events, {tokens} tokens, "

    def _settled(self, ended: int) -> bool:
        ledger = self.up.ledger
        delivered = self.postman not in _living()
        done = delivered and ended >= sum(self.issues.values())
        return done and not (
            ledger.runs_without_end() or ledger.unhandled_events(1) or ledger.tokens()
        )


def _begun(up: Town, issues: int, rng: random.Random) -> Soak:
    """Everything but the processes."""
    up.model.patch(up.patches[1:], up.source)
    wanted = _clean(up)
    port = free_port()
    log = up.folder / "log"
    log.touch()
    forked(partial(mail.sink, port), log)
    up.hub.set_webhook("patchwarrant", f"http://127.0.0.1:{port}/", mail.SECRET.decode())
    names = [up.repository()[0] for _ in range(-(-issues // A_REPOSITORY))]
    letters = mail.labelled(up, names, issues)
    up.hub.wait_delivered()
    shares = {name: len(range(at, issues, len(names))) for at, name in enumerate(names)}
    ports = [free_port() for _ in range(RECEIVERS)]
    crowd = Crowd(_bodies(up, ports), log, rng)
    copies = mail.twice(letters, rng)
    return Soak(up, shares, wanted, copies, ports, crowd, log, random.Random(rng.random()))


def _clean(up: Town) -> Expected:
    """How a run ends that nothing happens to; it also loads what every fork then has."""
    up.quiet()
    name, repository = up.repository()
    up.ledger.add_event(up.labelled(name, repository))
    patience = mirror.LOCK_SECONDS
    Office(up.place).work()
    mirror.LOCK_SECONDS = patience
    found = expected(up, name)
    up.quiet()
    return found


def _bodies(up: Town, ports: list[int]) -> dict[str, Body]:
    place = up.place
    both = {
        "PATCHWARRANT_REDIS_URL": up.redis.url,
        "PATCHWARRANT_LEASE_SECONDS": "3",
        "PATCHWARRANT_DAILY_DOLLARS": "1000000",
        "GITHUB_API_URL": up.hub.url,
        "GITHUB_SERVER_URL": up.hub.git_url,
    }
    writes = {
        "PATCHWARRANT_APP_ID": place.app_id,
        "PATCHWARRANT_APP_KEY_FILE": _kept(up, "app-key.pem", place.app_key),
        "PATCHWARRANT_SEAL_FILE": _kept(up, "seal", place.seal),
        "PATCHWARRANT_SIGNING_KEY_FILE": str(place.signing_key),
        "PATCHWARRANT_OWNERS": OWNER,
        "PATCHWARRANT_DESK_WORKERS": "1",
        "PATCHWARRANT_WRITE_PAUSE_SECONDS": "0",
        "PATCHWARRANT_WRITES_PER_HOUR": "0",
        "PATCHWARRANT_RUNS_PER_HOUR": "user=99999,repository=99999,installation=99999",
    }
    runs = {
        "ANTHROPIC_API_KEY_FILE": _kept(up, "model-key", place.model_key),
        "PATCHWARRANT_MODEL_URL": place.model,
        "PATCHWARRANT_SANDBOX": place.sandbox,
        "PATCHWARRANT_RUNNER_WORKERS": "1",
    }
    secret = receiving.Secret(mail.SECRET)
    made: dict[str, Body] = {
        f"receiver-{n}": partial(serve, receiving.Settings(secret, up.redis.url, port=port))
        for n, port in enumerate(ports, 1)
    }
    for n in range(1, DESKS + 1):
        made[f"desk-{n}"] = partial(_role, desk.main, {**both, **writes})
    for n in range(1, RUNNERS + 1):
        state = {"PATCHWARRANT_STATE": str(up.folder / f"runner-{n}")}  # as machines of their own
        made[f"runner-{n}"] = partial(_role, runner.main, {**both, **runs, **state})
    return made


def _role(main: object, environment: dict[str, str]) -> None:
    assert callable(main)
    main(Door(dict(environment)), [])


def _kept(up: Town, name: str, value: str) -> str:
    path = up.folder / name
    path.write_text(value, encoding="utf-8")
    path.chmod(0o600)
    return str(path)


def _living() -> set[int]:
    """Our own children."""
    tasks = Path(f"/proc/{os.getpid()}/task")
    words = [(one / "children").read_text().split() for one in tasks.iterdir()]
    return {int(word) for found in words for word in found}


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
