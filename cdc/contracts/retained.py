"""The header `retained`: the number of a key's window rows.

A level that doesn't contain all of its key's rows has it. The rows are in another topic. If one is
missing there (deleted by hand or lost by a broker), a restore detects it by the number.
"""

from functools import lru_cache

from cdc.contracts.progress import Headers
from cdc.contracts.versions import built, document_of

HEADER = "retained"
_SCHEMA = 1


@lru_cache(1_024)  # few different numbers, encoded for every level
def encode_retained(rows: int) -> bytes:
    """Return the header's value for a key with `rows` window rows."""
    return b'{"rows":%d,"schema":%d}' % (rows, _SCHEMA)


@lru_cache(1_024)
def decode_retained(payload: bytes) -> int:
    """Return the number that `encode_retained` wrote.

    Raises:
        UnreadableRecord: it is of another version, or no such header.
    """
    return built(HEADER, document_of(HEADER, payload), lambda row: int(row["rows"]))


def retained_in(headers: Headers) -> int | None:
    """Return the number of rows in a level's headers, or None if the level contains all rows."""
    for name, payload in headers:
        if name == HEADER:
            return decode_retained(payload)
    return None
