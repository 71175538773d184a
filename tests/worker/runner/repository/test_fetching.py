"""Fetching from a real git server: one commit, one origin, one token, and nothing left behind."""

from __future__ import annotations

import base64
import fcntl
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_server

import pygit2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from app.domain.errors import Missing, Refused, Unavailable
from tests.standins.github import GitHubStandin
from tests.standins.github_world import REPO, Acme, acme
from tests.worker.runner.repository.plumbing import Git
from worker.runner.repository import Store, fetching, mirror
from worker.runner.repository.mirror import store_path


@pytest.fixture(scope="module")
def world() -> Iterator[Acme]:
    with GitHubStandin() as hub:
        yield acme(hub)


@pytest.fixture
def url(world: Acme) -> str:
    return f"{world.standin.git_url}/{REPO}.git"


@pytest.fixture
def token(world: Acme) -> str:
    return world.mint(contents="read")


def remote(world: Acme) -> Git:
    return Git(world.standin.root / f"{REPO}.git")


def test_one_commit_is_fetched_by_its_id(
    store: Store, git: Git, world: Acme, url: str, token: str
) -> None:
    tree = store.fetch(url, token, world.head)
    assert tree == remote(world).text("rev-parse", f"{world.head}^{{tree}}")
    store.validate(tree)
    assert store.read(tree, "README.md") == b"# Widgets\n"
    assert git.text("for-each-ref", "--format=%(refname) %(objectname)") == (
        f"refs/base/{world.head} {world.head}"
    )
    git.run("fsck", "--strict")


def test_history_stays_on_the_other_side_and_an_older_commit_can_be_had(
    store: Store, git: Git, world: Acme, url: str, token: str
) -> None:
    newer = world.standin.push(REPO, "alice", "main", {"README.md": "# New\n"}, "Second")
    tree = store.fetch(url, token, newer)
    assert git.text("rev-list", "--count", newer) == "1"
    older = store.fetch(url, token, world.head)
    assert {d.path for d in store.deltas(older, tree)} == {"README.md"}
    git.run("fsck", "--strict")


def test_a_commit_that_is_here_is_not_asked_for_again(
    store: Store, path: Path, world: Acme, url: str, token: str
) -> None:
    tree = store.fetch(url, token, world.head)
    assert Store(path).fetch("https://nowhere.invalid/x.git", "no token", world.head) == tree


def test_neither_token_nor_address_is_written_anywhere(
    store: Store, path: Path, world: Acme, url: str, token: str
) -> None:
    store.fetch(url, token, world.head)
    for file in path.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert token.encode() not in data
            assert base64.b64encode(f"x-access-token:{token}".encode()) not in data
            assert b"127.0.0.1" not in data


@pytest.mark.parametrize("commit", ["main", "HEAD", "refs/heads/main", "abc123", "", "A" * 40])
def test_only_full_commit_ids_are_fetched(store: Store, url: str, token: str, commit: str) -> None:
    with pytest.raises(Refused, match="full commit id"):
        store.fetch(url, token, commit)


def test_an_unknown_commit_is_missing_and_leaves_nothing(
    store: Store, git: Git, url: str, token: str
) -> None:
    with pytest.raises(Missing):
        store.fetch(url, token, "1" * 40)
    assert git.text("for-each-ref") == ""


def test_a_tree_or_tag_id_is_no_commit(
    store: Store, git: Git, world: Acme, url: str, token: str
) -> None:
    tag = f"object {world.head}\ntype commit\ntag v1\ntagger A <a@example.org> 0 +0000\n\nt\n"
    for place in (remote(world), git):  # there, and in a store that has it already
        store.fetch(url, token, world.head)
        tree = place.text("rev-parse", f"{world.head}^{{tree}}")
        tag_id = place.text("hash-object", "-t", "tag", "-w", "--stdin", data=tag.encode())
        for oid in (tree, tag_id):
            if place is git:
                git.run("update-ref", f"refs/base/{oid}", oid)
            with pytest.raises((Missing, Unavailable)) as stopped:
                store.fetch(url, token, oid)
            assert place is not git or "not a commit" in str(stopped.value)


def test_a_bad_token_is_refused_after_one_try(store: Store, world: Acme, url: str) -> None:
    with pytest.raises(Refused) as stopped:
        store.fetch(url, "ghs_wrong", world.head)
    assert "ghs_wrong" not in str(stopped.value)


