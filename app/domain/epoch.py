"""Whether the ledger that Redis shows is the one that was there before, and not older."""

from __future__ import annotations

from dataclasses import dataclass

CURE = (
    "Restore the newest data of this Redis (its append-only file), or point PATCHWARRANT_REDIS_URL "
    "back at it. If what is there now is to count, close or keep the agent's open pull requests as "
    "they are and say `patchwarrant resume --new-ledger`."
)


@dataclass(frozen=True)
class Mark:
    """A ledger's name, drawn once, and its count, which only grows."""

    name: str
    count: int


def amiss(known: Mark | None, found: Mark | None, accepted: str) -> str:
    """Why the ledger `found` cannot be the one `known` from before, "" where it can.

    `accepted` is the name of the ledger that the operator said is the new one, "" for none.
    """
    if known is None:
        return ""
    if found is None:
        return "Redis holds no ledger, and there was one before: it was emptied, or it is another"
    if found.name != known.name:
        return "" if found.name == accepted else "Redis holds another ledger than before"
    if found.count < known.count:
        return f"Redis holds an older ledger than before (mark {found.count}, was {known.count})"
    return ""
