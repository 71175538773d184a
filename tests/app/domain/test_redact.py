"""Secrets never reach a sink, in whatever spelling; ordinary text does."""

from __future__ import annotations

import base64
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.redact import GONE, Redactor, secret_kinds, without_secrets

A36 = "aB3" * 12
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEpQIBAAKCAQEA\n" * 12
    + "-----END RSA PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3.SflKxwRJSMeKKF2QT4f"

SHAPES = {
    "GitHub token": f"ghs_{A36}",
    "Anthropic key": f"sk-ant-api03-{A36}",
    "OpenAI key": f"sk-proj-{A36}",
    "AWS access key id": "AKIAIOSFODNN7EXAMPLE",
    "AWS secret key": "aws_secret_access_key = '" + "aB3/" * 10 + "'",
    "Google key": "AIza" + "aB3-_" * 7,
    "Slack token": "xoxb-123456789012-abcdef",
    "Slack webhook": "https://hooks.slack.com/services/T01234567/B0123456/aB3aB3aB3aB3aB3aB3",
    "Discord webhook": f"https://discord.com/api/webhooks/1234567890/{A36}",
    "Stripe key": "sk_live_" + A36,
    "GitLab token": "glpat-" + A36,
    "npm token": "npm_" + A36,
    "PyPI token": "pypi-" + A36 + A36,
    "Hugging Face token": "hf_" + A36,
    "SendGrid key": f"SG.{A36}.{A36}",
    "JSON web token": JWT,
    "private key": KEY,
    "password in a URL": "https://bob:x9Kd83mZq0PlW72vBn4T@example.org/x",
    "random value under a secret's name": 'API_TOKEN = "x9Kd83mZq0PlW72vBn4T"',
}


@pytest.mark.parametrize("kind", SHAPES, ids=str)
def test_a_secret_by_its_shape_is_named_but_not_shown(kind: str) -> None:
    kinds = secret_kinds([f"+ x = {SHAPES[kind]}"])
    assert kind in kinds
    assert not any(A36 in one for one in kinds)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("DATABASE_URL = 'postgres://shop:Kr7mWq2p@db.shop.net/x'", "password in a URL"),
        ("amqp://jobs:9fh3-kd82@mq", "password in a URL"),
        ("password = 'Tr0ub4dor&3'", "password"),
        ('  "passwd": "hUnter2-7"', "password"),
    ],
)
def test_a_short_password_is_found_where_it_is_one(line: str, kind: str) -> None:
    assert secret_kinds([line]) == (kind,)


@pytest.mark.parametrize("kind", sorted(set(SHAPES) - {"random value under a secret's name"}))
def test_a_secret_by_its_shape_is_redacted(kind: str) -> None:
    shown = Redactor().redact(f"before {SHAPES[kind]} after")
    assert GONE in shown
    assert shown.startswith("before ")
    for part in (
        "aB3aB3",
        "aB3/aB3/",
        "MIIE",
        "SflK",
        "x9Kd",
        "IOSFODNN",
        "123456789012",
        "aB3-_a",
    ):
        assert part not in shown


@pytest.mark.parametrize(
    "token", [f"ghs_{A36}", f"ghs_12345_{A36}.{A36}-{A36}", f"ghp_{A36}", f"github_pat_{A36}"]
)
def test_github_tokens_of_old_and_new_form_go(token: str) -> None:
    assert Redactor().redact(f"x\x1b[1m{token}\x1b[0m") == f"x\x1b[1m{GONE}\x1b[0m"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://x-access-token:abc@github.com/o/r", f"https://{GONE}@github.com/o/r"),
        ("ssh://git@github.com/o/r", "ssh://git@github.com/o/r"),
        ("Authorization: Bearer abc.def", f"Authorization: {GONE}"),
        ('{"x-api-key": "abc"}', f'{{"x-api-key": "{GONE}"}}'),
        ("AUTHORIZATION: basic YTpi", f"AUTHORIZATION: {GONE}"),
        ("sent Bearer abcdefghijklmnop12", f"sent Bearer {GONE}"),
        ("tests/test_auth.py::test_token eyJ.a.b sk-learn ghs_short", None),
        ("a bearer of bad news; an authorization check", None),
    ],
)
def test_headers_and_addresses(text: str, shown: str | None) -> None:
    assert Redactor().redact(text) == (text if shown is None else shown)


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60),
    st.binary(max_size=4),
    st.binary(max_size=4),
)
def test_a_known_value_goes_in_every_spelling(value: str, before: bytes, after: bytes) -> None:
    redactor = Redactor([value])
    mixed = before + value.encode() + after
    spelled = [value, quote(value, safe=""), value.encode().hex(), value.encode().hex().upper()]
    spelled += [base64.b64encode(mixed).decode(), base64.urlsafe_b64encode(mixed).decode()]
    for text in spelled:
        assert redactor.knows(f"x{text}y")
        assert value not in redactor.redact(f"x{text}y")
        assert text not in redactor.redact(f"x{text}y")