def test_an_unknown_repository_is_missing(store: Store, world: Acme, token: str) -> None:
    with pytest.raises(Missing):
        store.fetch(f"{world.standin.git_url}/acme/nothing.git", token, world.head)


def test_too_large_a_commit_is_cut_and_leaves_nothing(
    path: Path, world: Acme, url: str, token: str
) -> None:
    noise = base64.b64encode(os.urandom(300_000)).decode()
    head = world.standin.push(REPO, "alice", "large", {"noise": {"base64": noise}}, "Large")
    small = Store(path, limit=50_000)
    with pytest.raises(Refused, match="larger than"):
        small.fetch(url, token, head)
    assert Git(path).text("for-each-ref") == ""
    assert Store(path).fetch(url, token, head)


def test_several_processes_may_fetch_into_one_store(
    path: Path, world: Acme, url: str, token: str
) -> None:
    heads = [
        world.standin.push(REPO, "alice", f"b{n}", {f"f{n}": "x\n"}, "Branch") for n in range(3)
    ]
    code = (
        "import sys; from pathlib import Path; from worker.runner.repository import Store\n"
        "print(Store(Path(sys.argv[1])).fetch(sys.argv[2], sys.stdin.read(), sys.argv[3]))"
    )
    Store(path)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), url, head],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for head in heads
    ]
    trees = [process.communicate(token)[0].strip() for process in running]
    store = Store(path)
    for head, tree in zip(heads, trees, strict=True):
        assert tree == remote(world).text("rev-parse", f"{head}^{{tree}}")
        store.validate(tree)
    Git(path).run("fsck", "--strict")


def test_configuration_of_user_and_machine_is_not_read(
    path: Path, tmp_path: Path, world: Acme, url: str, token: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[url "http://127.0.0.1:1/"]\n\tinsteadOf = {url[:20]}\n')
    code = (
        "import sys; from pathlib import Path; from worker.runner.repository import Store\n"
        "print(Store(Path(sys.argv[1])).fetch(sys.argv[2], sys.stdin.read(), sys.argv[3]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), url, world.head],
        input=token,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home)},
        check=True,
    )
    assert done.stdout.strip() == remote(world).text("rev-parse", f"{world.head}^{{tree}}")


# -- servers that are not what they should be


