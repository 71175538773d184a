"""Tokens by run and phase: minted, sealed in the ledger, used, revoked, dropped, in this order.

What a crash leaves behind lies sealed on the shelf, so that the keeper can revoke it. The runner's
fetch token goes the same way and is sealed once more, to the one-time key of the runner's request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.domain.errors import Fault, Halt, IntegrityError, Park, Unavailable
from app.domain.permissions import Phase, permissions
from app.domain.ports.tokens import Minter, Token
from app.domain.run import Run
from app.domain.state import OWNER, Role
from worker.store.rows import SealedToken
from worker.store.sealing import Seal, hand_over

ATTEMPT_SECONDS = 30.0  # how long the runner should wait before it asks again
# How long a holder that says nothing more keeps its token: longer than one request may take with
# the pause after it, short enough that what a dead process leaves does not live on.
USE_MS = 30_000
SAY_AGAIN_MS = 3_000
log = logging.getLogger(__name__)


class Shelf(Protocol):
    """Where sealed tokens lie until they are revoked."""

    def keep_token(
        self, name: str, sealed: bytes, expires_ms: int, run: str, until_ms: int
    ) -> None: ...

    def tokens(self) -> list[SealedToken]: ...

    def drop_token(self, name: str) -> None: ...


@dataclass
class Held:
    """A token in use. Its holder calls `still` before every request, which keeps the keeper's hands
    off; `kept` is the row on the shelf."""

    token: Token
    kept: SealedToken
    shelf: Shelf
    now: Callable[[], int]

    def still(self) -> None:
        """Say that the token is in use, if that was not said just now. Raises `Unavailable`."""
        at = self.now()
        if self.kept.until - at < USE_MS - SAY_AGAIN_MS:
            self._say(at + USE_MS)

    def over(self) -> None:
        """Leave the token to the keeper at once."""
        self._say(0)

    def _say(self, until: int) -> None:
        self.kept = replace(self.kept, until=until)
        kept = self.kept
        self.shelf.keep_token(kept.name, kept.sealed, kept.expires, kept.run, until)


@dataclass(frozen=True)
class Tokens:
    """Mints tokens for phases of runs. `new_id` gives a short random name part, `now` the Redis
    milliseconds by which the shelf is read."""

    shelf: Shelf
    minter: Minter
    seal: Seal
    new_id: Callable[[], str]
    now: Callable[[], int]

    @contextmanager
    def phase(self, run: Run, phase: Phase) -> Iterator[Held]:
        """A token for exactly this phase, revoked at the end of the block whatever happens.

        Raises `Halt(INSTALLATION)`, `IntegrityError` (more was granted than asked), `Unavailable`.
        """
        held = self._kept(run, phase)
        try:
            yield held
        finally:
            self._end(held)

    @contextmanager
    def survey(self, installation: int, mint: Callable[[int], Token]) -> Iterator[Held]:
        """A token of `mint` that lists an installation's repositories, kept and revoked as all."""
        name = f"{installation}:{Phase.SURVEY}:{self.new_id()}"
        held = self._shelved(name, mint(installation), "")
        try:
            yield held
        finally:
            self._end(held)

    def fetch(self, run: Run, public: str) -> dict[str, Any]:
        """A read token for the runner, sealed to the one-time key `public`; kept until `revoke`."""
        held = self._kept(run, Phase.FETCH)
        name, token = held.kept.name, held.token
        try:
            sealed = hand_over(public, name, token.secret.encode())
        except IntegrityError:
            self._end(held)
            raise
        return {
            "name": name,
            "sealed": sealed,
            "repository": token.repository.full_name,
            "expires": token.expires,
        }

    def revoke(self, name: str, run: str) -> bool:
        """Revoke the kept token `name` of `run`; False when there is none any more."""
        for kept in self.shelf.tokens():
            if kept.name == name and kept.run == run:
                self.minter.revoke(self.seal.open(name, kept.sealed).decode())
                self.shelf.drop_token(name)
                return True
        return False

    def revoke_leftovers(self, now_ms: int, fetches: Callable[[str], bool]) -> int:
        """Revoke every kept token whose holder does not use it any more; how many went.

        A holder here says itself how long it uses a token. The runner's fetch token is in use
        while `fetches(run id)`: that run's lease is alive, and it is where one fetches.
        """
        gone = 0
        for kept in self.shelf.tokens():
            try:
                if kept.expires > now_ms:
                    fetching = phase_of(kept.name) is Phase.FETCH and fetches(kept.run)
                    if fetching or kept.until > now_ms:
                        continue
                    self.minter.revoke(self.seal.open(kept.name, kept.sealed).decode())
            except IntegrityError as broken:  # sealed under an older secret: it ends by itself
                log.warning("token %s stays until it expires: %s", kept.name, broken)
                continue
            except Fault as away:
                log.warning("token %s could not be revoked yet: %s", kept.name, away)
                continue
            self.shelf.drop_token(kept.name)
            gone += 1
        return gone

    def _kept(self, run: Run, phase: Phase) -> Held:
        name = f"{run.id}:{phase}:{self.new_id()}"
        token = self.minter.mint(run.installation, run.repository.id, permissions(phase))
        return self._shelved(name, token, run.id)

    def _shelved(self, name: str, token: Token, run_id: str) -> Held:
        held = Held(token, SealedToken(name, b"", token.expires, run_id), self.shelf, self.now)
        try:
            sealed = self.seal.close(name, token.secret.encode())
            held.kept = replace(held.kept, sealed=sealed)
            held.still()
        except BaseException:  # nobody else knows this token: end it now or never
            self._end(held)
            raise
        return held

    def _end(self, held: Held) -> None:
        name = held.kept.name
        try:
            self.minter.revoke(held.token.secret)
            self.shelf.drop_token(name)
        except Fault as away:
            log.warning("token %s could not be revoked yet; the keeper will: %s", name, away)
            with suppress(Fault):
                held.over()


