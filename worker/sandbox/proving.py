"""`patchwarrant selftest [--strict]`: the whole self-test, with each possible finding on a line."""

from __future__ import annotations

import sys
import time

from app.domain.errors import Fault
from worker.sandbox import selftest
from worker.sandbox.cell import Maker
from worker.sandbox.image import ensure_default, missing
from worker.sandbox.wiring import ceilings_of, choices_of, disk_of, opened, sized
from worker.settings.door import Door
from worker.settings.sandbox import sandbox_settings

FAILED = 1


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def main(door: Door, arguments: list[str]) -> int:
    """Exit code 0 when every property holds, 1 when one does not or nothing could be tried."""
    read = sandbox_settings(door)
    clock = time.time  # noqa: TID251 - deadlines in labels outlive this process: wall time
    try:
        choices = choices_of(read, arguments)
        with opened(choices, say, clock()) as engine:
            sized(ceilings_of(read), engine.facts)
            disk = disk_of(engine, choices.floor)
            maker = Maker.of(engine, "", clock, choices.runtime, disk)
            try:
                image = ensure_default(engine, say)
                say(f"image {image}, profile {maker.profile}, runtime {choices.runtime}")
                wrong = selftest.found_wrong(maker, image)
                absent = missing(engine, read.images)
            finally:
                maker.close()
    except Fault as fault:
        say(f"the self-test could not be made: {fault}")
        return FAILED
    code = _told(wrong, choices.runtime)
    for sentence in absent:
        say(f"note: {sentence}")
    return code


def _told(wrong: list[str], runtime: str) -> int:
    tried = {*selftest.visible(runtime), *selftest.PROPERTIES[len(selftest.SEEN) :]}
    for sentence in selftest.PROPERTIES:
        found = next((one for one in wrong if one.startswith(sentence)), "")
        sign = "FOUND" if found else "absent" if sentence in tried else "hidden"
        say(f"  {sign:<6}  {found or sentence}")
    for other in wrong:
        if not any(other.startswith(sentence) for sentence in selftest.PROPERTIES):
            say(f"  FOUND   {other}")
    if wrong:
        say(f"{len(wrong)} properties do not hold: the sandbox refuses to start like this")
        return FAILED
    say(f"all {len(tried)} properties hold")
    return 0
