"""A rejected change event that a person sends again.

The same bytes would be rejected again. Their commit time is older than the ring's horizon, so a
replay and a second delivery would look alike (docs/domain.md 4). The new event has the images, the
operation and the log position of the original, and the commit time of the replay. The key's clock
moves to that moment, as for any fact that arrives now.
"""

from typing import Final

import orjson

from cdc.contracts.envelope import parse_envelope

# Reasons that a replay can change: older than the ring, or a limit or table of older code.
REPLAYABLE: Final = frozenset(
    {"before_dedupe_horizon", "overflow", "limit", "unknown_table", "unknown_op"}
)
_THOUSAND: Final = 1000


def with_commit_time(payload: bytes, commit_us: int) -> bytes:
    """Return the envelope of `payload`, committed at `commit_us`.

    Raises:
        Malformed: it is no envelope, so a replay would fail again.
    """
    parse_envelope(payload)
    parsed = orjson.loads(payload)
    parsed["source"] |= {
        "ts_us": commit_us,
        "ts_ms": commit_us // _THOUSAND,
        "ts_ns": commit_us * _THOUSAND,
    }
    return orjson.dumps(parsed)
