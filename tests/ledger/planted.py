"""Stores with at least one row in each table that pages read.

Each store has marks, texts and numbers that no other store's rows contain.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from inventory.model.ids import InvKey
from ledger.kernel.transactions import fetch_value
from tests.ledger.inbox import emptied, level, put, rejected, state
from tests.ledger.rows import price_proposal, reorder_proposal, write

PERSON = "visitor"
SUPPLIER = "ACME"
GTIN = "04006381333931"
NUMBER = "N-1"


@dataclass(frozen=True)
class Store:
    """A planted store: its code, its second item, and the ids of its rows."""

    tag: str
    on_hand_units: int
    order_id: int
    receipt_id: int
    transfer_id: int
    sheet_id: int
    entry_id: UUID
    draft_id: int
    count_id: int
    request_id: int
    task_id: int
    send_id: int

    @property
    def location(self) -> str:
        return f"{self.tag}-1"

    @property
    def partner(self) -> str:
        """Return the other location of this store's transfers."""
        return f"{self.tag}-2"

    @property
    def secret(self) -> str:
        """Return the SKU of an item that no request names."""
        return f"{self.tag}SECRET"

    @property
    def order_ref(self) -> str:
        return f"{self.tag.lower()}-order"

    @property
    def reorder_id(self) -> str:
        return f"R:{self.location}|ASKED:1-2"

    @property
    def proposal_id(self) -> str:
        return f"P:{self.location}|ASKED:1-2"

    @property
    def record_id(self) -> str:
        return f"1-{len(self.tag)}-7"

    @property
    def marks(self) -> tuple[str, ...]:
        """Return texts that only this store's rows contain, without its code."""
        units = (str(self.on_hand_units), f"{self.on_hand_units:,}")
        return (self.secret, f"{self.tag.lower()}-person", f"{self.tag} note", *units)


# Ids that are higher than any that a sequence gives in a test.
COMPARED, ANSWERED, WAITING, REVIEWED = 900_001, 900_002, 900_003, 900_001
COMPARISON = {
    "a": {"run": "local-a", "logic_revision": 2, "code": "one"},
    "b": {"run": "local-b", "logic_revision": 3, "code": "two"},
    "equal": False,
    "digest": "ab" * 32,
    "decisions_differing": 2,
    "explanations_differing": 0,
    "reorders": {
        "a": {"count": 5, "units": 60, "minor": 9_000},
        "b": {"count": 4, "units": 48, "minor": 7_000},
        "equal": 3,
        "differing": 2,
        "only_a": 1,
        "only_b": 0,
        "changed": 1,
        "course": 0,
        "explanation": 0,
        "delta_minor": -2_000,
    },
    "prices": {
        "a": {"count": 0, "units": 0, "minor": 0},
        "b": {"count": 0, "units": 0, "minor": 0},
        "equal": 0,
        "differing": 0,
        "delta_minor": 0,
    },
    "groups": [
        {
            "kind": "reorder",
            "dimension": "store",
            "value": "ROME-1",
            "differing": 2,
            "only_a": 1,
            "only_b": 0,
            "changed": 1,
            "delta_minor": -2_000,
        }
    ],
    "rows_not_shown": {"reorder": 0, "price": 0},
}
ROW = {
    "how": "changed",
    "inv_key": "ROME-1|TEA",
    "store": "ROME-1",
    "sku": "TEA",
    "supplier": "BORG",
    "reason": "reorder_point_units",
    "week": "2026-03-02",
    "partition": 3,
    "first_offset": 71,
    "delta_minor": -500,
    "a_quantity_units": 12,
    "b_quantity_units": 6,
}
_REQUEST = """
INSERT INTO app.history_request (id, kind, arguments, requested_by, confirmed_by, started_at,
    finished_at, exit_code, result)
OVERRIDING SYSTEM VALUE
VALUES (%s, %s, %s::jsonb, 'ada', NULL, now(), now(), 0, %s::json) ON CONFLICT DO NOTHING
"""


