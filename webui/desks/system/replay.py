"""Replay of rejected records, each record once, and the preview that people see before it.

In one Postgres transaction, this module marks a record as replayed and then sends it to Kafka. So a
record that can't be marked is not sent. If the commit fails after the broker has acknowledged the
record, a second attempt sends a second copy. Workers apply the record once if both copies arrive
within two minutes (docs/domain.md 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer
from django.conf import settings
from django.utils.translation import gettext

from cdc.contracts.envelope import Malformed, parse_envelope
from cdc.contracts.replays import REPLAYABLE, with_commit_time
from cdc.contracts.times import us_of
from cdc.contracts.topics import LARGEST_RECORD_BYTES, STOCK_EVENTS
from ledger.kernel.errors import refuse
from ledger.kernel.rows import select_one
from ledger.kernel.transactions import (
    database_now,
    fetch_column,
    fetch_value,
    ledger_transaction,
)
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message, gettext_noop
from ledger.tasks.service import RejectedRecord, mark_replayed

SEND_S: Final = 10.0
# Writing the row again doesn't repair the stock. For this update, workers would undo the
# contribution of the row's former version. But they have never counted this contribution, because
# they rejected the record with that version.
_REPAIR_PROGRAM: Final = gettext_noop(
    "repair the program that wrote the record; if `inventory verify` names the item, begin a new"
    " generation of the log"
)
WHAT_TO_DO: Final = {
    "count_beyond_horizon": gettext_noop("count the item again"),
    "snapshot_after_start": gettext_noop(
        "if `inventory verify` names the item, begin a new generation of the log"
    ),
    "price_row_immutable": gettext_noop("write a new price"),
    "key_mismatch": _REPAIR_PROGRAM,
    "malformed": _REPAIR_PROGRAM,
    "no_before_image": gettext_noop(
        "set the table's replica identity to FULL; if `inventory verify` names the item, begin a"
        " new generation of the log"
    ),
    "no_after_image": _REPAIR_PROGRAM,
}


def instead_of(reason: str, content: bytes | memoryview | None) -> str:
    """Return the next step if a replay can't repair a rejected record, else an empty text.

    `reason` is the reason of the rejection, and `content` the stored value of the record. If the
    record is long, only its beginning is stored, so a replay can't send the record.
    """
    if reason not in REPLAYABLE:
        return WHAT_TO_DO.get(reason, gettext_noop("nothing would change"))
    try:
        parse_envelope(None if content is None else bytes(content))
    except Malformed:
        return _REPAIR_PROGRAM
    return ""


@dataclass(frozen=True, slots=True)
class ReplayPreview:
    """A rejected record, with the present state of its row in Postgres and of its key.

    `ledger_units` is on-hand by the facts in Postgres, and `level_units` on-hand as workers have
    computed it. Both are None for a key without a row in the read model. `instead` is the next step
    for a record that no replay can repair, else an empty text.
    """

    id: str
    reason: str
    inv_key: str
    table: str
    op: str
    row: str
    ledger_units: int | None
    level_units: int | None
    settled: str | None
    instead: str

    @property
    def can_replay(self) -> bool:
        """True if a replay can have an effect."""
        return not self.instead and self.settled is None

    @property
    def is_counted_already(self) -> bool:
        """True if ledger and workers have the same stock, so the record probably took effect."""
        return self.ledger_units is not None and self.ledger_units == self.level_units


@dataclass(frozen=True, slots=True)
class _RejectedRecord:
    id: str
    reason: str
    inv_key: str | None
    value: bytes | memoryview | None
    settled: str | None


@dataclass(frozen=True, slots=True)
class _Level:
    """On-hand of a key as workers have computed it."""

    on_hand_units: int | None


@dataclass(frozen=True, slots=True)
class _Kept:
    reason: str
    value: bytes | memoryview | None


_REJECTED_RECORD: Final = """
SELECT r.id, r.reason, app.key_text(r.key) AS inv_key, r.value, m.action AS settled
FROM read_model.rejected r LEFT JOIN app.rejected_mark m ON m.record_id = r.id
WHERE r.id = %(id)s
"""
_LEDGER_UNITS: Final = """
SELECT expected_units FROM app.expected_at(%s, date_trunc('second', clock_timestamp()),
                                           9223372036854775807)
