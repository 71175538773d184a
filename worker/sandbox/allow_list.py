"""Which host names a set-up may reach: one rule, for the proxy and for who fills its list."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

PORTS = frozenset({80, 443})
HOST = re.compile(r"(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?")


def matching(host: str, port: int, allowed: Iterable[str]) -> bool:
    """Whether a list of `name`, `*.domain` or `name:port` lets a connection through.

    Addresses are never let through: a name is what people decided about. Ports other than 80 and
    443 only where the list says them."""
    name = host.lower().rstrip(".")
    if _address(name):
        return False
    for one in allowed:
        wanted, _, number = one.partition(":")
        if not (port == int(number) if number else port in PORTS):
            continue
        if name == wanted or (wanted.startswith("*.") and name.endswith(wanted[1:])):
            return True
    return False


def _address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host.replace(".", "").isdigit() or host.startswith("0x")
    return True


def near(address: str) -> bool:
    """Whether an address is this machine's own or a neighbour's on the link."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified
