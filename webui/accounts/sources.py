"""Network address from which a request came.

Behind a proxy the web server sets REMOTE_ADDR to the client's address, which the proxy sends in
X-Forwarded-For. The server does so only for proxies in `INVENTORY_TRUSTED_PROXIES`, because anyone
can send such a header.
"""

from ipaddress import IPv6Address, ip_address, ip_network

from django.http import HttpRequest

_PREFIX_BITS = 64  # a provider usually assigns a /64 of IPv6 to one customer


def source_of(request: HttpRequest) -> str:
    """Return the client's IPv4 address, or the network of its IPv6 address, as text.

    A client can change its IPv6 address within its network. Return "unknown" without an address.
    """
    given = str(request.META.get("REMOTE_ADDR", ""))
    try:
        address = ip_address(given)
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), _PREFIX_BITS), strict=False))
    return str(address)