"""


def preview(record_id: str) -> ReplayPreview:
    """Return the data that a person sees before they replay a record.

    Raise `ServiceError` if there is no such record.
    """
    record = select_one(_REJECTED_RECORD, {"id": record_id}, _RejectedRecord)
    if record is None:
        refuse("record", record_id, gettext_noop("the id of a rejected record"))
    key = record.inv_key or ""
    try:
        envelope = parse_envelope(None if record.value is None else bytes(record.value))
        table, op = envelope.table, envelope.op
        row = _row(table, envelope.after or envelope.before)
    except Malformed as problem:
        table, op, row = "?", "?", problem.detail
    level = read_one(_Level, "SELECT on_hand_units FROM read_model.stock WHERE inv_key = %s", key)
    return ReplayPreview(
        id=record.id,
        reason=record.reason,
        inv_key=key,
        table=table,
        op=op,
        row=row,
        ledger_units=fetch_value(_LEDGER_UNITS, key) if level else None,
        level_units=level.on_hand_units if level else None,
        settled=record.settled,
        instead=instead_of(record.reason, record.value),
    )


def _row(table: str, image: Any) -> str:  # noqa: ANN401 -- an image as it came
    """Return a text for people: the record's row and its key, or that there is no such row."""
    known = fetch_value(
        "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'retail' AND c.relkind = 'r' AND c.relname = %s",
        table,
    )
    row_id = image.get("id") if isinstance(image, dict) else None
    if not known or not isinstance(row_id, int):
        return gettext("not a row of a captured table")
    keys = fetch_column(
        f"SELECT inv_key FROM retail.{table} WHERE id = %s",  # noqa: S608 -- a table of the catalogue
        row_id,
    )
    if not keys:
        return gettext("%(table)s %(row_id)s no longer exists") % {
            "table": table,
            "row_id": row_id,
        }
    return gettext("%(table)s %(row_id)s exists, with the key %(keys)s") % {
        "table": table,
        "row_id": row_id,
        "keys": keys[0],
    }


def replay(record_ids: Sequence[str], *, reason: str, actor: str) -> list[str]:
    """Replay these records, each in its own transaction; return their ids.

    Raise `ServiceError` if a replay can't repair one of the records. Then no record is sent.
    """
    for record_id in record_ids:
        _refuse_useless(record_id)
    producer = Producer(
        {
            "bootstrap.servers": settings.CONNECTIONS.kafka_bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "delivery.timeout.ms": int(SEND_S * 1000),
            "message.max.bytes": LARGEST_RECORD_BYTES,
        }
    )
    for record_id in record_ids:
        with ledger_transaction():
            record = mark_replayed(record_id=record_id, reason=reason, actor=actor)
            _send(producer, record)
    return list(record_ids)


def _refuse_useless(record_id: str) -> None:
    statement = "SELECT reason, value FROM read_model.rejected WHERE id = %s"
    found = read_one(_Kept, statement, record_id)
    what = "" if found is None else instead_of(found.reason, found.value)
    if what:
        rule = Message("a replay can't repair this record: %(what)s", what=Message(what))
        refuse("record", record_id, rule)


def _send(producer: Producer, record: RejectedRecord) -> None:
    payload = with_commit_time(bytes(record.value or b""), us_of(database_now()))
    problems: list[KafkaError] = []

    def delivered(problem: KafkaError | None, _message: Message) -> None:
        if problem is not None:
            problems.append(problem)

    producer.produce(
        STOCK_EVENTS,
        key=None if record.key is None else bytes(record.key),
        value=payload,
        partition=record.partition,
        on_delivery=delivered,
    )
    waiting = producer.flush(SEND_S)
    if problems or waiting:
        raise KafkaException(problems[0] if problems else KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 -- librdkafka's local codes are only published under this name
