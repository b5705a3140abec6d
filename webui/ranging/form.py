"""The policy of a new item as a form: one table of fields, read by the page and by what is posted.

Only what a person decides when an item comes in is asked for. Everything else of `item_location`
has a default; a field that stays empty takes its default too.
"""

from typing import Any, Final, NamedTuple

from inventory.parsing import QUANTITY_MAX
from webui.commands import Form, days, money, out_of_date, whole
from webui.ledger.services.prices import MOST_PRICE

LONGEST_CENTIDAYS: Final = 100_000


Use = dict[str, tuple[str, ...]]


class Field(NamedTuple):
    """A column of `item_location` with its words; `options` are (value, label), else a number.

    Numbers are whole. Only money and spans, whose columns end in `_minor` and `_centidays`, are
    typed with decimals. `used` says with which values of which other fields a rule reads it: where
    each field of one of its alternatives has one of the values. Without any it is always used.
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
        """Whether an amount or a span is typed."""
        return self.name != self.column

    def value(self, form: Form) -> object:
        """What the column gets of what was typed; raises `ServiceError` for what is no number."""
        if self.options:
            return form[self.name]
        hundredths = money if self.column.endswith("_minor") else days
        read = hundredths if self.has_decimals else whole
        return read(form, self.name, low=self.low, high=self.high, label=self.label)


def _days(column: str, label: str, *used: Use) -> Field:
    """A span; the column has hundredths of a day."""
    return Field(column, f"{label}, days", high=LONGEST_CENTIDAYS, used=used)


def _in(*families: str, **others: str) -> Use:
    """Used by these families, and where each of the others has its value."""
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
# What each family reads is domain.md 5.1; S of `par` is always typed.
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
