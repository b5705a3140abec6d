"""Queries about suppliers: their receipts, scorecards computed now, and stored scorecards.

SQL only selects the rows; `inventory.reports.scorecard` has the rules (docs/domain.md 7). A share
in permille is None if its divisor is 0.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from inventory.reports.scorecard import LeadTime, lead_time, receipt_centidays, share_permille
from ledger.kernel.rows import Parameters, select, select_one

DAYS: Final = 180
RECEIPTS_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt of an order line; `*_us` are microseconds since 1970 UTC.

    `is_on_time` is None for a line without a due day, or if no goods arrived.
    """

    id: int
    inv_key: str
    location: str
    sku: str
    name: str
    order_ref: str
    ordered_at: datetime
    received_at: datetime
    ordered_us: int
    received_us: int
    order_units: int
    damaged_units: int
    due_on: date | None
    is_on_time: bool | None
    # False if no units arrived, for example because the delivery was refused.
    has_goods: bool
    discrepancy_reason: str | None

    @property
    def centidays(self) -> int:
        """The lead time, from order to receipt, in hundredths of days."""
        return receipt_centidays(self.ordered_us, self.received_us)


@dataclass(frozen=True, slots=True)
class Settled:
    """Order lines without open units: their number, expected units and received units."""

    lines: int
    expected_units: int
    order_units: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A scorecard that was computed now; `lead` is None if no receipt had goods."""

    lead: LeadTime | None
    settled: Settled
    due_receipts: int
    fill_permille: int | None
    on_time_permille: int | None
    discrepancy_permille: int | None


@dataclass(frozen=True, slots=True)
class Card:
    """A scorecard as the scorecard job stored it on `on_day`; lead times in hundredths of days."""

    supplier: str
    supplier_name: str
    location: str
    on_day: date
    receipts: int
    mean_centidays: int | None
    sd_centidays: int | None
    p50_centidays: int | None
    p90_centidays: int | None
    settled_lines: int
    fill_permille: int | None
    due_receipts: int
    on_time_permille: int | None
    discrepancy_permille: int | None
    items_written: int


# The time of a receipt is its business time. The due day ends at midnight UTC.
_RECEIPTS: Final = """
SELECT i.id, i.inv_key, i.location, i.sku, coalesce(p.name, i.sku) AS name, o.order_ref,
       o.ordered_at, happened.at AS received_at,
       (extract(epoch FROM o.ordered_at) * 1000000)::bigint AS ordered_us,
       (extract(epoch FROM happened.at) * 1000000)::bigint AS received_us,
       i.order_units, i.damaged_units, o.due_on,
       CASE WHEN i.received_units + i.damaged_units > 0
            THEN (happened.at AT TIME ZONE 'UTC')::date <= o.due_on END AS is_on_time,
       i.received_units + i.damaged_units > 0 AS has_goods,
       nullif(trim(i.discrepancy_reason), '') AS discrepancy_reason
FROM retail.purchase_order_line o
JOIN retail.shipment_line i ON i.purchase_order_line_id = o.id
CROSS JOIN LATERAL (SELECT retail.business_at(i.received_at, i.recorded_at) AS at) happened
LEFT JOIN retail.product p ON p.code = i.sku
WHERE o.supplier = %(supplier)s AND (%(location)s = '' OR o.location = %(location)s)
  AND i.leg = 'supplier_in' AND i.status = 'received'
  AND happened.at > %(now)s - make_interval(days => %(days)s) AND happened.at <= %(now)s
ORDER BY happened.at DESC, i.id DESC
"""

# Expected units are the confirmed units or, if none are confirmed, the ordered units. Cancelled
# units stay expected, so units that never arrived lower the fill rate.
_SETTLED: Final = """
SELECT count(*) AS lines, coalesce(sum(expected_units), 0)::bigint AS expected_units,
       coalesce(sum(order_units), 0)::bigint AS order_units
FROM (
    SELECT coalesce(o.confirmed_units, o.ordered_units) AS expected_units,
           o.cancelled_units, came.order_units
    FROM retail.purchase_order_line o
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(i.order_units), 0)::bigint AS order_units
        FROM retail.shipment_line i
        WHERE i.purchase_order_line_id = o.id AND i.leg = 'supplier_in' AND i.status = 'received'
    ) came
    WHERE o.supplier = %(supplier)s AND (%(location)s = '' OR o.location = %(location)s)
      AND o.status <> 'draft'
      AND o.ordered_at > %(now)s - make_interval(days => %(days)s) AND o.ordered_at <= %(now)s
) line
WHERE expected_units - cancelled_units <= order_units
"""


def receipts(supplier: str, location: str, now: datetime) -> list[Receipt]:
    """Return a supplier's receipts of the 180 days before `now`, newest first.

    Location "" means every location.
    """
    return select(_RECEIPTS, _of(supplier, location, now), Receipt)


def measure(supplier: str, location: str, now: datetime) -> Measured:
    """Return the scorecard of a supplier at one location, computed at `now`.

    Location "" means all locations together.
    """
    came = receipts(supplier, location, now)
    settled = select_one(_SETTLED, _of(supplier, location, now), Settled) or Settled(0, 0, 0)
    due = [receipt for receipt in came if receipt.is_on_time is not None]
    return Measured(
        lead=lead_time([receipt.centidays for receipt in came if receipt.has_goods]),
        settled=settled,
        due_receipts=len(due),
        fill_permille=share_permille(settled.order_units, settled.expected_units),
        on_time_permille=share_permille(sum(r.is_on_time is True for r in due), len(due)),
        discrepancy_permille=share_permille(
            sum(receipt.discrepancy_reason is not None for receipt in came), len(came)
        ),
    )


def _of(supplier: str, location: str, now: datetime) -> Parameters:
    return {"supplier": supplier, "location": location, "now": now, "days": DAYS}


CARD_SQL: Final = """
SELECT c.supplier, coalesce(s.name, c.supplier) AS supplier_name, c.location, c.on_day,
       c.receipts, c.mean_centidays, c.sd_centidays, c.p50_centidays, c.p90_centidays,
       c.settled_lines, c.fill_permille, c.due_receipts, c.on_time_permille,
       c.discrepancy_permille, c.items_written
FROM app.scorecard c LEFT JOIN retail.supplier s ON s.code = c.supplier
"""


def cards(supplier: str, *, most: int) -> list[Card]:
    """Return up to `most` stored scorecards of a supplier, ordered by location."""
    sql = f"{CARD_SQL} WHERE c.supplier = %(supplier)s ORDER BY c.location LIMIT %(most)s"
    return select(sql, {"supplier": supplier, "most": most}, Card)
