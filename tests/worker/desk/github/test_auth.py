"""The App's identity: keys in every spelling, JWTs, tokens compared with what was asked."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
import jwt
import pytest
import respx
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from app.domain.errors import Halt, IntegrityError, Reason, Refused, Unavailable
from tests.standins.github_world import REPO, Acme, keys
from tests.worker.desk.clock import Clock
from worker.desk.github.auth import App, KeyProblem, fresh_key, load_key

PEM = keys()[0]
API = "http://api.test"


def der() -> bytes:
    return load_pem_private_key(PEM.encode(), None).private_bytes(
        Encoding.DER, PrivateFormat.PKCS8, NoEncryption()
    )


SPELLINGS: dict[str, Callable[[], str]] = {
    "pem": lambda: PEM,
    "crlf": lambda: PEM.replace("\n", "\r\n"),
    "cr and n escaped": lambda: PEM.replace("\n", "\\r\\n"),
    "escaped": lambda: PEM.replace("\n", "\\n"),
    "quoted": lambda: f'"{PEM}"',
    "single-quoted and escaped": lambda: "'" + PEM.replace("\n", "\\n") + "'",
    "stray blanks": lambda: "\n  " + PEM.replace("\n", "  \n   ") + "\n\n",
    "byte order mark": lambda: "\ufeff" + PEM,
    "base64 of pem": lambda: base64.b64encode(PEM.encode()).decode(),
    "base64 of pem, wrapped": lambda: base64.encodebytes(PEM.encode()).decode(),
    "base64 of escaped": lambda: base64.b64encode(PEM.replace("\n", "\\n").encode()).decode(),
    "base64 of der": lambda: base64.b64encode(der()).decode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_key_loads_in_every_spelling(spelling: str) -> None:
    number = load_key(PEM).private_numbers()
    assert load_key(SPELLINGS[spelling]()).private_numbers() == number


@pytest.mark.parametrize("content", [PEM.encode(), PEM.replace("\n", "\\n").encode(), der()])
def test_a_key_loads_from_a_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key.pem").write_bytes(content)
    assert load_key(str(tmp_path / "key.pem")).key_size == 2048


def _encrypted() -> str:
    key = load_pem_private_key(PEM.encode(), None)
    return key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pw")
    ).decode()


def _other(key: object) -> str:
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: "", "empty"),
        (lambda: '""', "empty"),
        (lambda: "no key at all", "neither PEM"),
        (lambda: "/no/such/file.pem", "neither PEM"),
        (lambda: PEM[:400], "part is missing"),
        (_encrypted, "password"),
        (lambda: _other(ec.generate_private_key(ec.SECP256R1())), "not RSA"),
        (lambda: _other(rsa.generate_private_key(65537, 1024)), "shorter"),
        (lambda: base64.b64encode(b"words").decode(), "neither PEM"),
        (lambda: "x\0y", "neither PEM"),
    ],
)
def test_a_key_that_is_none_is_one_clear_sentence(make: Callable[[], str], words: str) -> None:
    text = make()
    with pytest.raises(KeyProblem, match=words) as problem:
        load_key(text)
    body = "".join(text.split())[40:80]
    assert not body or body not in str(problem.value)


def app(world: Acme | None = None, clock: Clock | None = None, off: float = 0) -> App:
    clock = clock or Clock()
    return App(
        id=str(world.app.app_id) if world else "77",
        key=load_key(PEM),
        api_url=world.standin.url if world else API,
        now=lambda: time.time() + off,
        clock=clock,
        sleep=clock.sleep,
    )


def test_the_jwt_is_short_lived_and_names_the_app_as_text() -> None:
    made = app()
    claims = jwt.decode(made.jwt(), made.key.public_key(), algorithms=["RS256"], issuer="77")
    assert claims["iss"] == "77"
    assert claims["exp"] - claims["iat"] == 600
    assert -62 < claims["iat"] - time.time() < -58
    assert claims["exp"] <= time.time() + 540
    assert "PRIVATE" not in repr(made) and "key" not in repr(made)


def test_a_token_is_for_one_repository_and_what_was_asked(world: Acme) -> None:
    made = app(world)
    token = made.mint(world.installation, world.repo_id, {"metadata": "read", "issues": "write"})
    assert token.repository.full_name == REPO and token.repository.id == world.repo_id
    assert token.permissions == {"metadata": "read", "issues": "write"}
    assert token.secret not in repr(token)
    assert 3_000_000 < token.expires - time.time() * 1000 < 3_700_000
    assert made.slug() == "patchwarrant"
    made.revoke(token.secret)
    made.revoke(token.secret)  # once more: it is ended already
    with world.with_token(token.secret) as rest:
        assert rest.get(f"/repos/{REPO}").status_code == 401


def test_a_renamed_repository_is_known_by_its_id(world: Acme) -> None:
    world.standin.configure_repo(REPO, rename="gadgets")
    token = app(world).mint(world.installation, world.repo_id, {"metadata": "read"})
    assert token.repository.full_name == "acme/gadgets"


@pytest.mark.parametrize("more", ["permission", "repository"])
def test_more_than_was_asked_is_revoked_and_refused(world: Acme, more: str) -> None:
    if more == "permission":
        world.standin.extra_grant(world.installation, permissions={"contents": "write"})
    else:
        world.standin.create_repo("acme/other", private=True)
        world.standin.change_installation(world.installation, add=["acme/other"])
        world.standin.extra_grant(world.installation, repositories=["acme/other"])
    with pytest.raises(IntegrityError, match="revoked"):
        app(world).mint(world.installation, world.repo_id, {"issues": "read", "metadata": "read"})
    assert [r["path"] for r in world.standin.log() if r["method"] == "DELETE"] == [
        "/installation/token"
    ]


def test_a_suspended_or_missing_installation_ends_the_run(world: Acme) -> None:
    world.standin.suspend(world.installation, True)
    with pytest.raises(Halt) as stop:
        app(world).mint(world.installation, world.repo_id, {"metadata": "read"})
    assert stop.value.record.reason is Reason.INSTALLATION
    with pytest.raises(Halt) as stop:
        app(world).mint(999_999, world.repo_id, {"metadata": "read"})
    assert stop.value.record.reason is Reason.INSTALLATION


def test_a_permission_that_the_installation_lacks_ends_the_run(world: Acme) -> None:
    world.standin.change_installation(world.installation, permissions={"metadata": "read"})
    with pytest.raises(Halt) as stop:
        app(world).mint(world.installation, world.repo_id, {"issues": "write"})
    assert stop.value.record.reason is Reason.INSTALLATION


@pytest.mark.parametrize("off", [-3600, 3600])
def test_a_clock_that_is_off_is_named_with_its_seconds(world: Acme, off: int) -> None:
    with pytest.raises(Refused, match=r"off by about -?3[56]\d\d s"):
        app(world, off=off).slug()
    with pytest.raises(Unavailable, match="operator must mend") as stop:
        app(world, off=off).mint(world.installation, world.repo_id, {"metadata": "read"})
    assert stop.value.retry_after


def test_a_foreign_key_is_named_as_that(world: Acme) -> None:
    made = app(world)
    stranger = App(
        made.id,
        rsa.generate_private_key(65537, 2048),
        made.api_url,
        made.now,
        made.clock,
        made.sleep,
    )
    with pytest.raises(Refused, match="belong together"):
        stranger.slug()


def test_a_key_that_was_replaced_is_read_anew_once_the_old_one_is_refused(
    world: Acme, tmp_path: Path
) -> None:
    """F41: until the new one is there, runs wait; then the same process goes on with it."""
    file = tmp_path / "app-key.pem"
    old = rsa.generate_private_key(65537, 2048)
    file.write_text(_other(old), encoding="utf-8")
    made = replace(app(world), key=old, fresh=lambda: fresh_key(str(file), ""), newer=[])
    for content in (_other(old), "half a k"):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(Unavailable, match="belong together"):
            made.mint(world.installation, world.repo_id, {"metadata": "read"})
    file.write_text(PEM, encoding="utf-8")
    token = made.mint(world.installation, world.repo_id, {"metadata": "read"})
    assert token.secret and made.slug() == "patchwarrant"
    file.unlink()
    assert made.slug() == "patchwarrant", "and it is not read again without need"
    assert "PRIVATE KEY" not in repr(made)


def test_another_apps_answer_is_refused() -> None:
    with respx.mock:
        respx.get(f"{API}/app").respond(json={"id": 78, "slug": "other", "client_id": "Iv1.x"})
        with pytest.raises(IntegrityError, match="another App"):
            app().slug()


def test_neither_repository_nor_permissions_may_be_missing() -> None:
    with pytest.raises(IntegrityError), respx.mock:
        app().mint(1, 0, {"metadata": "read"})
    with pytest.raises(IntegrityError), respx.mock:
        app().mint(1, 1, {})


@respx.mock
def test_a_minting_that_fails_is_repeated_a_few_times_then_waits() -> None:
    clock = Clock()
    route = respx.post(f"{API}/app/installations/5/access_tokens")
    route.side_effect = [httpx.Response(502), httpx.ConnectError("no"), httpx.Response(503)] * 2
    with pytest.raises(Unavailable):
        app(clock=clock).mint(5, 7, {"metadata": "read"})
    assert route.call_count == 4 and clock.slept == [1.0, 2.0, 4.0]


@respx.mock
@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"token": "ghs_x", "expires_at": "never"},
        {"repositories": [{"id": 8, "full_name": "o/r"}]},
        {"repositories": []},
        {"repository_selection": "all"},
        {"permissions": None},
        {"token": None},
    ],
)
def test_an_answer_with_a_part_amiss_gives_no_token(broken: dict[str, object]) -> None:
    good = {
        "token": "ghs_x",
        "expires_at": "2099-01-01T00:00:00Z",
        "permissions": {"metadata": "read"},
        "repository_selection": "selected",
        "repositories": [{"id": 7, "full_name": "o/r"}],
    }
    revoked = respx.delete(f"{API}/installation/token").respond(204)
    respx.post(f"{API}/app/installations/5/access_tokens").respond(201, json=good | broken)
    if broken:
        with pytest.raises(IntegrityError):
            app().mint(5, 7, {"metadata": "read"})
        assert revoked.called == (broken.get("token", "") is not None)
    else:
        assert app().mint(5, 7, {"metadata": "read"}).secret == "ghs_x"


@respx.mock
def test_a_revocation_that_never_succeeds_is_said() -> None:
    clock = Clock()
    respx.delete(f"{API}/installation/token").mock(side_effect=httpx.ReadTimeout("slow"))
    with pytest.raises(Unavailable, match="tried again"):
        app(clock=clock).revoke("ghs_x")
    assert clock.slept == [1.0, 2.0, 4.0]
