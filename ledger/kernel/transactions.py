"""One transaction per call, with translated errors, idempotent commands and an action log.

A command id comes from the browser. A double tap sends it twice. The second call waits for the
first on the primary key of `app.command` and returns the result of the first one.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, asdict, dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Final, Protocol, TypeVar
from uuid import UUID

import psycopg
from django.db import DatabaseError, IntegrityError, connection, transaction

from ledger.kernel.checks import check_business_time, refuse_future
from ledger.kernel.errors import Conflict, ServiceError, refuse


class Dataclass(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound=Dataclass)
Row = dict[str, Any]
# Values to write, by the name of their column.
ColumnValues = dict[str, Any]
# The result of a command as `app.command` stores it: free-form JSON.
ResultDocument = dict[str, Any]

# Messages for unique indexes, so that a person doesn't read the name of a constraint.
UNIQUE_MESSAGES: Final = {
    "sale_line_source_unique": "a sale with this source and source_ref is recorded already",
    "purchase_order_line_reorder_unique": "this reorder is ordered already",
    "shipment_line_reorder_unique": "a transfer answers this reorder already",
    "price_change_proposal_unique": "a price was written for this proposal already",
    "price_change_one_rule_a_day": "this item already has a rule-made price on that day",
    "item_location_key_unique": "the item is ranged here already",
}


@contextmanager
def ledger_transaction() -> Iterator[None]:
    """Commit everything inside or nothing; translate SQL's refusals into service errors."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as refusal:
        raise _translated(refusal) from refusal
    except DatabaseError as refusal:
        if isinstance(refusal.__cause__, psycopg.DataError):
            field = "form"
            raise ServiceError(field, None, "a value its column can hold") from refusal
        raise


def _translated(refusal: IntegrityError) -> Exception:
    cause = refusal.__cause__
    if not isinstance(cause, psycopg.Error):
        return refusal
    constraint = cause.diag.constraint_name or ""
    if constraint in UNIQUE_MESSAGES:
        return Conflict(UNIQUE_MESSAGES[constraint])
    # Postgres includes the complete row in its text: leave that to the cause of the error.
    field = cause.diag.column_name or constraint
    return ServiceError(field, None, "not allowed by this rule of the database")


def execute(statement: str, *parameters: Any) -> int:  # noqa: ANN401 -- any SQL value
    """Run one statement; return the number of rows affected."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def fetch_one(statement: str, *parameters: Any) -> Row | None:  # noqa: ANN401 -- any SQL value
    """Return the first row by column name, or None."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
        names = [column.name for column in cursor.description or ()]
    return None if row is None else dict(zip(names, row, strict=True))


def fetch_all(statement: str, *parameters: Any) -> list[Row]:  # noqa: ANN401 -- any SQL value
    """Return every row by column name."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def fetch_column(statement: str, *parameters: Any) -> list[Any]:  # noqa: ANN401 -- any SQL value
    """Return the first column of every row."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]


def fetch_value(statement: str, *parameters: Any) -> Any:  # noqa: ANN401 -- any SQL value
    """Return the single value of the statement; raise `LookupError` without a row."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
    if row is None:
        message = f"no row from: {statement.strip()[:60]}"
        raise LookupError(message)
    return row[0]


def insert(table: str, values: Mapping[str, object]) -> int:
    """Insert one row into `retail.table`; None takes the column's default. Return the id."""
    given = {name: value for name, value in values.items() if value is not None}
    columns = ", ".join(given)
    marks = ", ".join(["%s"] * len(given))
    statement = f"INSERT INTO retail.{table} ({columns}) VALUES ({marks}) RETURNING id"  # noqa: S608 -- names are literals of the services, values are parameters
    return int(fetch_value(statement, *given.values()))