def test_a_key_of_many_lines_goes_line_by_line_and_with_escaped_newlines() -> None:
    odd = "\n".join(["-----BEGIN THING-----", "Zm9vYmFyYmF6cXV4" * 2, "c2Vjb25kbGluZXNlY29uZA=="])
    redactor = Redactor([odd])
    assert "Zm9v" not in redactor.redact("log: " + odd.splitlines()[1])
    assert "Zm9v" not in redactor.redact(odd.replace("\n", "\\n"))


def test_short_and_missing_values_redact_nothing() -> None:
    assert Redactor(["", "abc"]).redact("abc def") == "abc def"
    assert not Redactor([""]).knows("abc")
    assert repr(Redactor(["topsecret"])) == "Redactor()"


@pytest.mark.parametrize(
    "line",
    [
        "token = request.headers['x']",
        "password = 'correct horse battery staple'",
        'API_KEY = "your-api-key-goes-here"',
        "url = 'http://user:pass@localhost/'",
        "sha = 'da39a3ee5e6b4b0d3255bfef95601890afd80709'",
        "-----BEGIN PRIVATE KEY----- is how such a file begins",
        "secret = 'aaaaaaaaaaaaaaaaaaaaaaaaaaa1'",
        "postgres://postgres:postgres@db/app",
        "postgres://app:app12345@localhost:5432/app",
        "redis://:changeme99@cache",
        "https://${USER}:${PASSWORD9}@host/x",
        "https://bob:Kr7mWq2p@git.example.com/x",
        'password = "Passw0rd!"',
        "password = form['Password1']",
        'password: "<your Passw0rd>"',
    ],
)
def test_ordinary_code_holds_no_secret(line: str) -> None:
    assert secret_kinds([line]) == ()


def test_a_key_over_many_added_lines_is_found() -> None:
    assert secret_kinds(KEY.splitlines()) == ("private key",)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "eyJ",
            "eyJ.",
            "-----BEGIN PRIVATE KEY-----",
            "://a:",
            "a:",
            "authorization: ",
            "bearer ",
        ),
        *(
            "ghs_",
            "sk-",
            "token='",
            "xoxb-",
            "SG.a",
            "aws_secret_key",
            "secret",
            " ",
            "eyJaaaaaaaaaa.",
        ),
    ],
)
def test_hostile_text_costs_time_in_proportion(piece: str) -> None:
    def took(size: int) -> float:
        text = "://authorization" + piece * (size // len(piece))
        start = time.process_time()
        Redactor(["some secret value"]).redact(text)
        secret_kinds([text])
        without_secrets(text)
        return time.process_time() - start

    took(1_000)
    assert took(400_000) < 60 * max(took(20_000), 0.005)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("t = 'dop_v1_" + "ab12" * 16 + "'", "DigitalOcean token"),
        ("sid = 'SK" + "0a" * 16 + "'", "Twilio key"),
        (base64.b64encode(b"key=AKIAQRSTUVWXYZ234567").decode(), "AWS access key id"),
        (b"ghp_a1B2c3d4e5f6g7h8i9j0a1B2c3d4e5f6g7h8".hex(), "GitHub token"),
        ("AKIAQRSTUVWXYZ234567".encode("utf-16-le").decode(), "AWS access key id"),
        ("key = 'AKIAQRST' + 'UVWXYZ234567'", "AWS access key id"),
    ],
)
def test_secrets_in_other_spellings_are_found(line: str, kind: str) -> None:
    assert secret_kinds([line]) == (kind,)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a ghp_" + "a1B2c3" * 7 + " b", "a [redacted] b"),
        ("password = 'Xk9#mmQ2vv'", "password = '[redacted]'"),
        ("https://u:Xk9mQQ2vv7@host.io/x", "https://u:[redacted]@host.io/x"),
        ("api_key: 'a8Jd72hsKq91LmZx04Pw'", "api_key: '[redacted]'"),
        (base64.b64encode(b"key=AKIAQRSTUVWXYZ234567").decode() + ";", "[redacted];"),
        ("a" * 40 + " " + "0123456789abcdef" * 4, None),
        ("https://u:example@localhost/", None),
    ],
)
def test_what_the_scanner_finds_is_what_is_not_shown(text: str, shown: str | None) -> None:
    assert without_secrets(text) == (text if shown is None else shown)
    assert not secret_kinds([without_secrets(text)])
