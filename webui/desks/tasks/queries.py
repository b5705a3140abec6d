"""Queries of the tasks desk: open tasks and their numbers by role, kind and location."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ledger.kernel.rows import Parameters, select, select_value

# Largest number of tasks of one kind that `open_tasks` returns to other pages.
SHOWN_OF_ONE_KIND: Final = 200
COUNTED_TO: Final = 1_000
# The numbers of a task's condition as JSON; each kind of task has other numbers.
Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """One open task.

    `detail` has the numbers of the task's condition by name. If the condition concerns a supplier,
    the entry `supplier` has the supplier's name. `age_us` is the time since the task opened, in µs.
    """

    id: int
    kind: str
    subject: str
    inv_key: str | None
    location: str | None
    sku: str | None
    name: str | None
    role: str
    detail: Numbers
    opened_at: datetime
    age_us: int

    @property
    def anchor(self) -> str:
        """The URL fragment of the task's card."""
        return f"task-{self.id}"


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """The filters of a list of tasks; empty values filter nothing."""

    roles: tuple[str, ...] = ()
    kind: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """Number of open tasks of a role and kind, capped at 1,000."""

    role: str
    kind: str
    tasks: int


_OPEN: Final = "t.cleared_at IS NULL AND t.opened_at IS NOT NULL"
COLUMNS_SQL: Final = """
SELECT t.id, t.kind, t.subject, t.inv_key, t.location, t.sku, p.name, t.role,
       CASE WHEN su.name IS NULL THEN t.detail
            ELSE t.detail || jsonb_build_object('supplier', su.name) END AS detail,
       t.opened_at,
       (extract(epoch FROM clock_timestamp() - t.opened_at) * 1000000)::bigint AS age_us
"""
# The task of a rejected record has no SKU, because the key of the record can be any text. If the
# text is the key of an item, the join finds the name of this item.
FROM_SQL: Final = """FROM app.task t LEFT JOIN retail.product p
        ON p.code = coalesce(t.sku, CASE t.kind WHEN 'rejected_record'
            THEN split_part(t.subject, '|', 2) END)
    LEFT JOIN retail.supplier su ON su.code = t.detail ->> 'supplier'"""


def open_tasks(kind: str) -> list[Task]:
    """Return the oldest 200 open tasks of one kind, oldest first."""
    where, parameters = conditions(TaskFilter(kind=kind))
    sql = f"""{COLUMNS_SQL} {FROM_SQL} WHERE {where}
        ORDER BY t.opened_at, t.id LIMIT {SHOWN_OF_ONE_KIND}"""
    return select(sql, parameters, Task)


def numbers(task_filter: TaskFilter) -> list[Number]:
    """Return the number of open tasks for each role and kind, sorted by role and kind.

    Only the location of `task_filter` has an effect. Its roles and kind are ignored.
    """
    where, parameters = conditions(TaskFilter(location=task_filter.location))
    sql = f"""
        SELECT each.role, each.kind, few.tasks
        FROM (SELECT DISTINCT t.role, t.kind FROM app.task t WHERE {where}) each
        CROSS JOIN LATERAL (SELECT count(*) AS tasks FROM (
            SELECT FROM app.task t WHERE t.role = each.role AND t.kind = each.kind AND {where}
            LIMIT {COUNTED_TO}) counted) few
        ORDER BY each.role, each.kind
        """  # noqa: S608 -- conditions are constants, values are parameters
    return select(sql, parameters, Number)


def conditions(task_filter: TaskFilter) -> tuple[str, Parameters]:
    """Return the condition of the open tasks that pass the filter, and its parameters."""
    where = [_OPEN]
    if task_filter.roles:
        where.append("t.role = ANY(%(roles)s)")
    if task_filter.kind:
        where.append("t.kind = %(kind)s")
    if task_filter.location:
        where.append("t.location = %(location)s")
    parameters = {
        "roles": list(task_filter.roles),
        "kind": task_filter.kind,
        "location": task_filter.location,
    }
    return " AND ".join(where), parameters


def version() -> str:
    """Return a text that changes when a task opens or ends, but not when its numbers change."""
    return str(
        select_value(
            "SELECT count(*) || '-' || coalesce(sum(id), 0) FROM app.task"
            " WHERE cleared_at IS NULL AND opened_at IS NOT NULL"
        )
    )
