"""Changes of one row in the admin, from the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext

from ledger.items.reference import Describe, DescribeSupplier, added, changed
from ledger.kernel.refusal_text import label, value_text
from ledger.kernel.rows import select
from ledger.ordering.supplier_terms import ACTION, days_of
from webui.readmodel.logged import LoggedAction
from webui.translation.messages import translate

MOST_SHOWN: Final = 100
_CHANGES: Final = """
SELECT at, actor, action, detail FROM app.action_log
WHERE subject = %(code)s AND action = ANY(%(actions)s) ORDER BY id DESC LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class PastChange(LoggedAction):
    """An entry of the audit log; `detail` has [before, after] by column."""

    detail: Mapping[str, Any]

    @property
    def values(self) -> list[str]:
        """One text per changed column: `Name: “Mug”, was “Cup”`."""
        return [_moved_text(name, *pair) for name, pair in self.detail.items()]


def changes_of(kind: type[Describe], code: str) -> list[PastChange]:
    """Return the newest changes of a row, at most 100.

    For a supplier, they include the changes of its terms.
    """
    actions = [added(kind), changed(kind), *([ACTION] if kind is DescribeSupplier else [])]
    return select(_CHANGES, {"code": code, "actions": actions, "most": MOST_SHOWN}, PastChange)


def _moved_text(name: str, before: object, after: object) -> str:
    named = {"field": label(name, translate), "value": _value_text(name, after)}
    if before is None:
        return f"{named['field']}: {named['value']}"
    text = gettext("%(field)s: %(value)s, was %(before)s")
    return text % {**named, "before": _value_text(name, before)}


def _value_text(name: str, value: object) -> str:
    if name == "order_days_mask" and isinstance(value, int):
        return " ".join(map(gettext, days_of(value)))
    return value_text(name, value, translate) or gettext("empty")
