"""The list of open tasks: one page in the order of a column.

The default order shows the oldest five tasks of each kind, then the next five, and so on. So a kind
with thousands of tasks hides no other kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ledger.kernel.rows import select
from ledger.messages import gettext_noop
from webui.desks.tasks.kinds import KINDS
from webui.desks.tasks.queries import COLUMNS_SQL, FROM_SQL, Task, TaskFilter, conditions
from webui.readmodel.alphabet import alphabetic
from webui.shell.keyset import Keys, Page, Place, Sortable, cut, parameters
from webui.shell.listing import Column, Sort

_OF_A_KIND: Final = 5
_KIND: Final = "array_position(%(kind_order)s::text[], t.kind)"
_ROLE: Final = "array_position(%(role_order)s::text[], t.role)"
_MIXED: Final = f"""(
    (t.number - 1) / {_OF_A_KIND} * 1000000 + {_ROLE} * 1000 + {_KIND})"""
KEYS: Final = Keys(
    {
        "mixed": Sortable(_MIXED, "bigint"),
        "item": Sortable(alphabetic("coalesce(t.name, t.sku, t.subject)")),
        "kind": Sortable(_KIND, "bigint"),
        "store": Sortable(alphabetic("coalesce(t.store, t.location, '')")),
        "opened": Sortable("t.opened_at", "timestamptz"),
    },
    key="t.id",
    default=Sort("mixed"),
)
COLUMNS: Final = (
    Column("item", gettext_noop("Item")),
    Column("kind", gettext_noop("Task")),
    Column("", gettext_noop("Known so far")),
    Column("store", gettext_noop("Store")),
    Column("opened", gettext_noop("Open for"), "n"),
    Column("", gettext_noop("Next step"), "do", is_hidden=True),
)


@dataclass(frozen=True, slots=True)
class ListedTask(Task):
    """A task on a page; `mark` is its value in the sorted column."""

    mark: str

    @property
    def key(self) -> int:
        """The id of the task."""
        return self.id


def task_page(task_filter: TaskFilter, place: Place, *, roles: Sequence[str]) -> Page[ListedTask]:
    """Return one page of the open tasks. `roles` has all roles in their sort order."""
    where, given = conditions(task_filter)
    numbered = f"""(
        SELECT t.*, p.name, lo.name AS store, row_number() OVER (
            PARTITION BY t.role, t.kind ORDER BY t.opened_at, t.id) AS number
        {FROM_SQL} LEFT JOIN retail.location lo ON lo.code = t.location WHERE {where}) t"""
    sql = f"""WITH shown AS ({KEYS.shown_sql(f"FROM {numbered} WHERE true", place)})
        {COLUMNS_SQL}, shown.mark {FROM_SQL} JOIN shown ON shown.key = t.id ORDER BY shown.place"""
    order = {"kind_order": list(KINDS), "role_order": list(roles)}
    return cut(select(sql, {**given, **order, **parameters(place)}, ListedTask), place)
