"""The header `retained`: the number of a key's window rows.

Each level that doesn't contain all rows of its key has this header. All rows are in the changelog
of windows. If a row is missing there (deleted by hand or lost by a broker), a restore finds fewer
rows than the header states.
"""

from functools import lru_cache

from cdc.contracts.progress import Headers
from cdc.contracts.versions import built, document_of

HEADER = "retained"
_SCHEMA = 1


@lru_cache(1_024)  # many levels have this header, with few different numbers
def encode_retained(rows: int) -> bytes:
    """Return the header's value for a key with `rows` window rows."""
    return b'{"rows":%d,"schema":%d}' % (rows, _SCHEMA)


@lru_cache(1_024)
def decode_retained(payload: bytes) -> int:
    """Return the number that `encode_retained` wrote.

    Raises:
        UnreadableRecord: the payload has another version, or is not a value of this header.
    """
    return built(HEADER, document_of(HEADER, payload), lambda row: int(row["rows"]))


def retained_in(headers: Headers) -> int | None:
    """Return the number in a level's header `retained`, or None if the level lacks the header."""
    for name, payload in headers:
        if name == HEADER:
            return decode_retained(payload)
    return None
