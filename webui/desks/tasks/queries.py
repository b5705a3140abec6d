"""Queries of the tasks desk: open tasks and their numbers by role, kind and location."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ledger.kernel.rows import Parameters, select, select_value

# Tasks shown of each kind in a mixed list, and in a list of one kind.
SHOWN_OF_A_KIND: Final = 20
SHOWN_OF_ONE_KIND: Final = 200
COUNTED_TO: Final = 1_000
# The numbers of a task's condition as JSON; each kind has its own.
Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """One open task with the numbers of its condition."""

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


def open_tasks(task_filter: TaskFilter) -> list[Task]:
    """Return the oldest open tasks of each role and kind, so that no kind hides another."""
    where, parameters = _conditions(task_filter)
    sql = f"""
        SELECT t.id, t.kind, t.subject, t.inv_key, t.location, t.sku, p.name, t.role, t.detail,
               t.opened_at,
               (extract(epoch FROM clock_timestamp() - t.opened_at) * 1000000)::bigint AS age_us
        FROM (SELECT DISTINCT t.role, t.kind FROM app.task t WHERE {where}) each
        CROSS JOIN LATERAL (
            SELECT * FROM app.task t WHERE t.role = each.role AND t.kind = each.kind AND {where}
            ORDER BY t.opened_at, t.id LIMIT %(most)s) t
        LEFT JOIN retail.product p ON p.code = t.sku
        ORDER BY t.role, t.kind, t.opened_at, t.id
        """  # noqa: S608 -- conditions are constants, values are parameters
    most = SHOWN_OF_ONE_KIND if task_filter.kind else SHOWN_OF_A_KIND
    return select(sql, {**parameters, "most": most}, Task)


def numbers(task_filter: TaskFilter) -> list[Number]:
    """Return the numbers of open tasks by role and kind, filtered by location only."""
    where, parameters = _conditions(TaskFilter(location=task_filter.location))
    sql = f"""
        SELECT each.role, each.kind, few.tasks
        FROM (SELECT DISTINCT t.role, t.kind FROM app.task t WHERE {where}) each
        CROSS JOIN LATERAL (SELECT count(*) AS tasks FROM (
            SELECT FROM app.task t WHERE t.role = each.role AND t.kind = each.kind AND {where}
            LIMIT {COUNTED_TO}) counted) few
        ORDER BY each.role, each.kind
        """  # noqa: S608 -- conditions are constants, values are parameters
    return select(sql, parameters, Number)


def _conditions(task_filter: TaskFilter) -> tuple[str, Parameters]:
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
    """Return a version that changes when a task opens or ends, not with its numbers."""
    return str(
        select_value(
            "SELECT count(*) || '-' || coalesce(sum(id), 0) FROM app.task"
            " WHERE cleared_at IS NULL AND opened_at IS NOT NULL"
        )
    )
