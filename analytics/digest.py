"""A fingerprint of many rows that does not depend on their order or on how they were split.

The fingerprint is the sum of the rows' 128-bit hashes modulo 2^128. Sums of parts add up, so any
split over partitions and buckets gives the same number. XOR would not do: two equal rows would
cancel out, but a row that is counted twice must change the result.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

_MODULUS: Final = 1 << 128
_ABSENT: Final = (1 << 64) - 1  # the length of None: no field is that long, so None and b"" differ


def row_hash(*fields: bytes | None) -> int:
    """Return the 128-bit hash of one row. Each field is prefixed with its length."""
    parts: list[bytes] = []
    for field in fields:
        length = _ABSENT if field is None else len(field)
        parts += (length.to_bytes(8, "little"), field or b"")
    return int.from_bytes(blake2b(b"".join(parts), digest_size=16).digest(), "little")


def add(left: int, right: int) -> int:
    """Return the digest of two sets of rows together, from the digest of each set."""
    return (left + right) % _MODULUS


def total(parts: Iterable[int]) -> int:
    """Return the digest of all parts together, from the digest of each part."""
    return sum(parts) % _MODULUS


def as_hex(digest: int) -> str:
    """Return the digest as 32 hexadecimal digits."""
    return f"{digest:032x}"


def from_hex(text: str) -> int:
    """Return the digest that `as_hex` wrote."""
    return int(text, 16)
