"""The list of suppliers: their stored scorecards by location, page by page."""

from dataclasses import dataclass
from typing import Final

from ledger.kernel.rows import select, select_one
from ledger.messages import gettext_noop
from ledger.ordering.scorecards import CARD_SQL, Card
from webui.readmodel.alphabet import alphabetic
from webui.shell.keyset import Keys, Page, Place, Sortable, cut, parameters
from webui.shell.listing import Column, Sort

# The sort value of a scorecard that has no figure in the sorted column. In descending order, such
# scorecards come last.
_NONE: Final = -1
KEYS: Final = Keys(
    {
        "supplier": Sortable(alphabetic("coalesce(s.name, c.supplier)")),
        "location": Sortable(alphabetic("coalesce(lo.name, c.location)")),
        "receipts": Sortable("c.receipts", "bigint"),
        "days": Sortable(f"coalesce(c.mean_centidays, {_NONE})", "bigint"),
        "ninety": Sortable(f"coalesce(c.p90_centidays, {_NONE})", "bigint"),
        "fill": Sortable(f"coalesce(c.fill_permille, {_NONE})", "bigint"),
        "on_time": Sortable(f"coalesce(c.on_time_permille, {_NONE})", "bigint"),
        "discrepancies": Sortable(f"coalesce(c.discrepancy_permille, {_NONE})", "bigint"),
        "measured": Sortable("c.on_day", "date"),
    },
    key="c.supplier || '|' || c.location",
    default=Sort("supplier"),
    type="text",
)
COLUMNS: Final = (
    Column("supplier", gettext_noop("Supplier")),
    Column("location", gettext_noop("Location")),
    Column("receipts", gettext_noop("Receipts"), "n", largest_first=True),
    Column("days", gettext_noop("Lead time"), "n wraps", largest_first=True),
    Column("", "± deviation", "n"),
    Column("", gettext_noop("Half within"), "n wraps"),
    Column("ninety", gettext_noop("90 % within"), "n wraps", largest_first=True),
    Column("fill", gettext_noop("Fill rate"), "n", largest_first=True),
    Column("on_time", gettext_noop("On time"), "n", largest_first=True),
    Column("discrepancies", gettext_noop("Discrepancies"), "n", largest_first=True),
    Column("measured", gettext_noop("Measured"), largest_first=True),
)
_FROM: Final = """
FROM app.scorecard c LEFT JOIN retail.supplier s ON s.code = c.supplier
LEFT JOIN retail.location lo ON lo.code = c.location
WHERE (%(supplier)s = '' OR c.supplier = %(supplier)s)
  AND (%(location)s = '' OR c.location = %(location)s)"""


@dataclass(frozen=True, slots=True)
class ListedCard(Card):
    """A scorecard on a page; `mark` is its value in the sorted column."""

    key: str
    mark: str


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of scorecards on all pages, and the number of their suppliers."""

    cards: int
    suppliers: int


def card_page(place: Place, *, supplier: str, location: str) -> Page[ListedCard]:
    """Return one page of the scorecards of a supplier and a location; an empty text selects all."""
    columns, _, source = CARD_SQL.partition("FROM")
    sql = f"""WITH shown AS ({KEYS.shown_sql(_FROM, place)})
        {columns}, shown.key, shown.mark FROM {source}
        JOIN shown ON shown.key = c.supplier || '|' || c.location ORDER BY shown.place"""
    given = {"supplier": supplier, "location": location}
    return cut(select(sql, given | parameters(place), ListedCard), place)


def card_totals(*, supplier: str, location: str) -> Totals:
    """Return the number of scorecards on all pages, and the number of their suppliers."""
    sql = f"SELECT count(*) AS cards, count(DISTINCT c.supplier) AS suppliers {_FROM}"
    return select_one(sql, {"supplier": supplier, "location": location}, Totals) or Totals(0, 0)
