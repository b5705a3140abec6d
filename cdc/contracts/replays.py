"""A rejected change event as it is sent again, by hand, after somebody has looked.

The same bytes would be refused again: their commit time is older than what the ring remembers, so
nobody could tell the replay from a second delivery (docs/domain.md 4). What is sent has the images,
the operation and the log position of the original, and the commit time of the replay. The key's
clock moves to that moment, as it does for any fact that arrives now.
"""

from typing import Final

import orjson

from cdc.contracts.envelope import parse_envelope

# Reasons that another look can change: lost behind the ring, or a limit or table of an older code.
REPLAYABLE: Final = frozenset(
    {"before_dedupe_horizon", "overflow", "limit", "unknown_table", "unknown_op"}
)
_THOUSAND: Final = 1000


def sent_again(payload: bytes, commit_us: int) -> bytes:
    """The envelope of `payload`, committed at `commit_us`.

    Raises:
        Malformed: it is no envelope, so no replay can help it.
    """
    parse_envelope(payload)
    parsed = orjson.loads(payload)
    parsed["source"] |= {
        "ts_us": commit_us,
        "ts_ms": commit_us // _THOUSAND,
        "ts_ns": commit_us * _THOUSAND,
    }
    return orjson.dumps(parsed)
