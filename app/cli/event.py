"""`patchwarrant event TYPE FILE [--json]`: what a payload would start, or why it is ignored.

Offline: the file is read as the receiver reads a genuine delivery, by the same code. Exit code: 0
something would happen, 1 nothing would, 2 wrong words or no payload.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from app import settings
from app.domain.event import Event
from app.domain.foretell import IGNORED, REFUSED, Foretold, foretell
from app.domain.triggers import READ
from app.webhook import CAP, CAPS, read_event, short

USAGE = """usage: patchwarrant event TYPE FILE [--json]

Says, offline, what a webhook payload would start, or why it is ignored: by the same code that reads
genuine deliveries. TYPE is GitHub's name of the event (X-GitHub-Event: issues, issue_comment, …),
FILE the body as JSON (`-` is standard input). Both stand on the App's page on GitHub under
Advanced → Recent Deliveries.

  --json   one JSON object instead of sentences

PATCHWARRANT_OWNERS and PATCHWARRANT_BOTS count, where they are set here. Nothing is sent to
anybody, and nothing is signed or checked for a signature.
Exit code: 0 something would happen, 1 nothing would, 2 wrong words or no payload.
"""
DONE, NOTHING, WRONG = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    as_json = "--json" in arguments
    words = [word for word in arguments if word != "--json"]
    if {"-h", "--help"} & set(words):
        sys.stdout.write(USAGE)
        return DONE
    if len(words) != 2 or (words[0].startswith("-")):
        sys.stderr.write(USAGE)
        return WRONG
    name, file = words
    try:
        owners, bots, amiss = settings.known(settings.environment())
    except settings.SettingsError as error:
        return _no(str(error))
    if amiss:
        return _no(amiss)
    try:
        body = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        return _no(f"{file} cannot be read: {error.strerror}. Give the body of a delivery as JSON.")
    if len(body) > CAPS.get(name, CAP):
        return _no(f"the body has more than {CAPS.get(name, CAP)} bytes: the receiver answers 413")
    try:
        found = read_event(name, body, bots)
    except (ValueError, RecursionError) as error:
        if name not in READ:
            return _no(
                f"{name[:60]!r} is none of the events that are read ({', '.join(sorted(READ))}), "
                f"and {file} is no payload either: {short(error)}. Say the name first, then FILE."
            )
        return _no(
            f"the receiver answers 400: {short(error)}. Is it the body of a `{name}` event, as "
            "GitHub shows it under Recent Deliveries?"
        )
    told = foretell(found, owners)
    if as_json:
        event = asdict(found) if isinstance(found, Event) else None
        sys.stdout.write(json.dumps(asdict(told) | {"event": event}, indent=2) + "\n")
    else:
        sys.stdout.write(_shown(name, told))
    return NOTHING if told.what in (IGNORED, REFUSED) else DONE


def _shown(name: str, told: Foretold) -> str:
    lines = [f"{told.what}: {told.summary}"]
    if told.what == IGNORED and name not in READ:
        lines.append(f"Of all events only these are read: {', '.join(sorted(READ))}.")
    if told.live:
        lines.append("Asked first, and each answer can still be no:")
        lines += [f"  - {one}" for one in told.live]
    if told.key:
        lines.append(f"Its key is {told.key}; the same key is never handled twice.")
    return "\n".join(lines) + "\n"


def _no(why: str) -> int:
    sys.stderr.write(f"patchwarrant event: {why}\n")
    return WRONG
