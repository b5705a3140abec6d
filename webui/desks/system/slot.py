"""Debezium's replication slot, and the WAL that Postgres retains for it, with its limit."""

from dataclasses import dataclass
from typing import Final

from ledger.kernel.rows import select_one
from webui.readmodel.figures import bytes_text

SLOT: Final = "retail_cdc"
# Thousandths of `max_slot_wal_keep_size` at which the page warns, and at which it raises the alarm.
# At the limit itself Postgres discards the WAL, and all rows must be captured again.
WARN_PERMILLE: Final = 250
ALARM_PERMILLE: Final = 500
# The limit that the page assumes if Postgres has none, because the disk is finite.
ASSUMED_LIMIT_BYTES: Final = 4 << 30
_LOST: Final = frozenset({"lost", "unreserved"})
_SLOT: Final = """
SELECT slot_name, active, wal_status,
       pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint AS retained_bytes,
       pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint AS unconfirmed_bytes,
       (SELECT setting::bigint * 1048576 FROM pg_settings WHERE name = 'max_slot_wal_keep_size')
           AS configured_bytes,
       restart_lsn::text AS restart_lsn, confirmed_flush_lsn::text AS confirmed_lsn
FROM pg_replication_slots WHERE slot_name = %(slot)s
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot; its numbers of bytes are None if Postgres has discarded WAL that the slot needs."""

    slot_name: str
    active: bool
    wal_status: str | None
    retained_bytes: int | None
    unconfirmed_bytes: int | None
    configured_bytes: int | None
    restart_lsn: str | None
    confirmed_lsn: str | None

    @property
    def limit_bytes(self) -> int:
        """The number of retained WAL bytes at which Postgres discards WAL.

        If Postgres has no limit, 4 GiB are assumed.
        """
        configured = self.configured_bytes or -1
        return configured if configured > 0 else ASSUMED_LIMIT_BYTES

    @property
    def warn_bytes(self) -> int:
        """The number of retained WAL bytes at which the page begins to warn."""
        return self.limit_bytes * WARN_PERMILLE // 1000

    @property
    def alarm_bytes(self) -> int:
        """The number of retained WAL bytes at which the page raises the alarm."""
        return self.limit_bytes * ALARM_PERMILLE // 1000

    @property
    def state(self) -> str:
        """The state: `down` from `alarm_bytes` of retained WAL, `slow` from `warn_bytes`, or `ok`.

        It is also `down` if WAL that the slot needs is lost or no longer protected.
        """
        retained = self.retained_bytes
        if retained is None or self.wal_status in _LOST or retained >= self.alarm_bytes:
            return "down"
        return "slow" if retained >= self.warn_bytes else "ok"

    @property
    def retained_text(self) -> str:
        """The retained WAL like `12.4 MiB`."""
        return bytes_text(self.retained_bytes)


def slot() -> Slot | None:
    """Return Debezium's slot, or None if it doesn't exist."""
    return select_one(_SLOT, {"slot": SLOT}, Slot)
