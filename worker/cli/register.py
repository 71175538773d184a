"""`patchwarrant register`: the App is registered from a page on this machine, in one click.

The page posts the App's manifest to GitHub; a person agrees there; GitHub sends the browser back
with a one-time code, which is exchanged for the App's id, private key and webhook secret. They go
into files that only this user can read, and are never printed. Nothing is ever overwritten.
"""

from __future__ import annotations

import argparse
import hmac
import secrets
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

import httpx

from app.domain import registration
from app.domain.registration import Registered, Unusable
from worker.cli.register_files import Places, kept, taken
from worker.settings.door import Door
from worker.settings.usual import API_URL, SERVER_URL

CLIENT = httpx.Timeout(30.0, connect=10.0)
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "origin",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Asked:
    """What the operator's words and settings say; `address` is the receiver's, without a path."""

    address: str
    organisation: str
    name: str
    owners: tuple[str, ...]
    places: Places
    port: int
    seconds: float
    browser: bool
    poll: bool
    server_url: str
    api_url: str


def main(door: Door, arguments: list[str]) -> int:
    """Exit code: 0 registered, 1 not, 2 wrong words or settings."""
    asked = _asked(door, arguments)
    if isinstance(asked, str):
        return _no(asked, 2)
    found = taken(asked.places)
    if found:
        return _no(f"{found} Nothing was registered.", 1)
    try:
        desk = Desk(asked)
    except OSError as error:
        why = f"port {asked.port} of this machine cannot be used: {error.strerror}."
        return _no(f"{why} Name another with --port, or none: then a free one is taken.", 2)
    try:
        made = desk.serve()
    except (Unusable, httpx.HTTPError, OSError) as error:
        return _no(str(error) or type(error).__name__, 1)
    if made is None:
        return _no("nobody registered anything in time. Start it again when you are ready.", 1)
    try:
        kept(asked.places, made, asked.owners, _more(asked))
    except (OSError, ValueError) as error:
        return _no(
            f"the App {made.slug} ({made.id}) was registered, but its key could not be kept: "
            f"{error}. Make a new private key and webhook secret on {_page(asked, made)}, or "
            "delete the App there and start again.",
            1,
        )
    _tell(asked, made)
    return 0


class Desk:
    """The page on this machine: one secret address, one state, one registration."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.place, self.state = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.made: Registered | None = None
        self.failed: Unusable | httpx.HTTPError | None = None
        self.once, self.answered = threading.Lock(), threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", asked.port), _handler(self))
        self.port = self.server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"
        redirect = f"{self.origin}/{self.place}/registered"
        self.headers = HEADERS | {
            "Content-Security-Policy": "default-src 'none'; base-uri 'none'; "
            f"frame-ancestors 'none'; form-action {asked.server_url}"
        }
        self.manifest = registration.manifest(asked.name, asked.address, redirect)

    def serve(self) -> Registered | None:
        """What was registered; None when the time was over. Raises `Unusable`, `HTTPError`."""
        address = f"{self.origin}/{self.place}"
        print(f"Open this page in a browser on this machine and click once:\n\n  {address}\n")
        print(
            "On a machine without a browser, first on yours:\n"
            f"  ssh -N -L {self.port}:127.0.0.1:{self.port} THIS-MACHINE\n",
            flush=True,
        )
        if self.asked.browser:
            webbrowser.open(address)
        ends = time.monotonic() + self.asked.seconds
        try:
            while not self.answered.is_set() and time.monotonic() < ends:
                self.server.timeout = max(0.1, min(1.0, ends - time.monotonic()))
                self.server.handle_request()
        finally:
            self.server.server_close()
        if self.failed is not None:
            raise self.failed
        return self.made

    def answer(self, host: str, target: str) -> tuple[int, str]:
        """(status, HTML) of a GET."""
        parts = urlsplit(target)
        if host != f"127.0.0.1:{self.port}":
            return 403, _plain("This page is asked for by its own address alone.")
        if hmac.compare_digest(parts.path.encode(), f"/{self.place}".encode()):
            to = registration.action(self.asked.server_url, self.asked.organisation, self.state)
            return 200, registration.page(to, self.manifest)
        if hmac.compare_digest(parts.path.encode(), f"/{self.place}/registered".encode()):
            return self._registered(parse_qs(parts.query))
        return 404, _plain("There is nothing here. Use the whole address that was printed.")

    def _registered(self, query: dict[str, list[str]]) -> tuple[int, str]:
        state, code = (query.get(name, [""])[0] for name in ("state", "code"))
        if not hmac.compare_digest(state.encode(), self.state.encode()):
            return 403, _plain("This answer belongs to another registration; nothing was done.")
        if not registration.CODE.fullmatch(code):
            return 400, _plain("GitHub sent no code. Begin again on the first page.")
        if not self.once.acquire(blocking=False):
            return 409, _plain("This registration is done or under way already.")
        try:
            self.made = self._exchange(code)
        except (Unusable, httpx.HTTPError) as error:
            self.failed = error
            return 502, _plain("The code could not be exchanged; the terminal says why.")
        return 200, _plain("Registered. The rest is said in the terminal; close this page.")

    def _exchange(self, code: str) -> Registered:
        with httpx.Client(
            base_url=self.asked.api_url, timeout=CLIENT, trust_env=False, follow_redirects=False
        ) as client:
            answer = client.post(
                f"/app-manifests/{code}/conversions",
                headers={"Accept": "application/vnd.github+json", "User-Agent": "patchwarrant"},
            )
        if answer.status_code != 201:
            raise Unusable(
                f"GitHub answered {answer.status_code} to the exchange of the code. A code is good "
                "once and for an hour: start again. An App that is there already is deleted on its "
                "page on GitHub."
            )
        try:
            data: Any = answer.json()
        except ValueError:
            raise Unusable("GitHub's answer to the exchange is no JSON") from None
        return registration.registered(data, self.manifest)


def _handler(desk: Desk) -> type[BaseHTTPRequestHandler]:
    class Page(BaseHTTPRequestHandler):
        timeout = 10
        server_version, sys_version = "patchwarrant", ""

        def do_GET(self) -> None:
            status, text = desk.answer(self.headers.get("host", ""), self.path)
            body = text.encode()
            self.send_response(status)
            for name, value in desk.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
            if desk.made is not None or desk.failed is not None:
                desk.answered.set()

        def log_message(self, format: str, *arguments: object) -> None:
            return  # a request's line holds the code

    return Page


def _plain(text: str) -> str:
    return registration.document("Patchwarrant", f"<p>{text}</p>")


def _more(asked: Asked) -> dict[str, str]:
    """Settings besides the App's own that follow from what was asked."""
    own = asked.server_url == SERVER_URL
    more = {} if own else {"GITHUB_SERVER_URL": asked.server_url, "GITHUB_API_URL": asked.api_url}
    return more | ({"PATCHWARRANT_INTAKE": "poll"} if asked.poll else {})


