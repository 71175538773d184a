"""Which host names a set-up may reach, and where they may lead: one rule for all who ask."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator

PORTS = frozenset({80, 443})
PRIVATE = "/private"  # behind a host whose name is allowed, and whose address is not
HOST = re.compile(r"(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?")
NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
COMPATIBLE = ipaddress.ip_network("::/96")  # old spelling of IPv4 in IPv6
METADATA = frozenset(  # of clouds; the others are not global anyway
    map(ipaddress.ip_address, ("168.63.129.16", "169.254.169.254", "fd00:ec2::254"))
)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def matching(host: str, port: int, allowed: Iterable[str]) -> bool:
    """Whether a list of `name`, `*.domain` or `name:port` lets a connection through.

    Addresses are never let through: a name is what people decided about. Ports other than 80 and
    443 only where the list says them."""
    name = host.lower().rstrip(".")
    if is_address(name):
        return False
    for one in allowed:
        wanted, _, number = one.partition(":")
        if not (port == int(number) if number else port in PORTS):
            continue
        if name == wanted or (wanted.startswith("*.") and name.endswith(wanted[1:])):
            return True
    return False


def named(host: str, port: int, own: Iterable[str]) -> bool:
    """Whether the operator's own list has this very name: a pattern is no word about one host."""
    return matching(host, port, [one for one in own if "*" not in one])


def is_address(host: str) -> bool:
    """Whether a host is an address in any spelling, or would be read as one."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host.replace(".", "").isdigit() or host.startswith("0x")
    return True


def is_host(text: str) -> bool:
    """Whether an entry of the list can ever let something through."""
    name, _, port = text.partition(":")
    if not HOST.fullmatch(text) or is_address(name):
        return False
    return not port or 0 < int(port) < 65536


def shut(address: str, networks: Iterable[Network] = ()) -> bool:
    """Whether names may not lead to an address: all that is not of the public net, whichever way
    it is written, unless one of the operator's `networks` has it; a cloud's metadata and this
    machine's loopback never."""
    for ip in _meant(ipaddress.ip_address(address.partition("%")[0])):
        if ip in METADATA or ip.is_loopback or ip.is_link_local or ip.is_unspecified:
            return True
        inside = any(ip.version == one.version and ip in one for one in networks)
        if not inside and (not ip.is_global or ip.is_multicast or ip.is_reserved):
            return True
    return False


def _meant(ip: Address) -> Iterator[Address]:
    """The address that is reached: what is wrapped in an IPv6 address, else itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        yield ip
        return
    if ip.ipv4_mapped:
        yield ip.ipv4_mapped
    elif ip.sixtofour:
        yield ip.sixtofour
    elif ip.teredo:
        yield from ip.teredo
    elif any(ip in one for one in NAT64) or (ip in COMPATIBLE and int(ip) > 1):
        yield ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    else:
        yield ip
