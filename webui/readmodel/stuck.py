"""When a transfer is stuck: three days past the day it was due (docs/domain.md 8).

The desk and the task of the same name read this rule and state none of their own.
"""

from typing import Final

STUCK_AFTER_DAYS: Final = 3

# Due is the day that was agreed, or the destination's lead time after the goods left, rounded up.
# `a` is the arriving row, `il` what its location has ranged, if it has.
TRANSFER_DUE_ON: Final = """coalesce(a.due_on,
    (retail.business_at(a.shipped_at, a.recorded_at) AT TIME ZONE 'UTC')::date
        + ((coalesce(il.lead_time_centidays, 0) + 99) / 100)::int)"""


def stuck_sql(now: str) -> str:
    """SQL that is true for an arriving row `a` that is stuck at the moment `now`, itself SQL."""
    today = f"({now} AT TIME ZONE 'UTC')::date"
    return f"(a.status = 'shipped' AND {TRANSFER_DUE_ON} + {STUCK_AFTER_DAYS} <= {today})"