def _tell(asked: Asked, made: Registered) -> None:
    places = asked.places
    print(f"Registered: {made.slug}, App id {made.id}, owned by {made.owner}.\n")
    print(f"  {places.key}      the private key, readable by this user alone")
    print(f"  {places.secret}   the webhook secret, the same way")
    print(f"  {places.settings}   PATCHWARRANT_APP_ID, PATCHWARRANT_OWNERS and where the files are")
    for one in made.amiss:
        print(f"  warning: {one}; mend it on {_page(asked, made)}")
    install = f"{asked.server_url}/apps/{made.slug}/installations/new"
    print(f"\nNext:\n  1. Install it: {install}")
    print("  2. The other secrets: patchwarrant key seal FILE, patchwarrant key signing FILE")
    print(f"  3. Start the roles with PATCHWARRANT_ENV_FILE={places.settings}")
    print("  4. patchwarrant doctor OWNER/REPOSITORY says what is missing, the fence first")


def _page(asked: Asked, made: Registered) -> str:
    return registration.settings_page(asked.server_url, asked.organisation, made.slug)


def _asked(door: Door, arguments: Sequence[str]) -> Asked | str:
    """What to do, or why the words do not fit."""
    given = _parser().parse_args(arguments)
    server = door.url("GITHUB_SERVER_URL", SERVER_URL)
    usual = API_URL if server == SERVER_URL else f"{server}/api/v3"
    api = door.url("GITHUB_API_URL", usual)
    door.close()
    if bool(given.url) == bool(given.poll):
        return "say --url https://HOST (where GitHub reaches the receiver), or --poll. See --help."
    address = registration.NOWHERE if given.poll else given.url.rstrip("/")
    parts = _parts(address)
    if (
        parts is None
        or parts.scheme not in ("https", "http")
        or not parts.hostname
        or parts.query
        or parts.username
    ):
        return f"--url: an address like https://HOST is wanted, not {given.url!r}"
    address = address.removesuffix(registration.HOOK_PATH)
    logins = [one.strip() for one in given.owners.split(",") if one.strip()]
    for login in (*logins, *([given.org] if given.org else [])):
        if not registration.LOGIN.fullmatch(login):
            return f"{login!r} is no account's name"
    name = given.name or f"patchwarrant-{secrets.token_hex(4)}"
    if len(name) > registration.NAME_CAP:
        return f"--name: GitHub takes at most {registration.NAME_CAP} characters"
    return Asked(
        address, given.org, name, tuple(logins), Places.below(Path(given.folder)), given.port,
        given.wait, given.open, given.poll, server, api,
    )  # fmt: skip


def _parts(address: str) -> SplitResult | None:
    """The parts of an address whose port, too, is one; else None."""
    try:
        parts = urlsplit(address)
        return parts if parts.port != 0 else None
    except ValueError:
        return None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < 65_536):
        raise argparse.ArgumentTypeError(f"a port from 0 to 65535 is wanted, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e6:
        raise argparse.ArgumentTypeError(f"seconds above 0 are wanted, not {text!r}")
    return found


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="patchwarrant register",
        description="Register the App on GitHub from a page on this machine, in one click. Keys go "
        "into files that only this user can read; nothing is overwritten.",
        epilog="For GitHub Enterprise Server set GITHUB_SERVER_URL=https://HOST. "
        "Exit code: 0 registered, 1 not, 2 wrong words.",
    )
    made.add_argument("--url", default="", help="where GitHub reaches the receiver: https://HOST")
    made.add_argument(
        "--poll", action="store_true", help="no public address: the desk reads deliveries itself"
    )
    made.add_argument("--org", default="", help="the organisation that shall own the App")
    made.add_argument(
        "--owners", default="", help="further accounts that may use this instance, by commas"
    )
    made.add_argument("--name", default="", help="the App's name; unique on GitHub, 34 characters")
    made.add_argument(
        "--folder", default="manifests", help="where secrets/ and .env go (default: manifests)"
    )
    made.add_argument("--port", type=_port, default=0, help="the page's port (default: a free one)")
    made.add_argument("--wait", type=_seconds, default=3600, help="seconds to wait for the click")
    made.add_argument("--open", action="store_true", help="open the page in this machine's browser")
    return made


def _no(why: str, code: int) -> int:
    sys.stderr.write(f"patchwarrant register: {why}\n")
    return code