def phase_of(name: str) -> Phase:
    """The phase in a token's name. Raises `IntegrityError` for a name that is none of ours."""
    try:
        return Phase(name.split(":")[-2])
    except (IndexError, ValueError):
        raise IntegrityError(f"{name!r} is no token name of ours") from None


def answer(
    request: Mapping[str, Any],
    held: Callable[[str], tuple[Run, int] | None],
    tokens: Tokens,
) -> dict[str, Any]:
    """What the desk answers to a runner's token request; never raises an expected stop.

    A request is `{"run", "fence", "public"}` for a token, or `{"run", "done": name}` to give one
    back. `held` gives a run with the fence of its live lease. Answers: `{"name", "sealed",
    "repository", "expires"}`, `{"revoked": bool}`, `{"wait": seconds, "why"}`,
    `{"halt": {"reason", "message", "next_step"}}` or `{"refused": why}`.
    """
    run_id, done = request.get("run"), request.get("done")
    try:
        if isinstance(run_id, str) and isinstance(done, str):
            return {"revoked": tokens.revoke(done, run_id)}
        public = request.get("public")
        found = held(run_id) if isinstance(run_id, str) else None
        if found is None or not isinstance(public, str):
            return {"refused": "The request names no run that is at work."}
        run, fence = found
        if OWNER[run.state] is not Role.RUNNER:
            return {"refused": f"The run is in {run.state}, which is not a runner's state."}
        if request.get("fence") != fence:
            return {"refused": "The lease that asks is over."}
        return tokens.fetch(run, public)
    except Park as park:
        return {"wait": park.seconds, "why": park.note}
    except Unavailable as away:
        return {"wait": away.retry_after or ATTEMPT_SECONDS, "why": str(away)}
    except Halt as halt:
        record = halt.record
        return {
            "halt": {
                "reason": str(record.reason),
                "message": record.message,
                "next_step": record.next_step,
            }
        }
    except Fault as fault:
        return {"refused": str(fault)}
