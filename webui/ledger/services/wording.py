"""Refusals in words: fields by the names that pages give them, values as a person writes them.

Services raise fields, values and rules; programs read those. What a person reads is made here, so
that one value looks the same in a refusal, in what a page says of somebody else and in a report.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Final

from inventory.explanation.words import money_text
from webui.ledger.services.errors import ServiceError

LONGEST_VALUE: Final = 60
# What pages call a column; every other field is its own name without the unit at the end.
LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "quantity_units": "Units",
        "ordered_units": "Units",
        "confirmed_units": "Units in all",
        "price_minor": "Price",
        "regular_minor": "Regular price",
        "limit_minor": "Limit",
        "minimum_order_minor": "Minimum order",
        "auto_max_minor": "Automatic limit",
        "auto_permille": "Largest automatic change",
        "lead_time_centidays": "Lead time",
        "order_days_mask": "Order days",
        "is_active": "Active",
        "occurred_at": "When",
        "counted_at": "When",
        "received_at": "When",
        "until_at": "Until",
        "due_on": "Due",
        "discrepancy_reason": "Reason",
        "sku": "SKU",
    }
)
_ENDS: Final = ("_units", "_minor", "_at", "_on")
# Fields that nobody fills in: the rule alone says what is wrong.
_UNSEEN: Final = frozenset({"actor", "form", "command_id", "entries", "pick"})


def person(name: str | None) -> str:
    """Who did something; rules and imports have no name."""
    return name or "the system"


def moment_text(at: datetime) -> str:
    """`2026-11-21 10:42 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def label(field: str) -> str:
    """What a page calls the field."""
    name = LABELS.get(field)
    if name is None:
        name = field
        for end in _ENDS:
            name = name.removesuffix(end)
        name = name.replace("_", " ")
    return name[:1].upper() + name[1:]


def value_text(field: str, value: object) -> str:
    """A value as a person would write it; nothing for one that is not there."""
    match value:
        case None | "":
            return ""
        case datetime():
            return moment_text(value) if value.tzinfo else f"{value:%Y-%m-%d %H:%M}"
        case date():
            return value.isoformat()
        case bool():
            return "yes" if value else "no"
        case int() if field.endswith("_minor"):
            return money_text(value)
        case int():
            return f"{value:,}" if _is_amount(field) else str(value)
        case _:
            return f"“{_short(str(value))}”"


def _is_amount(field: str) -> bool:
    """Whether the number says how much; ids and years are written without separators."""
    return not field.endswith(("_id", "_from", "_to"))


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def names_text(fields: Iterable[str]) -> str:
    """Fields inside a sentence: `minimum order, active`."""
    return ", ".join(label(field).lower() for field in fields)


def changes_text(now: Mapping[str, object], seen: Mapping[str, object]) -> str:
    """Where values are not what a person saw: `minimum order is 10.00, was 0.00`; else nothing."""
    return ", ".join(
        f"{names_text([field])} is {_plain(field, now[field])}, was {_plain(field, value)}"
        for field, value in seen.items()
        if now[field] != value
    )


def _plain(field: str, value: object) -> str:
    text = _short(value) if isinstance(value, str) else value_text(field, value)
    return text or "empty"


def refusal_text(error: ServiceError) -> str:
    """A refusal as a sentence: `Units: a whole number from 1 to 1,000,000; got “many”.`."""
    if error.field in _UNSEEN:
        return f"{error.rule[:1].upper()}{error.rule[1:]}."
    value = value_text(error.field, error.value)
    seen = f"; got {value}" if value else ""
    return f"{label(error.field)}: {error.rule}{seen}."
