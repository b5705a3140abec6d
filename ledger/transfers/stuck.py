"""The rule for stuck transfers: shipped, and three days past the due day (docs/domain.md 8).

The desk Transfers and the task `stuck_transfer` both use this rule.
"""

from typing import Final

STUCK_AFTER_DAYS: Final = 3

# The due day is the agreed day. Without an agreed day, it is the UTC day of shipping plus the
# destination's lead time, rounded up to days. See `stuck_sql` for `a` and `il`.
TRANSFER_DUE_ON: Final = """coalesce(a.due_on,
    (retail.business_at(a.shipped_at, a.recorded_at) AT TIME ZONE 'UTC')::date
        + ((coalesce(il.lead_time_centidays, 0) + 99) / 100)::int)"""


def stuck_sql(now: str) -> str:
    """Return an SQL condition that is true if a transfer is stuck.

    In the condition, `a` is the transfer's row at the destination (`shipment_line` with the leg
    `transfer_in`). `il` is the destination's row of `item_location`, or null if there is none.
    `now` is an SQL expression of a timestamptz.
    """
    today = f"({now} AT TIME ZONE 'UTC')::date"
    return f"(a.status = 'shipped' AND {TRANSFER_DUE_ON} + {STUCK_AFTER_DAYS} <= {today})"
