"""Slows down guessing at the login: per address and per account, counted in the cache.

One web process has one cache. Several processes need a shared one in `CACHES`; until then the
limits hold per process.
"""

from typing import Final

from django.core.cache import cache

ADDRESS_MOST: Final = 30
ADDRESS_SPAN_S: Final = 60
ACCOUNT_MOST: Final = 5
ACCOUNT_SPAN_S: Final = 300


def is_throttled(address: str, account: str) -> bool:
    """Whether this address or this account has failed too often lately."""
    limits = ((_address(address), ADDRESS_MOST), (_account(account), ACCOUNT_MOST))
    return any(cache.get(key, 0) >= most for key, most in limits)


def count_failure(address: str, account: str) -> None:
    """Remember one failed login."""
    for key, span_s in ((_address(address), ADDRESS_SPAN_S), (_account(account), ACCOUNT_SPAN_S)):
        cache.add(key, 0, span_s)
        cache.incr(key)


def forgive(account: str) -> None:
    """A success ends the account's count, not the address's."""
    cache.delete(_account(account))


def _address(address: str) -> str:
    return f"login-address:{address.encode().hex()}"


def _account(account: str) -> str:
    return f"login-account:{account.lower().encode().hex()[:160]}"
