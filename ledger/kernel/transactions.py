"""Transactions and SQL statements of services, and entries in the audit log."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from django.db import DatabaseError, IntegrityError, connection, transaction

from ledger.kernel.checks import check_business_time, refuse_future
from ledger.kernel.errors import Conflict, ServiceError
from ledger.messages import gettext_noop

Row = dict[str, Any]
# Values to write, by column.
ColumnValues = dict[str, Any]

# Messages for unique indexes, so that a person doesn't read the name of a constraint.
UNIQUE_MESSAGES: Final = {
    "sale_line_source_unique": gettext_noop(
        "a sale with this source and source_ref is recorded already"
    ),
    "purchase_order_line_reorder_unique": gettext_noop("this need is ordered already"),
    "shipment_line_reorder_unique": gettext_noop("a transfer for this need exists already"),
    "price_change_proposal_unique": gettext_noop("a price was written for this proposal already"),
    "price_change_one_rule_a_day": gettext_noop(
        "the rules already changed the price of this item on that day"
    ),
    "item_location_key_unique": gettext_noop("the item is ranged here already"),
    "supplier_code_letters": gettext_noop(
        "the supplier has this code already; only upper and lower case differ"
    ),
    "pending_item_once": gettext_noop("one of the picked needs or orders is being sent already"),
}

_UNSTORABLE: Final = gettext_noop(
    "a value can't be stored: check large numbers, long texts and unusual characters"
)


@contextmanager
def ledger_transaction() -> Iterator[None]:
    """Commit the statements of the block together, or roll them all back.

    Raise `Conflict` if a row violates a unique index in `UNIQUE_MESSAGES`. Raise `ServiceError` for
    any other violated constraint, and for a value that its column or an index can't store.
    """
    try:
        with transaction.atomic():
            yield
    except IntegrityError as refusal:
        raise _translated(refusal) from refusal
    except DatabaseError as refusal:
        # A text of several thousand characters is too long for an index.
        too_long = psycopg.errors.ProgramLimitExceeded
        if isinstance(refusal.__cause__, (psycopg.DataError, too_long)):
            field, rule = "form", _UNSTORABLE
            raise ServiceError(field, None, rule) from refusal
        raise


def _translated(refusal: IntegrityError) -> Exception:
    cause = refusal.__cause__
    if not isinstance(cause, psycopg.Error):
        return refusal
    constraint = cause.diag.constraint_name or ""
    if constraint in UNIQUE_MESSAGES:
        return Conflict(UNIQUE_MESSAGES[constraint])
    # Postgres' error text contains the complete row, so it isn't shown: only `__cause__` has it.
    field = cause.diag.column_name or constraint
    rule = gettext_noop("a value breaks this rule of the database: correct it, or ask an operator")
    return ServiceError(field, None, rule)


def execute(statement: str, *parameters: Any) -> int:  # noqa: ANN401 -- any SQL value
    """Execute one statement; return the number of affected rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def fetch_one(statement: str, *parameters: Any) -> Row | None:  # noqa: ANN401 -- any SQL value
    """Return the first row of the result as values by column, or None."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
        names = [column.name for column in cursor.description or ()]
    return None if row is None else dict(zip(names, row, strict=True))


def fetch_all(statement: str, *parameters: Any) -> list[Row]:  # noqa: ANN401 -- any SQL value
    """Return every row of the result as values by column."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def fetch_column(statement: str, *parameters: Any) -> list[Any]:  # noqa: ANN401 -- any SQL value
    """Return the first column of every row of the result."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]


def fetch_value(statement: str, *parameters: Any) -> Any:  # noqa: ANN401 -- any SQL value
    """Return the first column of the first row; raise `LookupError` if there is no row."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
    if row is None:
        message = f"no row from: {statement.strip()[:60]}"
        raise LookupError(message)
    return row[0]


def insert(table: str, values: Mapping[str, object]) -> int:
    """Insert one row into `retail.table`; return its id. A column with None gets its default."""
    given = {name: value for name, value in values.items() if value is not None}
    columns = ", ".join(given)
    marks = ", ".join(["%s"] * len(given))
    statement = f"INSERT INTO retail.{table} ({columns}) VALUES ({marks}) RETURNING id"  # noqa: S608 -- names are literals of the services, values are parameters
    return int(fetch_value(statement, *given.values()))


def insert_rows(table: str, rows: Sequence[Mapping[str, object]]) -> list[int]:
    """Insert rows into `retail.table` in one statement; return their ids, in order.

    All rows must have the same columns.
    """
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
    """Return the time of the database's clock, which also sets `recorded_at`."""
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
    """Append an entry to the audit log. Call this in the transaction of the action itself.

    `subject` names what was changed: a key, location, order or id. `detail` is stored as JSON.
    """
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
    """Append entries (action, subject, detail) of one actor to the audit log, in one statement."""
    execute(
        "INSERT INTO app.action_log (actor, action, subject, detail)"
        " SELECT %s, action, subject, detail::jsonb"
        " FROM unnest(%s::text[], %s::text[], %s::text[]) AS entry (action, subject, detail)",
        actor,
        [action for action, _, _ in entries],
        [subject for _, subject, _ in entries],
        [json.dumps(dict(detail), default=str) for _, _, detail in entries],
    )


def business_time_or_now(field: str, value: datetime | None) -> datetime:
    """Return the business time `value`, or the database's time if `value` is None or in the future.

    The business time of a row is the earlier of its own time and `recorded_at` (docs/domain.md
    2.1). Each write of the row raises `recorded_at`. So if the row's own time were in the
    future, a later write, for example of the due day, would move the row's business time.

    Raise `ServiceError` for a time without zone, before 2000, or more than 300 s in the future.
    """
    now = database_now()
    refuse_future(field, check_business_time(field, value), now)
    return now if value is None else min(value, now)
