"""Entries of the audit log. An entry has a person's action, its time, and old and new values.

Operators, analysts and managers see the entries of their stores. Each person also sees their own
entries at any store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext

from ledger.access.scope import EVERYWHERE, require_store, within
from ledger.kernel.checks import location_problem
from ledger.kernel.refusal_text import LABELS, label, value_text
from ledger.kernel.rows import select
from ledger.messages import gettext_noop
from ledger.ordering.supplier_terms import days_of
from webui.readmodel.logged import LoggedAction
from webui.shell.fields import days_text
from webui.translation.messages import translate

ALL, STORES, MINE = "all", "stores", "mine"
PAGE_ROWS: Final = 50
_REFERENCE: Final = ("product", "location", "supplier", "gtin", "supplier_code")
# Actions whose `detail` has the form {column: [value before, value after]}.
_MOVED: Final = frozenset(
    {
        *("policy", "supplier_terms", "set_roles", "set_places", "correct_receipt"),
        *(f"{verb}_{noun}" for verb in ("add", "change") for noun in _REFERENCE),
    }
)
_OF_SUPPLIER_CODES: Final = frozenset({"add_supplier_code", "change_supplier_code"})
_PAIR: Final = 2
_CENTIDAYS: Final = "_centidays"
# {field with the value after an action: field with the value before the action}
_BEFORE: Final = {"limit_minor": "before_minor", "price_minor": "was_minor", "is_on": "was_on"}
# Labels of fields whose names would mislead. `price` is the id of a row of prices, not an amount.
# `is_on` is True if rule-made prices are stopped.
_NAMES: Final = {
    "price": gettext_noop("Number of the price"),
    "is_on": gettext_noop("Rule-made prices stopped"),
}
_IDS: Final = frozenset({"price", "line", "shipment", "count", "sheet"})
_ENTRIES: Final = """
SELECT a.id, a.at, a.actor, a.action, a.subject, a.detail, a.command_id
FROM app.action_log a
WHERE (%(before)s::bigint IS NULL OR a.id < %(before)s)
  AND (%(person)s = '' OR a.actor = %(person)s)
  AND (%(object)s = '' OR starts_with(a.subject, %(object)s))
  AND (%(rules)s OR a.actor IS NOT NULL)
  AND (%(action)s = '' OR a.action = %(action)s)
  AND (%(location)s = '' OR split_part(a.subject, '|', 1) = %(location)s)
  AND (%(since)s::date IS NULL OR a.at >= %(since)s::date::timestamp AT TIME ZONE 'UTC')
  AND (%(until)s::date IS NULL OR a.at < (%(until)s::date + 1)::timestamp AT TIME ZONE 'UTC')
ORDER BY a.id DESC LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The filters of the list; empty values filter nothing. Days are days in UTC.

    With `rules`, the list also has the entries of rules and imports, which name no person.
    """

    person: str = ""
    object: str = ""
    action: str = ""
    location: str = ""
    since: date | None = None
    until: date | None = None
    rules: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One value that an action changed or set; `before` is empty if the log has no former value."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Entry(LoggedAction):
    """One entry of the audit log."""

    id: int
    subject: str
    detail: Mapping[str, Any]
    command_id: UUID | None

    @property
    def item(self) -> tuple[str, str] | None:
        """Location and SKU if the object is an item at a location, else None."""
        location, _, sku = self.subject.partition("|")
        # The subject of an entry about a supplier's code is `SUPPLIER|NUMBER`. It can look like
        # `LOCATION|SKU`, because a supplier may have any code.
        is_code = self.action in _OF_SUPPLIER_CODES
        return None if is_code or not sku or location_problem(location) else (location, sku)

    @property
    def changes(self) -> list[Change]:
        """The values that the action wrote, with the former values if the log has them."""
        before_names = {name for after, name in _BEFORE.items() if after in self.detail}
        return [
            self._change(name, value)
            for name, value in self.detail.items()
            if name not in before_names and value not in (None, "", [])
        ]

    def _change(self, name: str, value: Any) -> Change:  # noqa: ANN401 -- any JSON value
        if self._is_pair(value):
            return Change(
                _label(name), _text(name, value[0]) or gettext("empty"), _text(name, value[1])
            )
        before = self.detail.get(_BEFORE.get(name, ""))
        return Change(_label(name), _text(name, before), _text(name, value))

    def _is_pair(self, value: object) -> bool:
        return self.action in _MOVED and isinstance(value, list) and len(value) == _PAIR


def _label(name: str) -> str:
    if name in _NAMES:
        return gettext(_NAMES[name])
    return label(name if name in LABELS else name.removesuffix(_CENTIDAYS), translate)


def _text(name: str, value: object) -> str:
    match value:
        case int() if name == "order_days_mask":
            return " ".join(map(gettext, days_of(value)))
        case int() if name.endswith(_CENTIDAYS):
            return f"{days_text(value)} d"
        case int() if name in _IDS:
            return str(value)
        case str():
            return value
        case list():
            return ", ".join(_text(name, each) for each in value)
        case dict():
            return ", ".join(f"{key} {_text(key, each)}" for key, each in value.items())
        case _:
            return value_text(name, value, translate) or ("" if value is None else str(value))


def entries(wanted: AuditFilter, whose: str, actor: str, before: int | None) -> list[Entry]:
    """Return up to 51 entries, newest first: one more than a page, to show whether more follow.

    With `before`, return only entries with a lower id. With "mine" as `whose`, return the entries
    of `actor` at any store. Otherwise return the entries of the stores that the person may see.

    Raises:
        OutOfScope: the filter names a location that the person may not see.
    """
    given = {
        **{name: getattr(wanted, name) for name in ("person", "object", "action", "location")},
        "since": wanted.since,
        "until": wanted.until,
        "rules": wanted.rules,
        "before": before,
        "most": PAGE_ROWS + 1,
    }
    if whose != MINE:
        return select(_ENTRIES, given, Entry)
    if wanted.location:
        require_store(wanted.location)
    with within(EVERYWHERE):
        return select(_ENTRIES, {**given, "person": actor}, Entry)


def choices(may: Sequence[str] | frozenset[str]) -> tuple[str, ...]:
    """Return the values of `whose` that a person with the rights `may` can choose.

    The first value selects the most entries.
    """
    if "see_audit" in may:
        return (ALL, MINE)
    return (STORES, MINE) if "see_audit_of_stores" in may else (MINE,)
