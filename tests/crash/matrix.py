"""The cross product state x point x fault, generated from recorded clean runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from app.domain.state import OWNER, Role
from tests.crash.case import Bench, Case, Links
from tests.crash.invariants import expected
from tests.crash.office import Office
from tests.crash.points import AFTER, BEFORE, LOOK, READY, Point, watch
from tests.crash.proxy import Proxy
from tests.crash.stories import STORIES, Story
from tests.crash.town import Town, town

IN_REDIS = ("ledger.", "journal.", "intent.", "redis.", "bell.")
GITHUB = ("do_then_drop", "do_then_status", "status", "drop", "rate_secondary")
MODEL = ("500", "529", "429", "error-mid-stream", "cut", "drop")
SANDBOX = ("drop", "status", "do_then_drop", "do_then_status")
LINKS = ("redis", "github", "model")
DESKS = frozenset(str(state) for state, role in OWNER.items() if role is Role.DESK)
DISTURBANCES = ("cut", "delay", "half-open")


@contextmanager
def bench(
    stories: Mapping[str, Story] = STORIES,
) -> Iterator[tuple[Bench, dict[str, list[Point]]]]:
    """A world with its proxies, and the points of every story as a clean run passes them."""
    with ExitStack() as exits:
        up = exits.enter_context(town())
        links = Links(
            *(
                exits.enter_context(Proxy(target))
                for target in (up.redis.socket, up.hub.url[7:], up.model.url[7:])
            )
        )
        made = Bench(up, links, stories)
        _warm(up)
        yield made, {name: sure(made, name) for name in stories}


def _warm(up: Town) -> None:
    """One run in this process itself, so that what is loaded once is loaded before every fork."""
    up.quiet()
    STORIES["fix"].begin(up)
    with Office(up.place, looks=True) as office:
        office.work()


def sure(made: Bench, story: str) -> list[Point]:
    """The points that two clean runs have in common: a machine that is very busy makes some wait
    once more than they have to, at a point that no case would come to."""
    first = set(recorded(made, story))
    return [point for point in recorded(made, story) if point in first]


def recorded(made: Bench, story: str) -> list[Point]:
    """The points of a clean run, in their order; keeps how it ends as what is expected."""
    up = made.town
    up.quiet()
    name = made.stories[story].begin(up)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        try:
            ours.close()
            points: list[Point] = []
            seen = watch(points.append)
            office = Office(
                up.place,
                bool(made.stories[story].looks),
                lambda job: seen.around(f"queue.{job}", lambda: None),
            )
            said = office.work()
            text = "\n".join([said, *(_line(point) for point in points)])
            theirs.sendall(text.encode())
        finally:
            os._exit(0)
    theirs.close()
    data = b""
    while piece := ours.recv(65_536):
        data += piece
    ours.close()
    os.waitpid(pid, 0)
    said, *lines = data.decode().split("\n")
    if said != "settled":
        raise RuntimeError(f"the clean run of {story} ended {said!r}")
    made.wanted[story] = expected(up, name, bool(made.stories[story].looks))
    return [_point(line) for line in lines]


def _line(point: Point) -> str:
    return "\t".join([point.state, point.effect, str(point.nth), point.moment])


def _point(line: str) -> Point:
    state, effect, nth, moment = line.split("\t")
    return Point(state, effect, int(nth), moment)


def cases(points: dict[str, list[Point]]) -> list[Case]:
    """The whole matrix: every kind of effect of every state, first and last of its kind, before
    and after, with every fault that can happen to it; of stories that are not `whole`, what is
    their own."""
    found: dict[Case, None] = {}
    known: set[tuple[str, str]] = set()
    for story, every in points.items():
        seen = [one for one in every if not _looks(story) or one.state == _looks(story)]
        kept = _ends(seen)
        if not _whole(story):
            found |= dict.fromkeys(_own(story, kept, known))
            known |= {(one.state, one.effect) for one in seen}
            continue
        known |= {(one.state, one.effect) for one in seen}
        for point in kept:
            for fault in _faults(point):
                found[Case(story, fault, point)] = None
        for case in _networks(story, kept):
            found[case] = None
    return list(found)


def _whole(story: str) -> bool:
    return story not in STORIES or STORIES[story].whole


def _looks(story: str) -> str:
    return STORIES[story].looks if story in STORIES else ""


def _own(story: str, kept: list[Point], known: set[tuple[str, str]]) -> Iterator[Case]:
    """Of a story whose desk has stages of its own: there, a death, a stop and a lost answer at each
    effect and a death each time; elsewhere a death at effects that no story before it has."""
    dead: set[str] = set()
    for point in kept:
        before = point.moment == BEFORE
        desks = point.state in DESKS or point.state == _looks(story)
        if not desks and point.nth > 1:
            continue  # how often an approval is looked at is a matter of time
        if not before and (desks or (point.state, point.effect) not in known):
            yield Case(story, "kill", point)
        if not desks or not before or point.nth > 1:
            continue
        yield Case(story, "stop", point)
        if point.effect.startswith("github."):
            yield from (Case(story, f"github-{kind}", point) for kind in ("do_then_drop", "status"))
        if point.state not in dead and point.state in DESKS:
            dead.add(point.state)
            yield Case(story, "poison", point)


def _ends(seen: list[Point]) -> list[Point]:
    """The first and the last of each kind of effect in each state, in the run's order."""
    last = {(one.state, one.effect): one.nth for one in seen}
    return [one for one in seen if one.nth in (1, last[one.state, one.effect])]