def insert_rows(table: str, rows: Sequence[Mapping[str, object]]) -> list[int]:
    """Insert rows of equal columns into `retail.table` in one statement; return their ids."""
    if not rows:
        return []
    columns = ", ".join(rows[0])
    statement = (
        f"INSERT INTO retail.{table} ({columns}) SELECT {columns}"  # noqa: S608 -- names are literals of the services, values are parameters
        f" FROM jsonb_populate_recordset(null::retail.{table}, %s::jsonb) RETURNING id"
    )
    documents = json.dumps([dict(row) for row in rows], default=str)
    return [int(row["id"]) for row in fetch_all(statement, documents)]


def database_now() -> datetime:
    """Return the database's time, the clock that stamps `recorded_at`."""
    now: datetime = fetch_value("SELECT clock_timestamp()")
    return now


def log_action(
    *,
    actor: str | None,
    action: str,
    subject: str,
    detail: Mapping[str, object] | None = None,
    command_id: UUID | None = None,
) -> None:
    """Append an action to the log, in the transaction that does it."""
    execute(
        "INSERT INTO app.action_log (actor, action, subject, detail, command_id)"
        " VALUES (%s, %s, %s, %s::jsonb, %s)",
        actor,
        action,
        subject,
        json.dumps(dict(detail or {}), default=str),
        command_id,
    )


def log_actions(
    *, actor: str | None, entries: Sequence[tuple[str, str, Mapping[str, object]]]
) -> None:
    """Append many actions of one actor, each (action, subject, detail), in one statement."""
    execute(
        "INSERT INTO app.action_log (actor, action, subject, detail)"
        " SELECT %s, action, subject, detail::jsonb"
        " FROM unnest(%s::text[], %s::text[], %s::text[]) AS said (action, subject, detail)",
        actor,
        [action for action, _, _ in entries],
        [subject for _, subject, _ in entries],
        [json.dumps(dict(detail), default=str) for _, _, detail in entries],
    )


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a command that writes one row: the row's id."""

    id: int


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command that returns nothing."""


def typed(row: type[R], values: Mapping[str, Any]) -> R:
    """Return a `row` with the values of its fields.

    Values without a field are left out. A field without a value takes its default; raise
    `TypeError` if it has none.
    """
    names = (field.name for field in fields(row))
    return row(**{name: values[name] for name in names if name in values})


def run_command(
    command_id: UUID | None, kind: str, actor: str | None, work: Callable[[], R], result: type[R]
) -> R:
    """Execute `work` in one transaction, or return the first result of the same `command_id`.

    `result` is a dataclass whose fields hold JSON values, because `app.command` stores them.
    """
    with ledger_transaction():
        document = run_idempotent(command_id, kind, actor, lambda: asdict(work()))
    return typed(result, document)


def run_idempotent(
    command_id: UUID | None,
    kind: str,
    actor: str | None,
    work: Callable[[], ResultDocument],
) -> ResultDocument:
    """Execute `work` at the first use of `command_id`; afterwards return its first result.

    Without a command id, execute `work`. Must run inside `ledger_transaction`.
    """
    if command_id is None:
        return work()
    fresh = execute(
        "INSERT INTO app.command (command_id, kind, actor) VALUES (%s, %s, %s)"
        " ON CONFLICT (command_id) DO NOTHING",
        command_id,
        kind,
        actor,
    )
    if not fresh:
        return _first_result(command_id, kind)
    result = work()
    execute(
        "UPDATE app.command SET result = %s::jsonb WHERE command_id = %s",
        json.dumps(result, default=str),
        command_id,
    )
    return result


def _first_result(command_id: UUID, kind: str) -> ResultDocument:
    first = fetch_one("SELECT kind, result FROM app.command WHERE command_id = %s", command_id)
    if first is None or first["kind"] != kind:
        refuse("command_id", str(command_id), f"belongs to another command than {kind}")
    result = first["result"]
    return dict(json.loads(result) if isinstance(result, str) else result)


def business_time_or_now(field: str, value: datetime | None) -> datetime:
    """Return a checked business time that is not in the future, or the database's time for None."""
    now = database_now()
    refuse_future(field, check_business_time(field, value), now)
    return value or now
