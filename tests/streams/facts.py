"""Builders of change events as Debezium writes them, for tests of workers."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_0_US = 1_780_000_000_000_000 // 86_400_000_000 * 86_400_000_000
SECOND_US = 1_000_000
KEY = "S1|A"


def iso(at_us: int) -> str:
    """Return the timestamp as Debezium prints it."""
    moment = EPOCH + timedelta(microseconds=at_us)
    return moment.replace(tzinfo=None).isoformat() + "Z"


def row(*, id_: int, key: str = KEY, at_us: int, **columns: Any) -> dict[str, Any]:
    """Return a row image with the columns that every table has."""
    location, _, sku = key.partition("|")
    return {
        "id": id_,
        "inv_key": key,
        "location": location,
        "sku": sku,
        "recorded_at": iso(at_us),
        "recorded_by": None,
        **columns,
    }


def change(
    table: str,
    *,
    op: str = "c",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    lsn: int,
    commit_us: int,
) -> bytes:
    """Return the envelope of one change."""
    source = {"schema": "retail", "table": table, "lsn": lsn, "ts_us": commit_us, "txId": lsn}
    envelope = {"before": before, "after": after, "source": source, "op": op}
    return json.dumps(envelope).encode()


def sale(
    *, id_: int, at_us: int, units: int = 1, amount: int = 100, key: str = KEY
) -> dict[str, Any]:
    """Return the image of a sale line."""
    return row(
        id_=id_,
        key=key,
        at_us=at_us,
        quantity_units=units,
        amount_minor=amount,
        condition="resaleable",
        source="till",
        source_ref=str(id_),
        occurred_at=iso(at_us),
    )


def count(*, id_: int, at_us: int, units: int, key: str = KEY) -> dict[str, Any]:
    """Return the image of an approved count."""
    return row(
        id_=id_,
        key=key,
        at_us=at_us,
        units=units,
        kind="cycle",
        status="approved",
        occurred_at=iso(at_us),
    )


def ranged(
    *, id_: int, at_us: int, key: str = KEY, reorder_point: int = 5, up_to: int = 20
) -> dict[str, Any]:
    """Return the image of an item_location with a fixed sS policy."""
    return row(
        id_=id_,
        key=key,
        at_us=at_us,
        status="active",
        clock_mode="live",
        replenish_family="sS",
        levels="fixed",
        reorder_point_units=reorder_point,
        order_up_to_units=up_to,
        cost_minor=100,
        supplier="ACME",
    )


def heartbeat(*, number: int, beat: int, at_us: int) -> dict[str, Any]:
    """Return the image of a heartbeat row."""
    return row(
        id_=number + 1,
        key=f"~heartbeat|{number}",
        at_us=at_us,
        beat=beat,
        occurred_at=iso(at_us),
    )
