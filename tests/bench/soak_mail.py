"""The deliveries of a soak: every label's delivery twice, shuffled, to whichever receiver lives."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from tests.crash.town import PERSON, Town
from tests.e2e.conftest import ISSUE

SECRET = b"the webhook secret of a soak"
APART = 0.05  # seconds between two deliveries
PATIENCE = 60.0  # seconds without any receiver


@dataclass(frozen=True)
class Letter:
    """One delivery as GitHub signed it."""

    guid: str
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "x-github-event": "issues",
            "x-github-delivery": self.guid,
            "x-hub-signature-256": "sha256="
            + hmac.new(SECRET, self.body, hashlib.sha256).hexdigest(),
        }


def labelled(town: Town, names: Sequence[str], issues: int) -> list[Letter]:
    """Open and label the issues, in turn in these repositories; their deliveries."""
    hub = town.hub
    for count in range(issues):
        name = names[count % len(names)]
        number = hub.open_issue(name, PERSON, "Wrong", ISSUE)
        hub.add_label(name, number, PERSON, "agent:fix")
    return [
        Letter(one["guid"], one["payload"].encode())
        for one in hub.deliveries()
        if one["event"] == "issues" and one["action"] == "labeled"
    ][-issues:]


def twice(letters: Sequence[Letter], rng: random.Random) -> list[Letter]:
    """Each letter twice, in any order."""
    copies = [*letters, *letters]
    rng.shuffle(copies)
    return copies


def sent(copies: Sequence[Letter], ports: Sequence[int], rng: random.Random) -> None:
    """Bring each to one of the receivers, as a load balancer does; what none took yet is tried
    again. Raises `TimeoutError`, and `ValueError` for a refusal."""
    with httpx.Client(trust_env=False, timeout=30) as client:
        for letter in copies:
            ends = time.monotonic() + PATIENCE
            while not _taken(client, letter, rng.choice(ports)):
                if time.monotonic() > ends:
                    raise TimeoutError("no receiver takes a delivery")
                time.sleep(0.02)
            time.sleep(APART)


def _taken(client: httpx.Client, letter: Letter, port: int) -> bool:
    url = f"http://127.0.0.1:{port}/webhooks/github"
    try:
        answer = client.post(url, content=letter.body, headers=letter.headers)
    except httpx.HTTPError:
        return False
    if 400 <= answer.status_code < 500:
        raise ValueError(f"a receiver refused a delivery: {answer.status_code} {answer.text}")
    return answer.is_success


class _Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(202)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing to say."""


def sink(port: int) -> None:
    """Take what GitHub's stand-in delivers by itself: the soak brings everything on its own, and
    what was never taken would be asked for once more."""
    http.server.ThreadingHTTPServer(("127.0.0.1", port), _Sink).serve_forever()
