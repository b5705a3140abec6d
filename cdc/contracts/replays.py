"""The change event that replays a rejected record.

The original bytes would have no effect. A worker would recognise them as `resent`, or reject them
again if their commit time is more than 120 s before the partition's newest one (domain.md 4).
The new event has the images, operation and lsn of the original. Its commit time is the time of the
replay. If the key's clock mode is `live`, the key's stream time moves to that time, as for any
other record.
"""

from typing import Final

import orjson

from cdc.contracts.envelope import parse_envelope

# Records with these reasons may be accepted at a replay: the commit time is new, and newer code may
# have another limit or table.
REPLAYABLE: Final = frozenset(
    {"before_dedupe_horizon", "overflow", "limit", "unknown_table", "unknown_op"}
)
_THOUSAND: Final = 1000


def with_commit_time(payload: bytes, commit_us: int) -> bytes:
    """Return the envelope in `payload` with the commit time `commit_us` (µs since 1970 UTC).

    Raises:
        Malformed: `payload` is no envelope, so a replay would fail again.
    """
    parse_envelope(payload)
    parsed = orjson.loads(payload)
    parsed["source"] |= {
        "ts_us": commit_us,
        "ts_ms": commit_us // _THOUSAND,
        "ts_ns": commit_us * _THOUSAND,
    }
    return orjson.dumps(parsed)
