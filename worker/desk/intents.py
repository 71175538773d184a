"""One external write, at most once: recorded before, done, read back, recorded after.

When an earlier attempt's outcome is unknown, or GitHub says that it exists already, the effect is
looked for and adopted; nothing is sent again before that look (promise A12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.domain.errors import Exists, Uncertain
from app.domain.ports.hold import Hold

Record = dict[str, Any]


def done(hold: Hold, key: str) -> Record | None:
    """The record of a write that was done and read back, else None."""
    record = hold.intent(key)
    return record if record is not None and record.get("done") is True else None


def once(
    hold: Hold,
    key: str,
    about: Mapping[str, Any],
    act: Callable[[], Record],
    look: Callable[[], Record | None],
) -> Record:
    """The record of the write `key`, done by this call if no earlier one did it.

    `about` is kept before the write is sent. `look` finds the effect of an earlier attempt, None
    where there is none, and raises where something foreign is in its place.
    """
    record = done(hold, key)
    if record is not None:
        return record
    found = look() if hold.intent(key) is not None else None
    if found is None:
        hold.intend(key, about)
        hold.look()
        try:
            found = act()
        except (Exists, Uncertain):
            found = look()
            if found is None:
                raise
    hold.fulfil(key, found)
    return {**found, "done": True}
