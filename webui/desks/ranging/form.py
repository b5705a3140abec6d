"""The policy of a new item as a form: one table of fields, for rendering and for parsing.

The form asks only what a person decides when an item is ranged. Every other column of
`item_location` has a default; an empty field takes its default too.
"""

from typing import Any, Final, NamedTuple

from inventory.tables.parsing import QUANTITY_MAX
from ledger.pricing.prices import MOST_PRICE
from webui.shell.commands import Form, days, money, out_of_date, whole

LONGEST_CENTIDAYS: Final = 100_000


Use = dict[str, tuple[str, ...]]


class Field(NamedTuple):
    """A column of `item_location` with its label; with `options` a choice, else a number.

    Options are pairs (value, label). Numbers are integers, except money and spans: their columns
    end in `_minor` and `_centidays`, and people type decimals. `used` is a list of alternatives; a
    rule reads the field if all fields of one alternative have one of its values. An empty `used`
    means always.
    """

    column: str
    label: str
    options: tuple[tuple[str, str], ...] = ()
    low: int = 0
    high: int = QUANTITY_MAX
    default: str = ""
    used: tuple[Use, ...] = ()

    @property
    def used_text(self) -> str:
        """`used` for the page: `replenish_family=RS,RsS levels=fixed | replenish_family=par`."""
        return " | ".join(
            " ".join(f"{name}={','.join(values)}" for name, values in use.items())
            for use in self.used
        )

    @property
    def name(self) -> str:
        """The name of the field in the form."""
        return self.column.removesuffix("_minor").removesuffix("_centidays")

    @property
    def has_decimals(self) -> bool:
        """True for an amount or a span, which people type with decimals."""
        return self.name != self.column

    def value(self, form: Form) -> object:
        """Return the column's value for the input; raise `ServiceError` if it is no number."""
        if self.options:
            return form[self.name]
        hundredths = money if self.column.endswith("_minor") else days
        read = hundredths if self.has_decimals else whole
        return read(form, self.name, low=self.low, high=self.high, label=self.label)


def _days(column: str, label: str, *used: Use) -> Field:
    """Return a field for a span, stored in hundredths of a day."""
    return Field(column, f"{label}, days", high=LONGEST_CENTIDAYS, used=used)


def _in(*families: str, **others: str) -> Use:
    """Return the condition: one of these families, and each other field has its value."""
    return {"replenish_family": families, **{name: (value,) for name, value in others.items()}}


FAMILIES: Final = (
    ("off", "off: no orders are proposed"),
    ("sQ", "sQ: at the reorder point, multiples of a quantity"),
    ("sS", "sS, min/max: at the reorder point, up to the order level"),
    ("RS", "RS: on order days, up to the order level"),
    ("RsS", "RsS: on order days at the reorder point, up to the order level"),
    ("par", "par: up to the order level whenever below it"),
    ("cover", "cover, time supply: for so many days of demand"),
)
_ORDERING: Final = tuple(family for family, _ in FAMILIES if family != "off")
_COMPUTED: Final = tuple(family for family in _ORDERING if family != "par")
_PROTECTED: Final = ("sQ", "sS", "RS", "RsS")
# domain.md 5.1 lists the fields that each family reads; S of `par` is always typed.
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
                used=(_in(*_COMPUTED),),
            ),
            Field(
                "reorder_point_units",
                "Reorder point s, units",
                used=(_in("sQ", "sS", "RsS", "cover", levels="fixed"),),
            ),
            Field(
                "order_up_to_units",
                "Order up to S, units",
                used=(_in("sS", "RS", "RsS", "cover", levels="fixed"), _in("par")),
            ),
            Field(
                "order_quantity_units",
                "Quantity at a time Q, units",
                used=(_in("sQ"), _in("sS", levels="computed")),
            ),
            Field("pack_units", "Pack, units", low=1, default="1", used=(_in(*_ORDERING),)),
            Field("moq_units", "Minimum order, units", used=(_in(*_ORDERING),)),
            _days("lead_time_centidays", "Lead time L", _in(*_ORDERING)),
        ),
    ),
    (
        "For computed levels",
        (
            _days("review_centidays", "Review R", _in("RS", "RsS", levels="computed")),
            _days("cycle_centidays", "Cycle C", _in("sS", levels="computed")),
            _days("min_cover_centidays", "Least cover", _in("cover", levels="computed")),
            _days("max_cover_centidays", "Most cover", _in("cover", levels="computed")),
            Field(
                "safety_method",
                "Safety stock SS",
                (("fixed", "typed here"), ("days", "days of demand"), ("service", "service level")),
                default="fixed",
                used=(_in(*_PROTECTED, levels="computed"),),
            ),
            Field(
                "safety_stock_units",
                "Safety stock, units",
                used=(_in(*_PROTECTED, levels="computed", safety_method="fixed"),),
            ),
            _days(
                "safety_centidays",
                "Safety stock",
                _in(*_PROTECTED, levels="computed", safety_method="days"),
            ),
            Field(
                "service_z_micro",
                "Service level z, millionths",
                high=10_000_000,
                used=(_in(*_PROTECTED, levels="computed", safety_method="service"),),
            ),
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
    """Return the columns that were filled in; raise `ServiceError` for text that is no number.

    Amounts under a full column name come from an outdated page that asked for hundredths: refused.
    """
    stale = [field.column for field in FIELDS if field.has_decimals and field.column in form]
    if stale:
        raise out_of_date(stale[0])
    policy: dict[str, object] = {"supplier": form["supplier"]} if form.get("supplier") else {}
    filled = [field for field in FIELDS if form.get(field.name)]
    return policy | {field.column: field.value(form) for field in filled}


def shown_sections(form: Form) -> list[dict[str, Any]]:
    """Return the sections with the input, or the default of each field."""
    return [
        {
            "title": title,
            "fields": [
                {"field": field, "text": form.get(field.name, field.default)} for field in fields
            ],
        }
        for title, fields in SECTIONS
    ]
