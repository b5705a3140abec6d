"""Open, update and clear the tasks of the desk Tasks (`app.task`).

Tasks are level-triggered: a task is open while the condition of its kind is true for its subject.
`refresh` evaluates the conditions, opens missing tasks, updates the figures that open tasks show,
and clears tasks whose condition is no longer true. It may run at any time and in several processes.
A lock lets one process at a time evaluate a kind, and a unique index allows one open task per kind
and subject.

The conditions of some kinds read every item. `Sweep` evaluates them for one location after the
other: each evaluation is short, but tasks open up to one pass later. `refresh_slow` evaluates them
for the items that have a task, so tasks end without this delay.

People end a task by changing the data that its condition reads, for example with a count. Only a
task about the variance of a count can be ended directly (`ledger.tasks.service`).
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from inventory.reports.conditions import raised_lambda_micro
from ledger.automation.conditions import CONSTANTS, ITEMS, KINDS, TaskQuery
from ledger.items.policies import set_policy
from ledger.kernel.rows import select_one, select_value
from ledger.kernel.transactions import (
    database_now,
    execute,
    fetch_value,
    ledger_transaction,
)
from ledger.tasks.kinds import PHANTOM_SUSPECT, STALE_SOURCE

# If a condition becomes true for very many items at once, their tasks open over several rounds.
MOST_OPENED: Final = 5_000
MOST_SALE_LINES: Final = 100_000
MOST_FALSE_ALARMS: Final = 200
MOST_FORGOTTEN: Final = 5_000
# Seconds after which a step of the sweep begins no further location.
SWEEP_S: Final = 0.02

_REFRESH: Final = """
WITH found AS MATERIALIZED ({rows}),
held AS MATERIALIZED (
    SELECT id, subject FROM app.task t
    WHERE kind = %(kind)s AND cleared_at IS NULL AND {tasks}
),
added AS (
    INSERT INTO app.task
        (kind, subject, inv_key, location, sku, role, detail, noticed_at, opened_at)
    SELECT %(kind)s, f.subject, f.inv_key, f.location, f.sku, %(role)s, f.detail, %(now)s,
           CASE WHEN %(delay_s)s = 0 THEN %(now)s::timestamptz END
    FROM found f WHERE NOT EXISTS (SELECT FROM held h WHERE h.subject = f.subject)
    ORDER BY f.subject LIMIT %(most)s
    ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING
    RETURNING opened_at IS NOT NULL AS is_news
),
kept AS (
    UPDATE app.task t SET detail = f.detail, opened_at = coalesce(t.opened_at, CASE
        WHEN t.noticed_at <= %(now)s - make_interval(secs => %(delay_s)s) THEN %(now)s END)
    FROM found f WHERE t.kind = %(kind)s AND t.cleared_at IS NULL AND t.subject = f.subject
      AND (t.detail IS DISTINCT FROM f.detail OR (t.opened_at IS NULL
           AND t.noticed_at <= %(now)s - make_interval(secs => %(delay_s)s)))
    RETURNING t.opened_at = %(now)s AS is_news
),
ended AS (
    UPDATE app.task t SET cleared_at = %(now)s, cleared_why = 'the condition has ended'
    WHERE t.kind = %(kind)s AND t.cleared_at IS NULL AND t.opened_at IS NOT NULL AND {tasks}
      AND NOT EXISTS (SELECT FROM found f WHERE f.subject = t.subject)
    RETURNING true AS is_news
),
passed AS (
    DELETE FROM app.task t
    WHERE t.kind = %(kind)s AND t.cleared_at IS NULL AND t.opened_at IS NULL AND {tasks}
      AND NOT EXISTS (SELECT FROM found f WHERE f.subject = t.subject)
)
SELECT (SELECT count(*) FROM added WHERE is_news) + (SELECT count(*) FROM kept WHERE is_news)
     + (SELECT count(*) FROM ended)