def _faults(point: Point) -> Iterable[str]:
    effect, before = point.effect, point.moment == BEFORE
    if effect.startswith("queue."):  # a job is out of its queue, and nothing has begun
        yield from (() if before else ("kill", "stop"))
        return
    if not before:  # before an effect is after the one before it: nothing outside has changed
        yield "kill"
    if not before and point.nth == 1:
        yield "exception"
    if before and point.nth == 1:
        yield "stop"
    asked = effect.startswith(IN_REDIS) and not effect.startswith("bell.")
    if asked and not before and point.nth == 1:
        yield "lost-answer"
    if not before:
        return
    if effect.startswith("github."):
        yield from (f"github-{kind}" for kind in (GITHUB if point.nth == 1 else GITHUB[:2]))
    elif effect == "model.reply":
        yield from (f"model-{kind}" for kind in MODEL)
    elif effect.startswith("sandbox."):
        yield from (f"sandbox-{kind}" for kind in SANDBOX)
    elif effect == "git.fetch":
        yield from ("git-status", "git-drop")


def _networks(story: str, kept: list[Point]) -> Iterable[Case]:
    """Disturbed links, a clock that jumps and poison: once a state, at its first effect there."""
    first: dict[tuple[str, str], Point] = {}
    states: dict[str, Point] = {}
    for point in kept:
        if point.moment == BEFORE and not point.effect.startswith("queue."):
            states.setdefault(point.state, point)
            first.setdefault((point.state, _link(point.effect)), point)
    for (_state, link), point in first.items():
        if link == "redis":
            yield Case(story, "redis-kill", point)
            yield Case(story, "redis-torn", point)
        if link in LINKS:
            for kind in DISTURBANCES:
                yield Case(story, f"{kind}@{link}", point)
    for state, point in states.items():
        yield Case(story, "kill", point)
        yield Case(story, "skew+", point)
        yield Case(story, "skew-", point)
        if state not in ("idle", LOOK, READY) and not state.startswith("claim"):
            yield Case(story, "poison", point)


def _link(effect: str) -> str:
    if effect.startswith(IN_REDIS):
        return "redis"
    return effect.partition(".")[0]


def quick(every: list[Case]) -> list[Case]:
    """A slice in which every kind of effect, every state and every fault occurs at least once; of
    stories that are not `whole`, the effects that are in no other."""
    chosen: list[Case] = []
    whole = {name for name in {one.story for one in every} if _whole(name) or _looks(name)}
    open_points: set[tuple[str, str, str]] = set()
    known: set[tuple[str, str]] = set()
    for one in sorted(every, key=lambda one: one.story not in whole):
        place = (one.point.state, one.point.effect)
        if one.story in whole or place not in known:
            open_points.add((one.story, *place))
            known.add(place)
    open_faults = {one.fault for one in every}
    rare = sorted(every, key=lambda one: (one.fault in ("kill", "exception"), str(one)))
    for one in rare:
        place = (one.story, one.point.state, one.point.effect)
        if one.fault in open_faults:
            open_faults.discard(one.fault)
            open_points.discard(place)
            chosen.append(one)
    for one in every:
        place = (one.story, one.point.state, one.point.effect)
        if place in open_points and one.fault == "kill" and one.point.moment == AFTER:
            open_points.discard(place)
            chosen.append(one)
    return chosen
