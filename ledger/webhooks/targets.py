"""Addresses that webhooks may have, and the check of each connection.

A person who registers an address could make the sender reach services that only this machine or
network can reach (server-side request forgery). So a registered URL is checked for its form. The IP
address is checked when the sender connects, because the answer of a name server may change in
between.
"""

import ipaddress
import socket
import time
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from ledger.kernel.errors import refuse

LONGEST_URL: Final = 500
_SCHEMES: Final = ("http://", "https://")  # in lower case, as the constraint of the table
_LOCAL_NAMES: Final = (".localhost", ".localhost.localdomain")  # ends of names after a "."
# The only IPv6 addresses of the internet (RFC 4291). `is_global` is also True for some addresses
# outside of this range, for example site-local and IPv4-compatible ones.
_GLOBAL_UNICAST: Final = ipaddress.ip_network("2000::/3")
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_PUBLIC: Final = "a host with a public address"

# A result of `getaddrinfo`: family, kind, protocol, canonical name, address.
_Found = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class TargetRefused(OSError):
    """The host of a target has an IP address that webhooks may not reach; nothing was sent."""


def check_url(url: str, *, private_allowed: bool) -> str:
    """Return `url` if a webhook may have it; raise `ServiceError` with the rule that it breaks.

    Pages show the URL, so it must not contain a user name or password. Unless `private_allowed`,
    its host must not be `localhost`, a name below it, or an IP address that isn't public.
    """
    if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        refuse("url", url, f"at most {LONGEST_URL} printable ASCII characters without spaces")
    host = _checked_parts(url).hostname or ""
    if private_allowed:
        return url
    if f".{host.rstrip('.')}".endswith(_LOCAL_NAMES):
        refuse("url", url, _PUBLIC)
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        return url
    if not is_public(literal):
        refuse("url", url, _PUBLIC)
    return url


def _checked_parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        refuse("url", url, "an address like https://example.com/hooks")
    if not url.startswith(_SCHEMES) or not parts.hostname or port == 0:
        refuse("url", url, "an http or https address like https://example.com/hooks")
    if parts.username is not None or parts.password is not None or parts.fragment:
        refuse("url", url, "an address without user name, password and #fragment")
    return parts


def is_public(address: IpAddress) -> bool:
    """Return True for a unicast address of the internet.

    An IPv6 address that contains an IPv4 address (mapped, 6to4, Teredo, NAT64) is public if that
    IPv4 address is.
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = _carried(address)
        if inner is not None:
            return is_public(inner)
        if address not in _GLOBAL_UNICAST:
            return False
    return address.is_global and not address.is_multicast


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


def connect(host: str, port: int, timeout_s: float, *, private_allowed: bool) -> socket.socket:
    """Return a connection to the first IP address of `host` that accepts it.

    The name is resolved once, and the connection goes to an address that was checked.

    Raises:
        TargetRefused: an address of the name is not public, and `private_allowed` is false.
        OSError: the name is unknown, or no address accepts a connection.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, where in found:
        # A link-local address may have a zone, like fe80::1%eth0.
        address = ipaddress.ip_address(str(where[0]).partition("%")[0])
        if not private_allowed and not is_public(address):
            message = f"{host} has the address {address}, which is not public"
            raise TargetRefused(message)
    return _first_connection(host, found, time.monotonic() + timeout_s)


def _first_connection(host: str, found: Sequence[_Found], until_s: float) -> socket.socket:
    problem = OSError(f"{host} has no address")
    for family, kind, protocol, _, where in found:
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(max(0.1, until_s - time.monotonic()))
        try:
            connection.connect(where)
        except OSError as refusal:
            connection.close()
            problem = refusal
        else:
            return connection
    raise problem
