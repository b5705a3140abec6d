"""Texts of refusals for people, with the fields' names on pages and formatted values.

A `ServiceError` has field, value and rule, which programs read. This module composes the sentence
for people, so that a value is formatted in the same way in refusals, on pages and in reports.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime
from types import MappingProxyType
from typing import Final

from inventory.explain.formatting import money_text
from ledger.kernel.amounts import amount_text
from ledger.kernel.errors import ServiceError
from ledger.kernel.zones import store_zone
from ledger.messages import (
    Message,
    Translate,
    as_message,
    gettext_noop,
    joined,
    sentence,
    translated,
    untranslated,
)

LONGEST_VALUE: Final = 60
# Names of fields on pages. Any other field is shown as its own name without the unit suffix.
LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "quantity_units": gettext_noop("Units"),
        "ordered_units": gettext_noop("Units"),
        "confirmed_units": gettext_noop("Units in all"),
        "price_minor": gettext_noop("Price"),
        "regular_minor": gettext_noop("Regular price"),
        "limit_minor": gettext_noop("Limit"),
        "minimum_order_minor": gettext_noop("Minimum order"),
        "auto_max_minor": gettext_noop("Automatic limit"),
        "auto_permille": gettext_noop("Largest automatic change"),
        "lead_time_centidays": gettext_noop("Lead time"),
        "order_days_mask": gettext_noop("Order days"),
        "is_active": gettext_noop("Active"),
        "occurred_at": gettext_noop("When"),
        "counted_at": gettext_noop("When"),
        "received_at": gettext_noop("When"),
        "until_at": gettext_noop("Until"),
        "due_on": gettext_noop("Due"),
        "discrepancy_reason": gettext_noop("Reason"),
        "sku": gettext_noop("SKU"),
        "inv_key": gettext_noop("Item"),
    }
)
_ENDS: Final = ("_units", "_minor", "_at", "_on")
# Fields that are not on a form. Their message is only the rule.
_NOT_ON_FORMS: Final = frozenset({"actor", "form", "command_id", "entries", "order", "pick"})


def person(name: str | None) -> str:
    """Return the name of a person, or "the system" if a program wrote the row (None)."""
    return name or Message("the system")


def moment_text(at: datetime) -> str:
    """Return a time as text in the stores' time zone, like `2026-11-21 10:42 UTC`."""
    # A time in year 1 or 9999 may have no date in the stores' zone. The text then has the zone of
    # `at`.
    with suppress(OverflowError):
        at = at.astimezone(store_zone())
    return f"{at:%Y-%m-%d %H:%M %Z}"


def label(field: str, translate: Translate = untranslated) -> str:
    """Return the name that pages show for a field: `Lead time` for `lead_time_centidays`."""
    name = field if isinstance(field, Message) else LABELS.get(field)
    if name is None:
        name = field
        for end in _ENDS:
            name = name.removesuffix(end)
        name = name.replace("_", " ")
    shown = translated(name, translate)
    if shown == name:  # the translations may have this text only as a heading, with a capital
        shown = translated(name[:1].upper() + name[1:], translate)
    return shown[:1].upper() + shown[1:]


def value_text(field: str, value: object, translate: Translate = untranslated) -> str:
    """Return a value as lists show it: `6.49` for 649 minor units; an empty text for None."""
    match value:
        case None | "":
            return ""
        case datetime():
            return moment_text(value) if value.tzinfo else f"{value:%Y-%m-%d %H:%M}"
        case date():
            return value.isoformat()
        case bool():
            return translate("yes") if value else translate("no")
        case int() if field.endswith("_minor"):
            return money_text(value)
        case int():
            return f"{value:,}" if _is_amount(field) else str(value)
        case _:
            text = translated(value, translate) if isinstance(value, str) else str(value)
            return f"“{_short(text)}”"


def _message_value(field: str, value: object, translate: Translate = untranslated) -> str:
    """Return a value as messages show it: like `value_text`, but `€6.49` for 649 minor units."""
    if field.endswith("_minor") and isinstance(value, int):
        return amount_text(value)
    return value_text(field, value, translate)


def _is_amount(field: str) -> bool:
    """Return True if a number of this field gets thousands separators; ids don't."""
    return not field.endswith(("_id", "_from", "_to"))


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _inside(field: str, translate: Translate) -> str:
    """Return a label for use inside a sentence: English in lower case, translations unchanged."""
    plain, name = label(field), label(field, translate)
    return plain.lower() if name == plain else name


def names_text(fields: Iterable[str], translate: Translate = untranslated) -> str:
    """Return the names of fields as one text in lower case: `minimum order, active`."""
    return ", ".join(_inside(field, translate) for field in fields)


def changes_text(now: Mapping[str, object], seen: Mapping[str, object]) -> str:
    """Return a text with each value that has changed since the person saw it; empty if none has.

    Example: `minimum order is €10.00, was €0.00`.
    """
    changes = [
        Message(
            "%(field)s is %(now)s, was %(before)s",
            field=Message(names_text([field])),
            now=_plain(field, now[field]),
            before=_plain(field, value),
        )
        for field, value in seen.items()
        if now[field] != value
    ]
    return joined(changes) if changes else ""


def _plain(field: str, value: object) -> str:
    text = _short(value) if isinstance(value, str) else _message_value(field, value)
    return text or Message("empty")


def refusal_message(error: ServiceError) -> str:
    """Return the sentence of `refusal_text` as a `Message`, which a page translates later."""
    rule = as_message(error.rule)
    if error.field in _NOT_ON_FORMS:
        return Message("%(rule)s.", rule=rule)
    value = _message_value(error.field, error.value)
    parts = {"field": Message(label(error.field)), "rule": rule}
    if not value:
        return Message("%(field)s: %(rule)s.", **parts)
    return Message("%(field)s: %(rule)s; got %(value)s.", **parts, value=value)


def refusal_text(error: ServiceError, translate: Translate = untranslated) -> str:
    """Return a refusal as a sentence: `Units: a whole number from 1 to 1,000,000; got “many”.`."""
    if error.field in _NOT_ON_FORMS:
        return f"{sentence(error.rule, translate)}."
    parts = {"field": label(error.field, translate), "rule": translated(error.rule, translate)}
    value = _message_value(error.field, error.value, translate)
    if not value:
        return translate("%(field)s: %(rule)s.") % parts
    return translate("%(field)s: %(rule)s; got %(value)s.") % {**parts, "value": value}
