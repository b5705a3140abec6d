"""The list of transfers: one page of a view in the order of a column, and its totals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ledger.kernel.checks import CORRECTABLE_FOR
from ledger.kernel.rows import select, select_one
from ledger.messages import gettext_noop
from webui.desks.transfers.queries import (
    COLUMNS_SQL,
    DUE_BY_SQL,
    FROM_SQL,
    STUCK_SQL,
    VIEWS_SQL,
    TransferRow,
)
from webui.readmodel.alphabet import alphabetic
from webui.shell.keyset import MOST_SUMMED, Keys, Page, Place, Sortable, cut, parameters
from webui.shell.listing import Column, Sort

# The statement reads only rows of the person's stores, but lists show the names of all stores. So
# the names are a parameter.
_NAME: Final = alphabetic("coalesce(({0}::jsonb ->> {1}), {1})")
_NAMES: Final = "%(names)s"
_UNITS: Final = "CASE WHEN a.status = 'planned' THEN a.planned_units ELSE a.shipped_units END"
_SORTABLE: Final = {
    "item": Sortable(alphabetic("coalesce(p.name, a.sku)")),
    "from": Sortable(_NAME.format(_NAMES, "l.location")),
    "to": Sortable(_NAME.format(_NAMES, "a.location")),
    "units": Sortable(f"({_UNITS})", "bigint"),
    "status": Sortable("a.status"),
    "due": Sortable(f"coalesce({DUE_BY_SQL}, 'infinity')", "date"),
    "received": Sortable("coalesce(a.received_at, 'infinity')", "timestamptz"),
}
_MOVING: Final = Keys(_SORTABLE, key="a.id", default=Sort("due"))
_RECEIVED: Final = Keys(_SORTABLE, key="a.id", default=Sort("received", descending=True))
_COLUMNS: Final = (
    Column("item", gettext_noop("Item")),
    Column("from", gettext_noop("From")),
    Column("to", gettext_noop("To")),
    Column("units", gettext_noop("Units"), "n", largest_first=True),
    Column("status", gettext_noop("Status"), largest_first=True),
)
_DUE: Final = Column("due", gettext_noop("Due"))
_ARRIVED: Final = Column("received", gettext_noop("Received"), largest_first=True)
_STEP: Final = Column("", gettext_noop("Next step"), "do", is_hidden=True)
_WHERE: Final = """WHERE a.leg = 'transfer_in' AND {view}
    AND (%(location)s = '' OR a.location = %(location)s OR l.location = %(location)s)"""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the transfers of all pages, at most over the first 10,001.

    `transfers` and `stuck` are numbers of transfers; `units` are their units.
    """

    transfers: int
    units: int
    stuck: int


def keys_of(view: str) -> Keys:
    """Return a view's sort columns and default order. Received transfers begin with the newest."""
    return _RECEIVED if view == "received" else _MOVING


def columns_of(view: str) -> tuple[Column, ...]:
    """Return the columns of a view's table."""
    return (*_COLUMNS, _ARRIVED if view == "received" else _DUE, _STEP)


def transfer_page(
    view: str, place: Place, *, location: str, person: str, names: str
) -> Page[TransferRow]:
    """Return one page of a view. `names` is JSON with the names of stores by code."""
    source = f"{FROM_SQL} {_WHERE.format(view=VIEWS_SQL[view])}"
    sql = f"""WITH shown AS ({keys_of(view).shown_sql(source, place)})
        {COLUMNS_SQL}, shown.mark {FROM_SQL} JOIN shown ON shown.key = a.id
        ORDER BY shown.place"""
    given: Mapping[str, Any] = {
        "location": location,
        "person": person,
        "names": names,
        "correctable": CORRECTABLE_FOR,
        **parameters(place),
    }
    return cut(select(sql, given, TransferRow), place)


def transfer_totals(view: str, *, location: str) -> Totals:
    """Return the sums over the transfers of all pages, over the first 10,001 at most."""
    sql = f"""SELECT count(*) AS transfers, coalesce(sum(c.units), 0)::bigint AS units,
        count(*) FILTER (WHERE c.is_stuck) AS stuck
        FROM (SELECT {_UNITS} AS units, {STUCK_SQL} AS is_stuck {FROM_SQL}
              {_WHERE.format(view=VIEWS_SQL[view])} LIMIT {MOST_SUMMED + 1}) AS c"""  # noqa: S608 -- constants of this project
    return select_one(sql, {"location": location}, Totals) or Totals(0, 0, 0)
