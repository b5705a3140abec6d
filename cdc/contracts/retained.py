"""The header `retained`: the number of a key's window rows.

A window row has the sales of one key in ten minutes. All window rows are in the changelog of
windows. The other changelog has the levels: records with the rest of a key's state. A level that
doesn't repeat all window rows of its key has this header. So a restore detects a row that was
deleted by hand or lost by a broker: it finds fewer rows than the header states.
"""

from functools import lru_cache

from cdc.contracts.progress import Headers
from cdc.contracts.versions import built, document_of

HEADER = "retained"
_SCHEMA = 1


@lru_cache(1_024)  # many levels have this header, with few different numbers
def encode_retained(rows: int) -> bytes:
    """Return the value of the header `retained` for a key with `rows` window rows."""
    return b'{"rows":%d,"schema":%d}' % (rows, _SCHEMA)


@lru_cache(1_024)
def decode_retained(payload: bytes) -> int:
    """Return the number that `encode_retained` wrote.

    Raises:
        UnreadableRecord: the payload has another version, or is not a value of this header.
    """
    return built(HEADER, document_of(HEADER, payload), lambda row: int(row["rows"]))


def retained_in(headers: Headers) -> int | None:
    """Return the number in the header `retained`, or None if `headers` lack it."""
    for name, payload in headers:
        if name == HEADER:
            return decode_retained(payload)
    return None