"""

_ONE_AT_A_TIME: Final = "SELECT pg_advisory_xact_lock(hashtextextended('inbox ' || %s, 0))"

# A sale line gets its id before it commits, so a line with a smaller id may commit later. Lines are
# counted 30 s after their write, when all lines with smaller ids have committed.
_COUNT_HOURS: Final = """
WITH mark AS (
    SELECT coalesce((SELECT value FROM app.inbox_mark WHERE name = 'sale_line'), 0) AS id
), batch AS MATERIALIZED (
    SELECT l.id, l.location, retail.business_at(l.occurred_at, l.recorded_at) AS at
    FROM retail.sale_line l, mark
    WHERE l.id > mark.id AND l.recorded_at < %(now)s - interval '30 s'
    ORDER BY l.id LIMIT %(most)s
), counted AS (
    INSERT INTO app.location_hour AS kept (location, hour, lines)
    SELECT location, date_trunc('hour', at, 'UTC'), count(*) FROM batch
    WHERE at > %(now)s - interval '9 days' GROUP BY 1, 2
    ON CONFLICT (location, hour) DO UPDATE SET lines = kept.lines + excluded.lines
), forgotten AS (
    DELETE FROM app.location_hour WHERE hour < %(now)s - interval '9 days'
)
INSERT INTO app.inbox_mark (name, value) SELECT 'sale_line', max(id) FROM batch HAVING count(*) > 0
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""

# Selects the first open task `phantom_suspect`, by key, that a later count of the item has refuted:
# the count found units. One transaction clears several such tasks, one after the other by key.
# Approvals lock items in the same order, so the transactions can't deadlock.
_FALSE_ALARMS: Final = """
SELECT t.id, s.location, s.sku, i.phantom_lambda_micro, found.units
FROM app.task t
JOIN read_model.stock s ON s.inv_key = t.inv_key
JOIN retail.item_location i ON i.inv_key = t.inv_key
CROSS JOIN LATERAL json_to_record(s.state::json) AS level (stock jsonb)
CROSS JOIN LATERAL (SELECT app.last_count(level.stock) AS count) last
CROSS JOIN LATERAL (SELECT (last.count ->> 'units')::bigint AS units) found
WHERE t.kind = 'phantom_suspect' AND t.cleared_at IS NULL AND t.opened_at IS NOT NULL AND {tasks}
  AND found.units > 0 AND s.on_hand_units > 0 AND last.count ->> 'id' <> t.detail ->> 'last_count'
ORDER BY t.inv_key LIMIT 1
"""

_FORGET: Final = """
DELETE FROM app.task WHERE id IN (
    SELECT id FROM app.task WHERE cleared_at < %(now)s - interval '180 days' LIMIT %(most)s)
"""