def plant_history(connection: psycopg.Connection) -> None:
    """Write a comparison, an answer, a request that waits, and a review."""
    runs = json.dumps({"a": "local-a", "b": "local-b"})
    connection.execute(_REQUEST, (COMPARED, "compare", runs, json.dumps(COMPARISON)))
    answer = [{"store": "ROME-1", "sold_units": 7, "lost_minor": 1_250}, {"store": "=OSLO"}]
    connection.execute(_REQUEST, (ANSWERED, "question", '{"name": "shrink"}', json.dumps(answer)))
    connection.execute(
        "INSERT INTO app.history_request (id, kind, arguments, requested_by)"
        " OVERRIDING SYSTEM VALUE VALUES (%s, 'rollback', '{}', 'ada') ON CONFLICT DO NOTHING",
        (WAITING,),
    )
    only_a = {name: cell for name, cell in ROW.items() if not name.startswith("b_")}
    for rank, (how, row) in enumerate((("changed", ROW), ("only_a", only_a)), 1):
        connection.execute(
            "INSERT INTO app.history_difference (request, kind, rank, inv_key, store, supplier,"
            " reason, week, how, delta_minor, detail) VALUES (%s, 'reorder', %s, 'ROME-1|TEA',"
            " 'ROME-1', 'BORG', 'reorder_point_units', '2026-03-02', %s, -500, %s::jsonb)"
            " ON CONFLICT DO NOTHING",
            (COMPARED, rank, how, json.dumps(row)),
        )
    connection.execute(
        "INSERT INTO app.diff_review (id, digest, former, revision, code, runs, summary,"
        " requested_by) OVERRIDING SYSTEM VALUE VALUES (%s, %s, 2, 3, 'two',"
        " '{local-a,local-b}', %s::jsonb, 'ada') ON CONFLICT DO NOTHING",
        (REVIEWED, "ab" * 32, json.dumps(COMPARISON)),
    )


def plant_codes(connection: psycopg.Connection, sku: str) -> None:
    """Write one code of each kind, unless another store's product has it."""
    connection.execute(
        "INSERT INTO retail.gtin (code, sku) VALUES (%s, %s) ON CONFLICT DO NOTHING", (GTIN, sku)
    )
    connection.execute(
        "INSERT INTO retail.supplier_code (code, supplier, number, sku) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        (f"{SUPPLIER}|{NUMBER}", SUPPLIER, NUMBER, sku),
    )


def plant(connection: psycopg.Connection, tag: str, on_hand_units: int) -> Store:
    """Write the store's rows and return the store; `connection` runs no triggers."""
    plant_history(connection)
    location, actor = f"{tag}-1", f"{tag.lower()}-person"
    now: datetime = fetch_value("SELECT clock_timestamp()")
    common: dict[str, Any] = {"location": location, "recorded_at": now, "recorded_by": actor}
    put(connection, "retail.location", code=location, name=f"{tag.title()} street")
    put(connection, "retail.product", code=f"{tag}PRODUCT", name=f"{tag.title()} product")
    plant_codes(connection, f"{tag}PRODUCT")
    for sku in ("ASKED", f"{tag}SECRET"):
        write(connection, "item_location", sku=sku, supplier=SUPPLIER, regular_minor=999, **common)
        _plant_item(connection, sku, on_hand_units, now, common)
    ids = _plant_documents(connection, tag, now, common)
    return Store(tag, on_hand_units, **ids)


def _plant_item(
    connection: psycopg.Connection, sku: str, units: int, now: datetime, common: dict[str, Any]
) -> None:
    location, actor = common["location"], common["recorded_by"]
    key = f"{location}|{sku}"
    found = state(inv_key=InvKey(key), stock={"on_hand_units": units})
    level(connection, found)
    earlier = now - timedelta(hours=1)
    sale = {"source": actor, "source_ref": sku, "occurred_at": earlier}
    write(connection, "sale_line", sku=sku, **sale, **common)
    write(connection, "stock_adjustment", sku=sku, occurred_at=earlier, **common)
    write(connection, "price_change", sku=sku, effective_from=earlier, **common)
    put(
        connection,
        "read_model.sales_window",
        inv_key=key,
        start_us=int(earlier.timestamp() * 1_000_000) // 600_000_000 * 600_000_000,
        **dict.fromkeys(("sold_units", "sale_lines", "revenue_minor"), units),
        **dict.fromkeys(("returned_units", "return_lines", "late_lines", "window_revision"), 0),
        partition=0,
        offset=1,
    )
    same = {"inv_key": key, "location": location, "sku": sku, "reason": f"{location[:-2]} note"}
    reorder_proposal(connection, reorder_id=f"R:{key}:1-2", **same, decided_by=actor)
    price_proposal(connection, proposal_id=f"P:{key}:1-2", **same, decided_by=actor)
    event = {"kind": "need", "change": "opened", "inv_key": key, "location": location, "sku": sku}
    proposal = json.dumps({"revision": 1, "status": "open", "decided_by": actor})
    put(connection, "app.decision_event", subject=f"R:{key}:1-2", proposal=proposal, **event)


