"""The columns of a new item's policy, which the page and the form both read.

The form has only columns that a person decides when they range an item. Every other column of
`item_location` gets its default, and so does a column whose field is empty.
"""

from collections.abc import Iterable
from typing import Any, Final

from inventory.replenishment.families import FAMILIES, SAFETY_COLUMNS, Family
from ledger.messages import Message, gettext_noop
from ledger.ordering.supplier_terms import LONGEST_LEAD_CENTIDAYS
from ledger.pricing.prices import MOST_PRICE
from webui.desks.ranging.policy_field import Field, Use
from webui.shell.forms import Typed


def _days(column: str, label: str, *used: Use) -> Field:
    """Return a field for a time span, stored in hundredths of a day."""
    return Field(
        column,
        Message("%(label)s, days", label=Message(label)),
        high=LONGEST_LEAD_CENTIDAYS,
        used=used,
    )


def _in(families: Iterable[Family], **others: str) -> Use:
    """Return the condition: the family is in `families`, and other fields are as in `others`."""
    codes = tuple(family.code for family in families)
    return {"replenish_family": codes, **{name: (value,) for name, value in others.items()}}


def _read(column: str, **others: str) -> tuple[Use, ...]:
    """Return conditions for `Field.used`. If one condition is true, the rules read the column.

    In each condition, other fields must also have the values in `others`.
    """
    typed = [family for family in _ORDERING if column in family.typed]
    uses = (
        _in([family for family in typed if family.computed], levels="fixed"),
        _in([family for family in typed if not family.computed]),
        _in([family for family in _COMPUTED if column in family.computed], levels="computed"),
    )
    return tuple(
        use | {name: (value,) for name, value in others.items()}
        for use in uses
        if use["replenish_family"]
    )


def _days_read(column: str, label: str) -> Field:
    """Return a field for a time span, with the conditions that `_read` returns for its column.

    The span is stored in hundredths of a day.
    """
    return _days(column, label, *_read(column))


_ORDERING: Final = tuple(family for family in FAMILIES.values() if family.typed)
_COMPUTED: Final = tuple(family for family in _ORDERING if family.computed)
_METHOD: Final = SAFETY_COLUMNS[0]
SECTIONS: Final[tuple[tuple[str, tuple[Field, ...]], ...]] = (
    (
        gettext_noop("When and how much to order"),
        (
            Field(
                "replenish_family",
                gettext_noop("Family"),
                tuple((family.code, family.label) for family in FAMILIES.values()),
                default="off",
            ),
            Field(
                "levels",
                gettext_noop("Levels"),
                (
                    ("fixed", gettext_noop("typed here")),
                    ("computed", gettext_noop("computed from demand and lead time")),
                ),
                default="fixed",
                used=(_in(_COMPUTED),),
            ),
            Field(
                "reorder_point_units",
                gettext_noop("Reorder point s, units"),
                used=_read("reorder_point_units"),
            ),
            Field(
                "order_up_to_units",
                gettext_noop("Order up to S, units"),
                used=_read("order_up_to_units"),
            ),
            Field(
                "order_quantity_units",
                gettext_noop("Quantity at a time Q, units"),
                used=_read("order_quantity_units"),
            ),
            Field(
                "pack_units",
                gettext_noop("Pack, units"),
                low=1,
                default="1",
                used=(_in(_ORDERING),),
            ),
            Field("moq_units", gettext_noop("Minimum order, units"), used=(_in(_ORDERING),)),
            _days("lead_time_centidays", gettext_noop("Lead time L"), _in(_ORDERING)),
        ),
    ),
    (
        gettext_noop("For computed levels"),
        (
            _days_read("review_centidays", gettext_noop("Review R")),
            _days_read("cycle_centidays", gettext_noop("Cycle C")),
            _days_read("min_cover_centidays", gettext_noop("Minimum cover")),
            _days_read("max_cover_centidays", gettext_noop("Maximum cover")),
            Field(
                _METHOD,
                gettext_noop("Safety stock SS"),
                (
                    ("fixed", gettext_noop("typed here")),
                    ("days", gettext_noop("days of demand")),
                    ("service", gettext_noop("service level")),
                ),
                default="fixed",
                used=_read(_METHOD),
            ),
            Field(
                "safety_stock_units",
                gettext_noop("Safety stock, units"),
                used=_read("safety_stock_units", safety_method="fixed"),
            ),
            _days(
                "safety_centidays",
                gettext_noop("Safety stock"),
                *_read("safety_centidays", safety_method="days"),
            ),
            Field(
                "service_z_micro",
                gettext_noop("Service level z, millionths"),
                high=10_000_000,
                used=_read("service_z_micro", safety_method="service"),
            ),
        ),
    ),
    (
        gettext_noop("Cost and price"),
        (
            Field("cost_minor", gettext_noop("Cost"), high=MOST_PRICE),
            Field("regular_minor", gettext_noop("Regular price"), low=1, high=MOST_PRICE),
            Field("margin_permille", gettext_noop("Minimum margin, per cent"), high=999),
            Field("tax_bp", gettext_noop("Tax, per cent"), high=10_000),
            Field(
                "price_mode",
                gettext_noop("Price rules"),
                (
                    ("off", gettext_noop("off")),
                    ("advise", gettext_noop("the rules propose, a person approves")),
                    ("auto", gettext_noop("by rule")),
                ),
                default="off",
            ),
        ),
    ),
)
FIELDS: Final = tuple(field for _, fields in SECTIONS for field in fields)


def shown_sections(typed: Typed) -> list[dict[str, Any]]:
    """Return the sections, with the input or else the default of each field."""
    return [
        {
            "title": title,
            "fields": [
                {"field": field, "text": typed.get(field.name, field.default)} for field in fields
            ],
        }
        for title, fields in SECTIONS
    ]
