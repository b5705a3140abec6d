"""Record one real message per table and operation: `python -m tests.golden.recorder`.

It runs the statements below on a running stack (INVENTORY_HOME) and stores the connector's messages
byte for byte. The contract tests decode these files without any service. A test on the running
stack compares them with the connector's messages of today.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from confluent_kafka import Consumer, TopicPartition

from cdc.contracts.topics import PARTITIONS, REFERENCE, STOCK_EVENTS
from cdc.settings import Connections

HERE = Path(__file__).parent
LOCATION, SKU = "LYON-3", "85123A"
AT = "2026-03-01T09:30:05.032085Z"
KEYED = {"inv_key": f"{LOCATION}|{SKU}", "location": LOCATION, "sku": SKU}
INSERTS: dict[str, dict[str, object]] = {
    "item_location": {
        "status": "active",
        "replenish_family": "sS",
        "reorder_point_units": 6,
        "order_up_to_units": 30,
    },
    "sale_line": {
        "source": "golden",
        "source_ref": "1",
        "quantity_units": 3,
        "amount_minor": 897,
        "occurred_at": AT,
    },
    "purchase_order_line": {
        "order_ref": "PO-1",
        "supplier": "ACME",
        "status": "sent",
        "ordered_units": 24,
        "ordered_at": AT,
        "due_on": "2026-03-08",
    },
    "shipment_line": {
        "leg": "supplier_in",
        "status": "shipped",
        "planned_units": 24,
        "shipped_units": 24,
        "shipped_at": AT,
    },
    # The count must be younger than 48 hours, because the schema refuses to change an older one.
    "stock_count": {"units": 40, "kind": "cycle", "status": "approved", "occurred_at": "now"},
    "stock_adjustment": {"reason": "damage", "quantity_units": 2, "occurred_at": AT},
    "price_change": {
        "effective_from": AT,
        "price_minor": 299,
        "kind": "initial",
        "floor_minor": 150,
    },
    "reorder_decision": {"reorder_id": f"R:{KEYED['inv_key']}:1-7", "action": "approve"},
    "price_decision": {"proposal_id": f"P:{KEYED['inv_key']}:1-7", "action": "reject"},
    # A number beyond those of the partitions, so that no real heartbeat has this key.
    "pipeline_heartbeat": {
        "inv_key": "~heartbeat|999",
        "location": "~heartbeat",
        "sku": "999",
        "beat": 1,
        "occurred_at": AT,
    },
}
REFERENCE_ROWS = {
    "product": {"code": SKU, "name": "WHITE HANGING HEART"},
    "location": {"code": LOCATION, "name": "Lyon"},
    "supplier": {"code": "ACME", "name": "Acme"},
}


@dataclass(frozen=True)
class Golden:
    """One message: topic, partition, key and value."""

    topic: str
    partition: int
    key: str | None
    value: str


def values_of(table: str) -> dict[str, object]:
    return KEYED | INSERTS[table] if table in INSERTS else dict(REFERENCE_ROWS[table])


def statements(table: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the statements that insert, update and delete one row, with their parameters."""
    values = values_of(table)
    columns, slots = ", ".join(values), ", ".join(f"%({name})s" for name in values)
    key = "inv_key" if table in INSERTS else "code"
    where = f"{key} = %({key})s"
    change = "recorded_by = 'golden'" if table in INSERTS else "name = name || '.'"
    yield f"INSERT INTO retail.{table} ({columns}) VALUES ({slots})", values  # noqa: S608 -- own names
    yield f"UPDATE retail.{table} SET {change} WHERE {where}", values  # noqa: S608 -- own names
    yield f"DELETE FROM retail.{table} WHERE {where}", values  # noqa: S608 -- own names


def write(url: str) -> set[str]:
    """Run the statements. Return `table.op` of each that the schema allows."""
    done: set[str] = set()
    with psycopg.connect(url, autocommit=True) as connection:
        for table in (*REFERENCE_ROWS, *INSERTS):
            for op, (statement, values) in zip("cud", statements(table), strict=True):
                try:
                    if connection.execute(statement, values).rowcount:
                        done.add(f"{table}.{op}")
                except psycopg.errors.CheckViolation:
                    if op == "c":
                        raise
                    continue  # A trigger of the schema forbids it, so there is no such message.
    return done


def ends(consumer: Consumer) -> list[TopicPartition]:
    places = [TopicPartition(STOCK_EVENTS, n) for n in range(PARTITIONS)]
    places += [TopicPartition(topic, 0) for topic in REFERENCE]
    return [
        TopicPartition(p.topic, p.partition, consumer.get_watermark_offsets(p)[1]) for p in places
    ]


def record(settings: Connections, *, timeout: float = 30.0) -> dict[str, Golden]:
    """Write the rows. Return the messages that they caused, by `table.op`."""
    consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": "golden"})
    found: dict[str, Golden] = {}
    try:
        consumer.assign(ends(consumer))
        wanted = write(settings.owner_database_url.get_secret_value())
        deadline = time.monotonic() + timeout
        while found.keys() != wanted and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is None or message.error() or message.value() is None:
                continue
            golden = Golden(
                message.topic(),
                message.partition(),
                None if message.key() is None else message.key().decode(),
                message.value().decode(),
            )
            envelope = json.loads(golden.value)
            name = f"{envelope['source']['table']}.{envelope['op']}"
            image = envelope["after"] or envelope["before"]
            if image.get("inv_key") in (KEYED["inv_key"], "~heartbeat|999", None):
                found.setdefault(name, golden)
    finally:
        consumer.close()
    assert found.keys() == wanted, f"missing {wanted - found.keys()}"
    return found


def kept() -> dict[str, Golden]:
    """Return the messages of the repository's golden files by `table.op`."""
    files = sorted(HERE.glob("*.json"))
    return {file.stem: Golden(**json.loads(file.read_text(encoding="utf-8"))) for file in files}


def main() -> None:
    from deploy.stack.home import Home, default_home  # noqa: PLC0415 -- only when run as a program
    from deploy.stack.runtime import environment_of  # noqa: PLC0415 -- as above

    os.environ.update(environment_of(Home(default_home())))
    for name, golden in record(Connections()).items():
        text = json.dumps(asdict(golden), ensure_ascii=False, indent=1)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
