"""The scorecard job, which writes measured supplier lead times into the policies of items.

The job measures each pair of supplier and location once per UTC day, over the last 180 days. If the
pair has at least five receipts, its items get the measured mean and standard deviation. An item
keeps the values in its policy if they differ from the measured ones by 10 % or less (docs/domain.md
7).

Each item is changed in a transaction of its own. The scorecard is written after the last item and
marks the pair as done for the day. So after a stop, the job continues with the items that it has
not changed yet.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from inventory.reports.scorecard import LeadTime, is_written_back
from ledger.items.policies import set_policy
from ledger.kernel.transactions import database_now, execute, ledger_transaction
from ledger.kernel.unscoped_rows import read_all
from ledger.ordering.scorecards import DAYS, Measured, measure

MOST_PAIRS: Final = 20
MOST_ITEMS: Final = 500

# Pairs with an order in the last 180 days, even without a receipt, and pairs that already have a
# scorecard. A pair with a replayed item is left out, because its data are incomplete while an
# import runs.
_DUE: Final = """
SELECT pair.supplier, pair.location
FROM (SELECT DISTINCT supplier, location FROM retail.purchase_order_line
      WHERE ordered_at > %s::timestamptz - make_interval(days => %s) AND status <> 'draft'
      UNION SELECT supplier, location FROM app.scorecard) pair
LEFT JOIN app.scorecard c USING (supplier, location)
WHERE (c.on_day IS NULL OR c.on_day < %s) AND NOT EXISTS (
    SELECT FROM retail.item_location i
    WHERE i.supplier = pair.supplier AND i.location = pair.location AND i.clock_mode = 'replayed')
ORDER BY pair.supplier, pair.location LIMIT %s
"""
_ITEMS: Final = """
SELECT location, sku, lead_time_centidays, lead_time_sd_centidays FROM retail.item_location
WHERE supplier = %s AND location = %s
ORDER BY inv_key
"""
_CARD: Final = """
INSERT INTO app.scorecard AS kept (supplier, location, on_day, receipts, mean_centidays,
    sd_centidays, p50_centidays, p90_centidays, settled_lines, fill_permille, due_receipts,
    on_time_permille, discrepancy_permille, items_written)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (supplier, location) DO UPDATE SET
    on_day = excluded.on_day, receipts = excluded.receipts,
    mean_centidays = excluded.mean_centidays, sd_centidays = excluded.sd_centidays,
    p50_centidays = excluded.p50_centidays, p90_centidays = excluded.p90_centidays,
    settled_lines = excluded.settled_lines, fill_permille = excluded.fill_permille,
    due_receipts = excluded.due_receipts, on_time_permille = excluded.on_time_permille,
    discrepancy_permille = excluded.discrepancy_permille,
    items_written = excluded.items_written, made_at = clock_timestamp()
WHERE kept.on_day < excluded.on_day
"""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A supplier and a location that it delivers to."""

    supplier: str
    location: str


@dataclass(frozen=True, slots=True)
class _LeadPolicy:
    """An item and the lead time in its policy, in hundredths of days."""

    location: str
    sku: str
    lead_time_centidays: int
    lead_time_sd_centidays: int


def write_back(*, at: datetime | None = None, most_pairs: int = MOST_PAIRS) -> int:
    """Measure up to `most_pairs` pairs (supplier, location) without a scorecard of this UTC day.

    `at` is the time of the measurement, by default the database's time. Return the number of items
    whose lead time was changed.
    """
    now = at or database_now()
    pairs = read_all(_Pair, _DUE, now, DAYS, now.date(), most_pairs)
    return sum(_write_pair(pair, now) for pair in pairs)


def _write_pair(pair: _Pair, now: datetime) -> int:
    found = measure(pair.supplier, pair.location, now)
    due = _items_to_change(pair, found.lead)
    for item in due[:MOST_ITEMS]:
        _change(item, found.lead)
    if len(due) <= MOST_ITEMS:
        _make_card(pair, now, found, len(due))
        log.info(
            "scorecard_made",
            supplier=pair.supplier,
            location=pair.location,
            receipts=found.lead.receipts if found.lead else 0,
            items=len(due),
        )
    return min(len(due), MOST_ITEMS)


def _items_to_change(pair: _Pair, lead: LeadTime | None) -> list[_LeadPolicy]:
    if lead is None:
        return []
    return [
        item
        for item in read_all(_LeadPolicy, _ITEMS, pair.supplier, pair.location)
        if is_written_back(lead, item.lead_time_centidays, item.lead_time_sd_centidays)
    ]


def _change(item: _LeadPolicy, lead: LeadTime | None) -> None:
    if lead is not None:
        set_policy(
            location=item.location,
            sku=item.sku,
            changes={
                "lead_time_centidays": lead.mean_centidays,
                "lead_time_sd_centidays": lead.sd_centidays,
            },
        )


def _make_card(pair: _Pair, now: datetime, found: Measured, items: int) -> None:
    lead = found.lead
    with ledger_transaction():
        execute(
            _CARD,
            pair.supplier,
            pair.location,
            now.date(),
            0 if lead is None else lead.receipts,
            *((None,) * 4 if lead is None else _spans(lead)),
            found.settled.lines,
            found.fill_permille,
            found.due_receipts,
            found.on_time_permille,
            found.discrepancy_permille,
            items,
        )


def _spans(lead: LeadTime) -> tuple[int, int, int, int]:
    return (lead.mean_centidays, lead.sd_centidays, lead.p50_centidays, lead.p90_centidays)
