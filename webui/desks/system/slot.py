"""Debezium's replication slot, and the WAL that Postgres retains for it, with its limit."""

from dataclasses import dataclass
from typing import Final

from ledger.kernel.rows import select_one
from webui.readmodel.figures import bytes_text

SLOT: Final = "retail_cdc"
# The shares of `max_slot_wal_keep_size`, in thousandths, at which the page warns and raises the
# alarm. If the retained WAL reaches this limit, Postgres discards WAL. Then Debezium must capture
# all rows again.
WARN_PERMILLE: Final = 250
ALARM_PERMILLE: Final = 500
# The limit that the page assumes if Postgres has none: then WAL could fill the disk.
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
    """Debezium's slot. Postgres keeps `retained_bytes` of WAL for the slot.

    `retained_bytes` is None if Postgres has discarded WAL that the slot needs. Debezium has not
    confirmed `unconfirmed_bytes` of WAL.
    """

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

        If Postgres has no limit, it discards no WAL. The result is then 4 GiB, the limit that the
        page assumes.
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
        """The state: `down`, `slow` or `ok`.

        It is `down` if at least `alarm_bytes` are retained, or if Postgres has lost or may soon
        delete WAL that the slot needs. It is `slow` if at least `warn_bytes` are retained.
        """
        retained = self.retained_bytes
        if retained is None or self.wal_status in _LOST or retained >= self.alarm_bytes:
            return "down"
        return "slow" if retained >= self.warn_bytes else "ok"

    @property
    def retained_text(self) -> str:
        """The size of the retained WAL as text: `12.4 MiB`."""
        return bytes_text(self.retained_bytes)


def slot() -> Slot | None:
    """Return Debezium's slot, or None if it doesn't exist."""
    return select_one(_SLOT, {"slot": SLOT}, Slot)
