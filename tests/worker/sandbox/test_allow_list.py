"""The allow-list's rule, and rules of the operator that are refused at the start."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from app.domain.errors import Refused
from worker.sandbox.allow_list import matching, named, shut
from worker.sandbox.proxy import ours
from worker.sandbox.setup import Log
from worker.sandbox.setup_rules import SetupRules

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
    "address",
    [
        "127.0.0.1",
        "169.254.169.254",
        "::1",
        "fe80::1%eth0",
        "0.0.0.0",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::7f00:1",
        "2001:0:0a00:1::1",
        "10.1.2.3",
        "172.17.0.1",
        "192.168.1.1",
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "224.0.0.1",
        "240.0.0.1",
        "ff02::1",
    ],
)
def test_names_may_not_lead_to_addresses_off_the_public_net(address: str) -> None:
    assert shut(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1", "::ffff:8.8.8.8", "2002:808:808::"])
def test_names_may_lead_to_the_public_net(address: str) -> None:
    assert not shut(address)


def test_the_operators_networks_are_open_but_never_loopback_or_metadata() -> None:
    networks = [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("0.0.0.0/0")]
    assert not shut("10.1.2.3", networks)
    assert not shut("::ffff:10.1.2.3", networks)
    assert shut("fd12::1", networks)
    for never in ("127.0.0.1", "169.254.169.254", "168.63.129.16"):
        assert shut(never, networks)


def test_this_machines_own_addresses_are_known_as_such() -> None:
    assert ours("127.0.0.1")
    assert not ours("8.8.8.8")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))
        assert ours(one.getsockname()[0])


def test_only_a_name_itself_is_the_operators_word_about_where_it_leads() -> None:
    own = ["mirror.example.org", "*.corp.example", "other.example:8080"]
    assert named("mirror.example.org", 443, own)
    assert named("other.example", 8080, own)
    assert not named("a.corp.example", 443, own)
    assert not named("other.example", 443, own)


@pytest.mark.parametrize(
    "value",
    [
        "https://me:token@mirror.example.org/simple",
        "https://a.example/ https://u:p@h.example/",
        "https://u:p/w@h.example",
        "ssh://u:p@h.example",
        "git@h.example https://u@h.example",
        "//reg.example/:_authToken=abc",
        "u:p@h.example",
        "https://h.example/?token=abc",
        "Authorization: Basic YWJjZGVm",
        "machine h.example login u password p",
        '{"http-basic": {"h.example": {}}}',
    ],
)
def test_mirrors_with_credentials_are_refused_without_their_words(value: str) -> None:
    with pytest.raises(Refused, match=r"PIP_INDEX_URL .*holds a user name") as told:
        SetupRules(environment={"PIP_INDEX_URL": value})
    assert value not in str(told.value)


@pytest.mark.parametrize(
    "name", ["NPM_TOKEN", "UV_INDEX_X_PASSWORD", "COMPOSER_AUTH", "npm_config__auth", "NETRC"]
)
def test_variables_that_are_credentials_by_name_are_refused(name: str) -> None:
    with pytest.raises(Refused, match=name):
        SetupRules(environment={name: "abc"})
    with pytest.raises(Refused, match="BUNDLE_H__EXAMPLE"):
        SetupRules(environment={"BUNDLE_H__EXAMPLE": "user:abc"})


def test_plain_mirrors_are_taken_and_are_the_operators_hosts() -> None:
    rules = SetupRules(
        hosts=("a.example", "*"),
        environment={
            "PIP_INDEX_URL": "https://mirror.example.org/simple",
            "npm_config_registry": "https://npm.example.org:8443/@scope/",
            "GOFLAGS": "-mod=mod",
        },
    )
    assert rules.own() == ("a.example", "mirror.example.org", "npm.example.org:8443")


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "a.example:0", "a.example:99999", "a b", "-x", "*.1.*"]
)
def test_hosts_that_can_never_match_are_refused(host: str) -> None:
    with pytest.raises(Refused, match="PATCHWARRANT_SETUP_HOSTS"):
        SetupRules(hosts=(host,))


def test_networks_that_are_none_are_refused() -> None:
    SetupRules(networks=("10.0.0.0/8", "fd00::/8"))
    with pytest.raises(Refused, match="PATCHWARRANT_SETUP_NETWORKS"):
        SetupRules(networks=("10.0.0.1/8",))


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
