"""Queries of the transfers desk.

The ledger has two rows for a transfer: one at the source and one at the destination. These queries
return both as one row.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from ledger.access.scope import current
from ledger.kernel.checks import CORRECTABLE_FOR
from ledger.kernel.rows import select, select_value
from ledger.transfers.stuck import TRANSFER_DUE_ON, stuck_sql

VIEWS: Final = ("moving", "stuck", "received")


@dataclass(frozen=True, slots=True)
class TransferRow:
    """One transfer, from both of its rows; `mark` is its value in the sorted column.

    `due_by` is the day by which the rule for stuck transfers expects the receipt. `is_correctable`
    is True if the person who sees the page may correct the receipt. `is_asked_by_reader` is True if
    this person has planned the transfer and it isn't shipped yet.
    """

    out_id: int
    in_id: int
    transfer_ref: str
    sku: str
    name: str
    source: str
    destination: str
    status: str
    planned_units: int
    shipped_units: int
    received_units: int
    damaged_units: int
    shipped_at: datetime | None
    received_at: datetime | None
    due_on: date | None
    due_by: date | None
    reorder_id: str | None
    discrepancy_reason: str | None
    recorded_at: datetime
    recorded_by: str | None
    source_on_hand_units: int | None
    cost_minor: int | None
    is_stuck: bool
    is_correctable: bool
    is_asked_by_reader: bool
    mark: str

    @property
    def key(self) -> int:
        """The id of the transfer's row at the destination. The list identifies transfers by it."""
        return self.in_id

    @property
    def units(self) -> int:
        """The planned units of a planned transfer, else the shipped units."""
        return self.planned_units if self.status == "planned" else self.shipped_units

    @property
    def id_text(self) -> str:
        """The id of the transfer's row at the destination, as text for ids of HTML elements."""
        return str(self.in_id)

    @property
    def anchor(self) -> str:
        """The URL fragment of the transfer's card."""
        return f"transfer-{self.in_id}"

    @property
    def version(self) -> str:
        """A text that changes with every write of the transfer's row at the destination."""
        return self.recorded_at.isoformat()

    @property
    def is_from_mine(self) -> bool:
        """True if the person who sees the page works at the source."""
        return current().allows(self.source)

    @property
    def is_to_mine(self) -> bool:
        """True if the person who sees the page works at the destination."""
        return current().allows(self.destination)

    @property
    def lost_units(self) -> int:
        """Units shipped that never arrived; negative if more arrived than were shipped."""
        return self.shipped_units - self.received_units - self.damaged_units

    @property
    def found_units(self) -> int:
        """Units that arrived but were never shipped; negative if units are lost."""
        return -self.lost_units

    @property
    def lost_minor(self) -> int | None:
        """The cost of `lost_units` in minor currency units; None if the unit cost is unknown."""
        return None if self.cost_minor is None else self.lost_units * self.cost_minor


STUCK_SQL: Final = stuck_sql("now()")
# The day by which the rule for stuck transfers expects the receipt. The rule needs the time of
# shipping. So for a planned transfer, the day is the due day that a person chose.
DUE_BY_SQL: Final = f"CASE a.status WHEN 'planned' THEN a.due_on ELSE {TRANSFER_DUE_ON} END"
VIEWS_SQL: Final = {
    "moving": "a.status <> 'received'",
    "stuck": STUCK_SQL,
    "received": "a.status = 'received'",
}
COLUMNS_SQL: Final = f"""
SELECT l.id AS out_id, a.id AS in_id, a.transfer_ref, a.sku, coalesce(p.name, a.sku) AS name,
       l.location AS source, a.location AS destination, a.status, a.planned_units,
       a.shipped_units, a.received_units, a.damaged_units, a.shipped_at, a.received_at, a.due_on,
       {DUE_BY_SQL} AS due_by, a.reorder_id, a.discrepancy_reason, a.recorded_at, a.recorded_by,
       s.on_hand_units AS source_on_hand_units, nullif(il.cost_minor, 0) AS cost_minor,
       {STUCK_SQL} AS is_stuck,
       a.status = 'received' AND a.recorded_by = %(person)s
           AND a.received_at >= now() - %(correctable)s AS is_correctable,
       a.status = 'planned' AND a.recorded_by = %(person)s AS is_asked_by_reader
"""
FROM_SQL: Final = """
FROM retail.shipment_line a
JOIN retail.shipment_line l
    ON l.transfer_ref = a.transfer_ref AND l.sku = a.sku AND l.leg = 'transfer_out'
LEFT JOIN retail.product p ON p.code = a.sku
LEFT JOIN read_model.stock s ON s.inv_key = l.inv_key
LEFT JOIN retail.item_location il ON il.inv_key = a.inv_key
"""


def transfers(
    *, view: str, location: str = "", after: tuple[datetime, int] | None = None, rows: int = 100
) -> list[TransferRow]:
    """Return up to `rows` transfers, oldest first; in the view `received`, newest first.

    `after` is (time of receipt, id) of the last transfer of the previous page. Only the view
    `received` uses the time. The page begins after this transfer and not after a number of rows. So
    a transfer that leaves the view doesn't shift the next page.
    """
    behind, order = (
        ("(a.received_at, a.id) < (%(at)s, %(id)s)", "a.received_at DESC, a.id DESC")
        if view == "received"
        else ("a.id > %(id)s", "a.id")
    )
    sql = f"""{COLUMNS_SQL}, '' AS mark {FROM_SQL}
              WHERE a.leg = 'transfer_in' AND {VIEWS_SQL[view]}
              AND (%(location)s = '' OR a.location = %(location)s OR l.location = %(location)s)
              AND {behind if after else "true"} ORDER BY {order} LIMIT %(rows)s"""
    at, number = after or (None, None)
    given = {"location": location, "person": "", "correctable": CORRECTABLE_FOR}
    return select(sql, given | {"at": at, "id": number, "rows": rows}, TransferRow)


def stuck_count() -> int:
    """Return the number of stuck transfers, capped at 100."""
    sql = f"""SELECT count(*) FROM (SELECT FROM retail.shipment_line a
              LEFT JOIN retail.item_location il ON il.inv_key = a.inv_key
              WHERE a.leg = 'transfer_in' AND {STUCK_SQL} LIMIT 100) few"""  # noqa: S608 -- a constant of this module
    return int(select_value(sql))