def _plant_documents(
    connection: psycopg.Connection, tag: str, now: datetime, common: dict[str, Any]
) -> dict[str, Any]:
    location, actor, secret = common["location"], common["recorded_by"], f"{tag}SECRET"
    mine = common | {"recorded_by": PERSON, "sku": secret}
    order: dict[str, Any] = {"order_ref": f"{tag.lower()}-order", "cost_minor": 100}
    order_id = write(connection, "purchase_order_line", sku=secret, **order, **common)
    receipt = {"purchase_order_line_id": order_id, "received_at": now}
    receipt_id = write(connection, "shipment_line", **receipt, **mine)
    transfer: dict[str, Any] = {
        "status": "planned",
        "transfer_ref": f"T-{tag}",
        "planned_units": 3,
        **dict.fromkeys(("received_units", "order_units"), 0),
        "received_at": None,
    }
    write(connection, "shipment_line", leg="transfer_out", **transfer, **mine)
    arriving = mine | {"location": f"{tag}-2", "leg": "transfer_in"}
    transfer_id = write(connection, "shipment_line", **transfer, **arriving)
    counted: dict[str, Any] = {"occurred_at": now, "counted_by": actor, "sku": secret}
    draft_id = write(connection, "stock_count", status="draft", **counted, **common)
    count_id = write(connection, "stock_count", status="approved", **counted, **common)
    sheet_id = _put(connection, "app.count_sheet", location=location, opened_by=PERSON)
    entry_id = uuid4()
    put(
        connection,
        "app.count_entry",
        entry_id=entry_id,
        sheet_id=sheet_id,
        sku=secret,
        units=1,
        counted_at=now,
    )
    rejected(connection, id=f"1-{len(tag)}-7", key=f"{location}|{secret}".encode(), detail=actor)
    return {
        "order_id": order_id,
        "receipt_id": receipt_id,
        "transfer_id": transfer_id,
        "draft_id": draft_id,
        "count_id": count_id,
        "sheet_id": sheet_id,
        "entry_id": entry_id,
        "send_id": _plant_send(connection, now, common, secret),
        **_plant_work(connection, tag, now, common),
    }


def _plant_work(
    connection: psycopg.Connection, tag: str, now: datetime, common: dict[str, Any]
) -> dict[str, Any]:
    location, actor, secret = common["location"], common["recorded_by"], f"{tag}SECRET"
    request_id = _put(
        connection,
        "app.adjustment_request",
        location=location,
        sku=secret,
        reason="theft",
        quantity_units=1,
        occurred_at=now,
        note=f"{tag} note",
        requested_by=actor,
    )
    task_id = _put(
        connection,
        "app.task",
        kind="count_variance",
        subject=f"{location}|{secret}",
        inv_key=f"{location}|{secret}",
        location=location,
        sku=secret,
        role="manager",
        detail=f'{{"variance_units": -3, "count": 1, "status": "approved", "counted_by": "{actor}",'
        f' "counted_units": 7, "expected_units": 10, "value_minor": 300}}',
        noticed_at=now,
        opened_at=now,
    )
    put(
        connection,
        "app.scorecard",
        supplier=SUPPLIER,
        location=location,
        on_day=now.astimezone(UTC).date(),
        receipts=1,
        settled_lines=1,
        due_receipts=1,
    )
    put(
        connection,
        "app.action_log",
        actor=actor,
        action="order",
        subject=f"{location}|{secret}",
        detail=f'{{"order": "{tag.lower()}-order"}}',
    )
    return {"request_id": request_id, "task_id": task_id}


def _plant_send(
    connection: psycopg.Connection, now: datetime, common: dict[str, Any], secret: str
) -> int:
    """Write a send that waits for an hour, and return its id."""
    location, actor = common["location"], common["recorded_by"]
    send_id = _put(
        connection,
        "app.pending_send",
        made_by=actor,
        due_at=now + timedelta(hours=1),
        odd_units_allowed=False,
        below_minimum_allowed=False,
    )
    put(
        connection,
        "app.pending_item",
        send_id=send_id,
        place=0,
        kind="need",
        subject=f"R:{location}|{secret}:1-2",
        location=location,
        supplier=SUPPLIER,
        shown="1",
        units=6,
        value_minor=600,
    )
    return send_id


def _put(connection: psycopg.Connection, table: str, **columns: object) -> int:
    """Insert a row and return its id."""
    put(connection, table, **columns)
    found = connection.execute(f"SELECT max(id) FROM {table}").fetchone()  # noqa: S608 -- a name of this file
    assert found is not None
    return int(found[0])


@contextmanager
def two_stores(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """Plant two stores into the empty database, and empty it again afterwards."""
    from tests.ledger.conftest import empty  # noqa: PLC0415 -- it loads the fixtures

    server, database = request.getfixturevalue("server"), request.getfixturevalue("database")
    with psycopg.connect(server.url("postgres", database), autocommit=True) as connection:
        empty(connection)
        emptied(connection)
        connection.execute("DELETE FROM app.login_count")
        connection.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
        try:
            yield plant(connection, "MINE", 48_151), plant(connection, "THEIRS", 62_342)
        finally:
            empty(connection)
            emptied(connection)
