"""How many window rows a key has: a header on the levels that don't carry all of them.

Level and rows are one state in two topics. A row that is missing in its topic, cut off by hand or
lost by a broker, leaves no trace there. The level tells their number, so a restore sees it.
"""

from functools import lru_cache

from cdc.contracts.progress import Headers
from cdc.contracts.versions import built, document_of

HEADER = "retained"
_SCHEMA = 1


@lru_cache(1_024)  # few numbers, told for every level
def encode_retained(rows: int) -> bytes:
    """The header's value for a key with so many rows."""
    return b'{"rows":%d,"schema":%d}' % (rows, _SCHEMA)


@lru_cache(1_024)
def decode_retained(payload: bytes) -> int:
    """The number that `encode_retained` wrote.

    Raises:
        UnreadableRecord: it is of another version, or no such header.
    """
    return built(HEADER, document_of(HEADER, payload), lambda row: int(row["rows"]))


def retained_in(headers: Headers) -> int | None:
    """The number of rows among a level's headers, None if the level carries all of them."""
    for name, payload in headers:
        if name == HEADER:
            return decode_retained(payload)
    return None
