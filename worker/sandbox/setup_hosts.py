"""The allow-list of one builder, in the files that its proxy reads."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from worker.sandbox.allow_list import HOST, PRIVATE
from worker.sandbox.setup_rules import SetupRules

REGISTRIES = Path(__file__).with_name("recipe") / "registries.json"
# Why a host was turned away whose name is allowed.
NOT_PUBLIC = (
    "(allowed by name, and its address is not a public one: the operator allows such with "
    "PATCHWARRANT_SETUP_NETWORKS)"
)
REFUSED = 64 << 10  # bytes that are read of the list of refused hosts


@dataclass
class Hosts:
    """Written to `seen`: the usual hosts (`fixed`), the operator's, what the repository `asked` for
    within them, and what the clients in the image are set to (`learned`)."""

    seen: Path
    fixed: tuple[str, ...]
    rules: SetupRules
    asked: tuple[str, ...]
    learned: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        (self.seen / "own").write_text("\n".join(self.rules.own()) + "\n", encoding="utf-8")
        networks = "\n".join(self.rules.networks) + "\n"
        (self.seen / "networks").write_text(networks, encoding="utf-8")
        self._write()

    def learn(self, told: str) -> None:
        """What the clients in the image say that they are set to; addresses and ports are not
        taken from there."""
        with suppress(ValueError, TypeError):
            names = [str(one).lower() for one in json.loads(told)]
            fitting = [one for one in names if HOST.fullmatch(one) and ":" not in one]
            self.learned = tuple(dict.fromkeys([*self.learned, *fitting]))[:200]
        self._write()

    def refused(self) -> tuple[str, ...]:
        """Up to twenty hosts that were turned away; with why, where their names are allowed."""
        with suppress(OSError), (self.seen / "refused").open("rb") as file:
            lines = file.read(REFUSED).decode("utf-8", "replace").split()
            said = (
                f"{line.removesuffix(PRIVATE)} {NOT_PUBLIC}" if line.endswith(PRIVATE) else line
                for line in lines
            )
            return tuple(dict.fromkeys(said))[:20]
        return ()

    def _write(self) -> None:
        every = (*self.fixed, *self.rules.own(), *self.asked, *self.learned)
        made = self.seen / "hosts.new"
        made.write_text("\n".join(dict.fromkeys(every)) + "\n", encoding="utf-8")
        made.replace(self.seen / "hosts")


def listed(ecosystems: tuple[str, ...], table: Path = REGISTRIES) -> tuple[str, ...]:
    """The usual registries of ecosystems whose clients cannot tell them."""
    known: dict[str, list[str]] = json.loads(table.read_text(encoding="utf-8"))["hosts"]
    return tuple(host for name in ecosystems for host in known.get(name, ()))
