"""The rule for stuck transfers: three days past the due day (docs/domain.md 8).

The desk and the task of the same name use this rule and define none of their own.
"""

from typing import Final

STUCK_AFTER_DAYS: Final = 3

# The due day is the agreed one, or the shipping day plus the destination's lead time, rounded up.
# `a` is the arriving row, `il` the destination's item_location row, if it exists.
TRANSFER_DUE_ON: Final = """coalesce(a.due_on,
    (retail.business_at(a.shipped_at, a.recorded_at) AT TIME ZONE 'UTC')::date
        + ((coalesce(il.lead_time_centidays, 0) + 99) / 100)::int)"""


def stuck_sql(now: str) -> str:
    """Return SQL that is true for an arriving row `a` that is stuck at `now`, an SQL expression."""
    today = f"({now} AT TIME ZONE 'UTC')::date"
    return f"(a.status = 'shipped' AND {TRANSFER_DUE_ON} + {STUCK_AFTER_DAYS} <= {today})"
