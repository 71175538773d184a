"""The manifest asks for exactly what the table needs; what comes back is looked at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.domain import env_file
from app.domain.registration import Unusable, action, manifest, page, registered, settings_page
from tests.shared_data import REPOSITORY

ASKED = manifest("pw", "https://pw.example.com", "http://127.0.0.1:1/x/registered")
PEM = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n"
GOOD: dict[str, Any] = {
    "id": 7,
    "slug": "pw",
    "owner": {"login": "Acme"},
    "pem": PEM,
    "webhook_secret": "s" * 20,
    "permissions": ASKED["default_permissions"],
    "events": ASKED["default_events"],
}


def test_it_asks_for_what_the_shipped_manifest_does() -> None:
    shipped = json.loads((REPOSITORY / "manifests/github-app.json").read_text())
    for name in ("url", "description", "public", "default_permissions", "default_events"):
        assert ASKED[name] == shipped[name]
    assert ASKED["hook_attributes"] == {
        "url": "https://pw.example.com/webhooks/github",
        "active": True,
    }
    assert ASKED["public"] is False


def test_the_page_posts_to_github_and_shows_what_is_asked() -> None:
    text = page(action("https://github.com", "", "st&te"), ASKED)
    assert 'action="https://github.com/settings/apps/new?state=st%26te" method="post"' in text
    assert "<code>contents: write</code>" in text
    assert "https://pw.example.com/webhooks/github" in text
    assert action("https://ghe.acme.com", "acme", "s") == (
        "https://ghe.acme.com/organizations/acme/settings/apps/new?state=s"
    )
    assert (
        settings_page("https://h", "acme", "pw") == "https://h/organizations/acme/settings/apps/pw"
    )


def test_what_comes_back_is_kept_without_a_repr_of_its_secrets() -> None:
    made = registered(GOOD, ASKED)
    assert (made.id, made.slug, made.owner, made.amiss) == (7, "pw", "Acme", ())
    assert "abc" not in repr(made) and "sss" not in repr(made)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "7"}, {"id": True}, {"id": 0}, {"slug": None}, {"slug": "a b\x1b["}, {"owner": None},
        {"owner": {"login": "a\nb"}}, {"pem": None}, {"pem": "x"}, {"webhook_secret": None},
        {"webhook_secret": "short"},
    ],
)  # fmt: skip
def test_an_answer_without_what_is_needed_is_unusable(change: dict[str, Any]) -> None:
    with pytest.raises(Unusable):
        registered({**GOOD, **change}, ASKED)
    with pytest.raises(Unusable):
        registered([], ASKED)


def test_an_app_that_differs_from_what_was_asked_is_said() -> None:
    rights = {**ASKED["default_permissions"], "contents": "read", "administration": "write"}
    made = registered({**GOOD, "permissions": rights, "events": ["issues"]}, ASKED)
    assert "permission administration: write instead of nothing" in made.amiss
    assert "permission contents: read instead of write" in made.amiss
    assert "event pull_request is missing" in made.amiss


def test_a_file_of_settings_is_read_and_written() -> None:
    values = {"PATCHWARRANT_APP_ID": "7", "PATCHWARRANT_OWNERS": "acme,octo"}
    assert env_file.parsed(f"# said\n\n{env_file.lines(values)}") == values
    assert env_file.parsed("A= x = y \n") == {"A": "x = y"}


@pytest.mark.parametrize("text", ["export A=1", "a=1", "A", "A=1\nA=2", "=1"])
def test_a_line_that_is_no_setting_is_named_without_its_content(text: str) -> None:
    with pytest.raises(ValueError, match=r"^line \d"):
        env_file.parsed(text)


@pytest.mark.parametrize("value", ["a'b", 'a"b', "$A", "a\nb", "`x`", "a\\b", "a#b"])
def test_what_readers_understand_in_several_ways_is_not_written(value: str) -> None:
    with pytest.raises(ValueError, match=r"^A holds characters"):
        env_file.lines({"A": value})
