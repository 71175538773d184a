"""The allow-list's rule, and rules of the operator that are refused at the start."""

from __future__ import annotations

import pytest

from app.domain.errors import Refused
from worker.sandbox.allow_list import matching, near
from worker.sandbox.setup import Log, SetupRules

LIST = ["a.example.org", "*.example.com", "mirror.local:8080"]


@pytest.mark.parametrize(
    ("host", "port", "through"),
    [
        ("a.example.org", 443, True),
        ("A.Example.Org.", 80, True),
        ("a.example.org", 22, False),
        ("b.a.example.org", 443, False),
        ("x.example.com", 443, True),
        ("example.com", 443, False),
        ("evilexample.com", 443, False),
        ("mirror.local", 8080, True),
        ("mirror.local", 443, False),
        ("127.0.0.1", 443, False),
        ("[::1]", 443, False),
        ("2130706433", 80, False),
        ("0x7f.1", 80, False),
        ("", 443, False),
    ],
)
def test_a_name_is_let_through_only_as_the_list_says(host: str, port: int, through: bool) -> None:
    assert matching(host, port, LIST) is through


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "0.0.0.0"]
)
def test_addresses_of_this_machine_and_its_link_are_near(address: str) -> None:
    assert near(address)


def test_an_address_of_the_net_is_not_near() -> None:
    assert not near("203.0.113.7")


def test_mirrors_with_credentials_are_refused() -> None:
    with pytest.raises(Refused, match="PIP_INDEX_URL holds a user name or password"):
        SetupRules(environment={"PIP_INDEX_URL": "https://me:token@mirror.example.org/simple"})


def test_a_log_keeps_head_and_tail_and_hears_what_is_for_the_service() -> None:
    log = Log()
    assert log.feed(b"one\npatchwarrant-setup:do") == []
    assert log.feed(b"ne []\n" + b"x" * 70_000 + b"\n") == [("done", "[]\n")]
    for _ in range(20):
        log.feed(b"y" * 60_000 + b"\n")
    log.feed(b"last\n")
    kept = log.bytes_of()
    assert kept.startswith(b"one\nxxx")
    assert kept.endswith(b"last\n")
    assert b"bytes left out" in kept
    assert len(kept) < 600_000
