"""Queries of the counting desk about adjustments: those that wait, and those in the ledger."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.kernel.rows import select, select_value

_ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class Request:
    """An adjustment that waits for another person, or was decided."""

    id: int
    location: str
    sku: str
    name: str
    reason: str
    quantity_units: int
    occurred_at: datetime
    value_minor: int | None
    note: str
    status: str
    requested_by: str
    requested_at: datetime
    decided_by: str | None
    decision_reason: str | None

    @property
    def id_text(self) -> str:
        """The id as text for fragments inside the page."""
        return str(self.id)


_REQUEST: Final = """
SELECT r.id, r.location, r.sku, coalesce(p.name, r.sku) AS name, r.reason, r.quantity_units,
       r.occurred_at, r.value_minor, r.note, r.status, r.requested_by, r.requested_at,
       r.decided_by, r.decision_reason
FROM app.adjustment_request r LEFT JOIN retail.product p ON p.code = r.sku
"""


def waiting_requests(*, location: str = "") -> list[Request]:
    """Return adjustments that wait for another person, by location, oldest first."""
    sql = f"""{_REQUEST} WHERE r.status = 'waiting'
              AND (%(location)s = '' OR r.location = %(location)s)
              ORDER BY r.location, r.id LIMIT {_ROWS}"""
    return select(sql, {"location": location}, Request)


def requests_of(person: str) -> list[Request]:
    """Return the newest 10 requests of a person with their status."""
    sql = f"{_REQUEST} WHERE r.requested_by = %(person)s ORDER BY r.id DESC LIMIT 10"
    return select(sql, {"person": person}, Request)


@dataclass(frozen=True, slots=True)
class AdjustmentInHistory:
    """An adjustment in the ledger."""

    id: int
    location: str
    sku: str
    name: str
    reason: str
    quantity_units: int
    occurred_at: datetime
    recorded_by: str | None


def adjustment_history(*, location: str = "", sku: str = "") -> list[AdjustmentInHistory]:
    """Return the newest 20 adjustments."""
    sql = """
        SELECT a.id, a.location, a.sku, coalesce(p.name, a.sku) AS name, a.reason,
               a.quantity_units, a.occurred_at, a.recorded_by
        FROM retail.stock_adjustment a LEFT JOIN retail.product p ON p.code = a.sku
        WHERE (%(location)s = '' OR a.location = %(location)s)
          AND (%(sku)s = '' OR a.sku = %(sku)s)
        ORDER BY a.id DESC LIMIT 20
        """
    return select(sql, {"location": location, "sku": sku}, AdjustmentInHistory)


def adjustment_limit_minor() -> int:
    """Return the value in minor units above which an adjustment needs two people."""
    return int(select_value("SELECT adjustment_limit_minor FROM app.setting"))