@contextmanager
def server(
    handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    made.handle_error = lambda *_: None  # type: ignore[method-assign]
    if tls:
        made.socket = tls.wrap_socket(made.socket, server_side=True)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        thread.join()
        made.server_close()


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def answer(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def test_a_redirect_to_another_host_is_given_no_token(store: Store, world: Acme) -> None:
    seen: list[str | None] = []

    class Thief(Quiet):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.answer(401, {"WWW-Authenticate": 'Basic realm="x"'})

    with server(Thief) as thief:

        class Redirects(Quiet):
            def do_GET(self) -> None:
                self.answer(301, {"Location": f"{thief}{self.path}"})

        with server(Redirects) as first, pytest.raises(Refused, match="another host"):
            store.fetch(f"{first}/acme/widgets.git", "ghs_secret", world.head)
    assert seen
    assert set(seen) == {None}


def test_a_redirect_after_the_token_was_given_does_not_take_it_along(
    store: Store, world: Acme
) -> None:
    seen: list[str | None] = []

    class Thief(Quiet):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.answer(404)

    with server(Thief) as thief:

        class Asks(Quiet):
            def do_GET(self) -> None:
                if self.headers.get("Authorization") is None:
                    self.answer(401, {"WWW-Authenticate": 'Basic realm="x"'})
                else:
                    self.answer(302, {"Location": f"{thief}{self.path}"})

        with server(Asks) as first, pytest.raises((Refused, Missing, Unavailable)):
            store.fetch(f"{first}/acme/widgets.git", "ghs_secret", world.head)
    assert not [value for value in seen if value]


@pytest.mark.parametrize(
    ("status", "fault"), [(404, Missing), (403, Refused), (500, Unavailable), (503, Unavailable)]
)
def test_a_status_becomes_one_of_our_faults(
    store: Store, world: Acme, status: int, fault: type[Exception]
) -> None:
    class Says(Quiet):
        def do_GET(self) -> None:
            self.answer(status)

    with server(Says) as url, pytest.raises(fault):
        store.fetch(f"{url}/x.git", "t", world.head)


@pytest.mark.parametrize("body", [b"", b"nonsense", b"001e# service=git-upload-pack\n0000"])
def test_nonsense_is_an_unavailable_server(store: Store, world: Acme, body: bytes) -> None:
    class Nonsense(Quiet):
        def do_GET(self) -> None:
            kind = "application/x-git-upload-pack-advertisement"
            self.answer(200, {"Content-Type": kind}, body)

    with server(Nonsense) as url, pytest.raises((Unavailable, Missing)):
        store.fetch(f"{url}/x.git", "t", world.head)


def test_a_token_that_is_not_taken_is_sent_once(store: Store, world: Acme) -> None:
    seen: list[str | None] = []

    class Never(Quiet):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.answer(401, {"WWW-Authenticate": 'Basic realm="x"'})

    with server(Never) as url, pytest.raises(Refused, match="token"):
        store.fetch(f"{url}/x.git", "ghs_secret", world.head)
    assert len([value for value in seen if value]) == 1


def test_a_second_fetch_into_the_same_folder_waits(
    store: Store, path: Path, world: Acme, url: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "LOCK_SECONDS", 600.0)  # whatever other tests of this process set
    store.fetch(url, token, world.head)
    lock = next(path.glob("*.lock"))
    done: list[str] = []
    second = threading.Thread(target=lambda: done.append(store.fetch(url, token, world.head)))
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        second.start()
        second.join(0.3)
        assert not done
    second.join(120)
    assert done


def test_an_untrusted_certificate_is_refused_before_the_token_goes_out(
    store: Store, world: Acme, tmp_path: Path
) -> None:
    asked: list[str] = []

    class Asks(Quiet):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.answer(401, {"WWW-Authenticate": 'Basic realm="x"'})

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path / "own.pem"))
    with server(Asks, context) as url, pytest.raises(Refused, match="certificate"):
        store.fetch(f"{url}/x.git", "ghs_secret", world.head)
    assert not asked


def self_signed(path: Path) -> Path:
    """A key and a certificate for 127.0.0.1 that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(key.private_bytes(pem, *plain) + made.public_bytes(pem))
    return path


def test_a_server_that_says_nothing_times_out(
    store: Store, world: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pygit2.settings.server_timeout
    assert before == fetching.SILENCE_MS
    pygit2.settings.server_timeout = 300
    try:
        with create_server(("127.0.0.1", 0)) as silent, pytest.raises(Unavailable):
            store.fetch(f"http://127.0.0.1:{silent.getsockname()[1]}/x.git", "t", world.head)
    finally:
        pygit2.settings.server_timeout = before


def test_nobody_listening_is_unavailable(store: Store, world: Acme) -> None:
    with create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unavailable):
        store.fetch(f"http://127.0.0.1:{port}/x.git", "t", world.head)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x.git",
        "http://10.0.0.1/x.git",
        "http://localhost.evil.org/x.git",
        "git://127.0.0.1/x",
        "/tmp/x",
        "file:///x",
        "ssh://git@example.org/x",
        "ext::sh -c true",
        "https://user:pw@example.org/x",
        "",
    ],
)
def test_a_token_goes_to_https_only(store: Store, url: str) -> None:
    with pytest.raises(Refused):
        store.fetch(url, "t", "1" * 40)


def test_origins_differ_by_scheme_host_and_port() -> None:
    same = fetching.origin_of("https://GitHub.com/a")
    assert same == fetching.origin_of("https://github.com/b/c")
    for other in ("http://github.com", "https://github.com:444", "https://github.com.evil.org"):
        assert fetching.origin_of(other) != same


def test_a_store_lies_under_the_repository_s_id(tmp_path: Path) -> None:
    assert store_path(tmp_path, 42) == tmp_path / "42.git"


def test_a_process_that_hangs_in_its_fetch_keeps_nobody_for_ever(
    store: Store, path: Path, world: Acme, url: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "LOCK_SECONDS", 0.2)
    store.fetch(url, token, world.head)
    lock = next(path.glob("*.lock"))
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Unavailable, match="tried again later"):
            Store(path).fetch(url, token, world.head)
    assert Store(path).fetch(url, token, world.head)
