"""The policy of a new item as a form: one table of fields, read by the page and by what is posted.

Only what a person decides when an item comes in is asked for. Everything else of `item_location`
has a default; a field that stays empty takes its default too.
"""

from typing import Any, Final, NamedTuple

from webui.commands import Form, days, money, out_of_date, whole
from webui.ledger.services.checks import MOST_UNITS
from webui.ledger.services.prices import MOST_PRICE

LONGEST_CENTIDAYS: Final = 100_000


class Field(NamedTuple):
    """A column of `item_location` with its words; `options` are (value, label), else a number.

    Numbers are whole. Only money and spans, whose columns end in `_minor` and `_centidays`, are
    typed with decimals.
    """

    column: str
    label: str
    options: tuple[tuple[str, str], ...] = ()
    low: int = 0
    high: int = MOST_UNITS
    default: str = ""

    @property
    def name(self) -> str:
        """The name of the field in the form."""
        return self.column.removesuffix("_minor").removesuffix("_centidays")

    @property
    def has_decimals(self) -> bool:
        """Whether an amount or a span is typed."""
        return self.name != self.column

    def value(self, form: Form) -> object:
        """What the column gets of what was typed; raises `ServiceError` for what is no number."""
        if self.options:
            return form[self.name]
        hundredths = money if self.column.endswith("_minor") else days
        read = hundredths if self.has_decimals else whole
        return read(form, self.name, low=self.low, high=self.high, label=self.label)


def _days(column: str, label: str) -> Field:
    """A span; the column has hundredths of a day."""
    return Field(column, f"{label}, days", high=LONGEST_CENTIDAYS)


FAMILIES: Final = (
    ("off", "off: no orders are proposed"),
    ("sS", "min/max (sS): at the reorder point, up to the order level"),
    ("sQ", "fixed quantity (sQ): at the reorder point, so many at a time"),
    ("RS", "periodic (RS): on order days, up to the order level"),
    ("RsS", "periodic with a reorder point (RsS)"),
    ("par", "par: up to the order level whenever below it"),
    ("cover", "cover: for so many days of demand"),
)
SECTIONS: Final[tuple[tuple[str, tuple[Field, ...]], ...]] = (
    (
        "When and how much to order",
        (
            Field("replenish_family", "Family", FAMILIES, default="off"),
            Field(
                "levels",
                "Levels",
                (("fixed", "typed here"), ("computed", "computed from demand and lead time")),
                default="fixed",
            ),
            Field("reorder_point_units", "Reorder point, units"),
            Field("order_up_to_units", "Order up to, units"),
            Field("order_quantity_units", "Quantity at a time, units"),
            Field("pack_units", "Pack, units", low=1, default="1"),
            Field("moq_units", "Minimum order, units"),
            _days("lead_time_centidays", "Lead time"),
        ),
    ),
    (
        "For computed levels",
        (
            _days("review_centidays", "Review"),
            _days("cycle_centidays", "Cycle"),
            _days("min_cover_centidays", "Least cover"),
            _days("max_cover_centidays", "Most cover"),
            Field(
                "safety_method",
                "Safety stock",
                (("fixed", "typed here"), ("days", "days of demand"), ("service", "service level")),
                default="fixed",
            ),
            Field("safety_stock_units", "Safety stock, units"),
            _days("safety_centidays", "Safety"),
            Field("service_z_micro", "Service level z, millionths", high=10_000_000),
        ),
    ),
    (
        "Cost and price",
        (
            Field("cost_minor", "Cost", high=MOST_PRICE),
            Field("regular_minor", "Regular price", low=1, high=MOST_PRICE),
            Field("margin_permille", "Least margin, per mille", high=999),
            Field("tax_bp", "Tax, hundredths of a per cent", high=10_000),
            Field(
                "price_mode",
                "Price rules",
                (("off", "off"), ("advise", "propose, a person approves"), ("auto", "by rule")),
                default="off",
            ),
        ),
    ),
)
FIELDS: Final = tuple(field for _, fields in SECTIONS for field in fields)
OPENINGS: Final = (
    ("zero", "0: nothing has arrived yet"),
    ("unknown", "Not known: store staff count it"),
)


def policy_of(form: Form) -> dict[str, object]:
    """The columns that were filled in; raises `ServiceError` for a number that is none.

    A form with an amount under the name of its column is from a page that asked for hundredths.
    """
    stale = [field.column for field in FIELDS if field.has_decimals and field.column in form]
    if stale:
        raise out_of_date(stale[0])
    policy: dict[str, object] = {"supplier": form["supplier"]} if form.get("supplier") else {}
    filled = [field for field in FIELDS if form.get(field.name)]
    return policy | {field.column: field.value(form) for field in filled}


def shown_sections(form: Form) -> list[dict[str, Any]]:
    """The sections with what was typed, or the default of each field."""
    return [
        {
            "title": title,
            "fields": [
                {"field": field, "text": form.get(field.name, field.default)} for field in fields
            ],
        }
        for title, fields in SECTIONS
    ]
