"""Where a registration's results lie: the key, the webhook secret, the file of settings.

Looked at before anything is asked of GitHub, since a one-time code cannot be exchanged twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain import env_file
from app.domain.registration import Registered

NAMES = (
    "PATCHWARRANT_APP_ID",
    "PATCHWARRANT_APP_KEY_FILE",
    "PATCHWARRANT_WEBHOOK_SECRET_FILE",
    "PATCHWARRANT_OWNERS",
)


@dataclass(frozen=True)
class Places:
    """The three files."""

    key: Path
    secret: Path
    settings: Path

    @classmethod
    def below(cls, folder: Path) -> Places:
        whole = folder.absolute()
        return cls(
            whole / "secrets" / "app-key.pem", whole / "secrets" / "webhook-secret", whole / ".env"
        )


def taken(places: Places) -> str:
    """Why nothing may be written there, "" where it may: a sentence with what to do."""
    for file in (places.key, places.secret):
        if file.exists() or file.is_symlink():
            return (
                f"{file} is there already and is not overwritten. Move it away, or name another "
                "place with --folder."
            )
    try:
        known = _known(places.settings)
        places.key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        return f"{places.settings} or the folder of the keys cannot be used: {error}."
    said = [name for name in NAMES if known.get(name)]
    if said:
        return (
            f"{places.settings} says {', '.join(said)} already, and that is not overwritten. Take "
            "the lines out, or name another place with --folder."
        )
    if not os.access(places.key.parent, os.W_OK) or not os.access(places.settings.parent, os.W_OK):
        return f"{places.key.parent} cannot be written by this user. Name a place with --folder."
    return ""


def kept(
    places: Places, made: Registered, owners: Iterable[str], more: Mapping[str, str]
) -> dict[str, str]:
    """Write all three, the key first; the settings that were added. Raises `OSError` (a file came
    to be there meanwhile), `ValueError` (a path that does not fit into a file of settings)."""
    listed = dict.fromkeys(one.casefold() for one in (made.owner, *owners))
    values = {
        "PATCHWARRANT_APP_ID": str(made.id),
        "PATCHWARRANT_APP_KEY_FILE": str(places.key),
        "PATCHWARRANT_WEBHOOK_SECRET_FILE": str(places.secret),
        "PATCHWARRANT_OWNERS": ",".join(listed),
        **more,
    }
    _new(places.key, made.key.strip() + "\n")
    _new(places.secret, made.webhook_secret.strip() + "\n")
    known = _known(places.settings)
    added = {name: value for name, value in values.items() if not known.get(name)}
    text = f"# the App {made.slug}, owned by {made.owner}\n{env_file.lines(added)}"
    if places.settings.exists():
        with places.settings.open("a", encoding="utf-8") as out:
            out.write(f"\n{text}")
    else:
        _new(places.settings, text)
    return added


def _known(file: Path) -> dict[str, str]:
    return env_file.parsed(file.read_text(encoding="utf-8")) if file.exists() else {}


def _new(file: Path, text: str) -> None:
    """A file that was not there before, readable by its owner alone; on the disk at the end."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