_NEXT_LOCATION: Final = "SELECT min(location) FROM read_model.stock WHERE location > %s"
_ANY_LOCATION: Final = """
SELECT coalesce((SELECT code FROM retail.location ORDER BY random() LIMIT 1), '')
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """A selection of items, to which a refresh restricts the queries that would read every item.

    `items` is the SQL condition of the rows `s` of `read_model.stock`, `tasks` that of the tasks
    `t` of the same items. `parameters` has the values of both.
    """

    items: str
    tasks: str
    parameters: Mapping[str, str]


ALL_ITEMS: Final = Scope("true", "true", {})
WITH_TASK: Final = Scope(
    "s.inv_key IN (SELECT subject FROM app.task WHERE kind = %(kind)s AND cleared_at IS NULL)",
    "true",
    {},
)


def of_location(location: str) -> Scope:
    """Return the scope with the items of `location`."""
    return Scope("s.location = %(location)s", "t.location = %(location)s", {"location": location})


@dataclass(frozen=True, slots=True)
class _FalseAlarm:
    """A task `phantom_suspect` (a shelf may be empty) that a count has refuted.

    `units` is the result of the count. `phantom_lambda_micro` is the item's threshold: the expected
    sales, in millionths of a unit, after which an item without a sale gets a task of this kind.
    """

    id: int
    location: str
    sku: str
    phantom_lambda_micro: int
    units: int


def refresh(
    *,
    kinds: Iterable[TaskQuery] = KINDS,
    scope: Scope = ALL_ITEMS,
    at: datetime | None = None,
) -> int:
    """Open, update and clear the tasks of `kinds`; return how many tasks opened or ended.

    `scope` selects items for the kinds that read every item. `at` is the time of the evaluation, by
    default the database's time.
    """
    now = at or database_now()
    return sum(_refresh(kind, scope if kind.reads_every_item else ALL_ITEMS, now) for kind in kinds)


def refresh_quick() -> int:
    """Refresh the kinds of tasks whose query is fast; return how many tasks opened or ended."""
    return refresh(kinds=[kind for kind in KINDS if not (kind.is_slow or kind.reads_every_item)])


def refresh_slow() -> int:
    """Refresh the kinds that `refresh_quick` leaves out; return how many tasks opened or ended.

    For a kind whose query reads every item, evaluate only the items with an open task: `Sweep`
    opens new tasks. Also delete up to `MOST_FORGOTTEN` tasks that were cleared more than 180 days
    ago. The returned number doesn't include these.
    """
    kinds = [kind for kind in KINDS if kind.is_slow or kind.reads_every_item]
    changed = refresh(kinds=kinds, scope=WITH_TASK)
    with ledger_transaction():
        _run(_FORGET, now=database_now(), most=MOST_FORGOTTEN)
    return changed


class Sweep:
    """A repeated pass over all locations, for the kinds of tasks that read every item.

    The first pass begins at a random location. If it began at the first one, frequent restarts
    would leave the last locations without an evaluation.
    """

    def __init__(self) -> None:
        self._location: str | None = None  # the last one that is done, "" before the first

    def advance(self) -> int:
        """Refresh the tasks of the next locations; return how many tasks opened or ended.

        Evaluate locations in alphabetical order, at least one, until `SWEEP_S` seconds have passed.
        If none is left, return, and begin with the first one at the next call. Evaluate a location
        again if more tasks may open there than one transaction opens.
        """
        if self._location is None:
            self._location = fetch_value(_ANY_LOCATION)
        kinds = [kind for kind in KINDS if kind.reads_every_item]
        changed, until = 0, time.monotonic() + SWEEP_S
        while True:
            location = fetch_value(_NEXT_LOCATION, self._location)
            if location is None:
                self._location = ""
                return changed
            found = refresh(kinds=kinds, scope=of_location(location))
            changed += found
            if found < MOST_OPENED:
                self._location = location
            if time.monotonic() >= until:
                return changed


def _refresh(kind: TaskQuery, scope: Scope, now: datetime) -> int:
    changed = 0
    with ledger_transaction():
        fetch_value(_ONE_AT_A_TIME, kind.name)
        if kind.name == PHANTOM_SUSPECT:
            changed += _answer_false_alarms(scope, now)
        if kind.name == STALE_SOURCE:
            _run(_COUNT_HOURS, now=now, most=MOST_SALE_LINES)
        rows = kind.rows.replace(ITEMS, scope.items)
        sql = _REFRESH.format(rows=rows, tasks=scope.tasks)
        parameters = {
            **CONSTANTS,
            **scope.parameters,
            "kind": kind.name,
            "role": kind.role,
            "delay_s": kind.delay_s,
            "now": now,
            "most": MOST_OPENED,
        }
        return changed + int(select_value(sql, parameters))


def _answer_false_alarms(scope: Scope, now: datetime) -> int:
    """Clear tasks `phantom_suspect` of `scope` that a count has refuted; return their number.

    Raise the threshold of each item by half, so that the item's next task of this kind opens later.
    """
    sql = _FALSE_ALARMS.format(tasks=scope.tasks)
    for number in range(MOST_FALSE_ALARMS):
        alarm = select_one(sql, scope.parameters, _FalseAlarm)
        if alarm is None:
            return number
        raised = raised_lambda_micro(alarm.phantom_lambda_micro)
        set_policy(
            location=alarm.location,
            sku=alarm.sku,
            changes={"phantom_lambda_micro": raised},
        )
        execute(
            "UPDATE app.task SET cleared_at = %s, cleared_why = %s WHERE id = %s",
            now,
            f"false alarm: a count found {alarm.units}",
            alarm.id,
        )
    return MOST_FALSE_ALARMS


def _run(sql: str, **parameters: Any) -> None:  # noqa: ANN401 -- any SQL value
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
