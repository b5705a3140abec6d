"""Texts of refusals for people, with the fields' names on pages and formatted values.

A `ServiceError` has field, value and rule, which programs read. This module composes the sentence
for people, so that a value is formatted in the same way in refusals, on pages and in reports.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Final

from inventory.explain.formatting import money_text
from ledger.kernel.errors import ServiceError

LONGEST_VALUE: Final = 60
# Names of fields on pages. Any other field is shown as its own name without the unit suffix.
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
# Fields that are not on a form. Their message is only the rule.
_NOT_ON_FORMS: Final = frozenset({"actor", "form", "command_id", "entries", "pick"})


def person(name: str | None) -> str:
    """Return the name of a person, or "the system" for rules and imports."""
    return name or "the system"


def moment_text(at: datetime) -> str:
    """Return a time like `2026-11-21 10:42 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def label(field: str) -> str:
    """Return the name of a field on pages: `Lead time` for `lead_time_centidays`."""
    name = LABELS.get(field)
    if name is None:
        name = field
        for end in _ENDS:
            name = name.removesuffix(end)
        name = name.replace("_", " ")
    return name[:1].upper() + name[1:]


def value_text(field: str, value: object) -> str:
    """Return a value as pages show it: `6.49` for 649 minor units; an empty text for None."""
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
    """Return True if a number of this field gets thousands separators; ids don't."""
    return not field.endswith(("_id", "_from", "_to"))


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def names_text(fields: Iterable[str]) -> str:
    """Return the names of fields in lower case, as a list: `minimum order, active`."""
    return ", ".join(label(field).lower() for field in fields)


def changes_text(now: Mapping[str, object], seen: Mapping[str, object]) -> str:
    """Return the values that differ from those a person saw: `minimum order is 10.00, was 0.00`.

    The text is empty if none differs.
    """
    return ", ".join(
        f"{names_text([field])} is {_plain(field, now[field])}, was {_plain(field, value)}"
        for field, value in seen.items()
        if now[field] != value
    )


def _plain(field: str, value: object) -> str:
    text = _short(value) if isinstance(value, str) else value_text(field, value)
    return text or "empty"


def refusal_text(error: ServiceError) -> str:
    """Return a refusal as a sentence: `Units: a whole number from 1 to 1,000,000; got “many”.`."""
    if error.field in _NOT_ON_FORMS:
        return f"{error.rule[:1].upper()}{error.rule[1:]}."
    value = value_text(error.field, error.value)
    seen = f"; got {value}" if value else ""
    return f"{label(error.field)}: {error.rule}{seen}."
