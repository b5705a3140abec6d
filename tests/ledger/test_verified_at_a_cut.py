"""Facts at the cut of a comparison, while some of them are still in flight."""

import json
from typing import Any

import psycopg
import pytest

from analytics.verification import sums, window_sums
from analytics.verification.cut import Cut
from analytics.verification.differences import instead_parameters
from analytics.verification.in_flight import Image, Moved, Row
from analytics.verification.rejections import read_rejections
from analytics.verification.reorders import UNPROPOSED, Needs, check_reorders
from analytics.verification.snapshot import current_snapshot
from cdc.contracts.decode import TIMESTAMP_COLUMNS
from cdc.contracts.rejects import Origin, Rejection
from cdc.contracts.times import moment_of, us_of
from inventory.model.arithmetic import DAY_US
from inventory.model.episode import Episode
from inventory.model.ids import InvKey, Position, ReorderId
from inventory.model.state import KeyState, WindowRow
from streams.sinks.proposals import propose
from tests.ledger.folded import images
from tests.ledger.inbox import emptied, put, rejected
from tests.ledger.rows import NOON, write
from tests.ledger.test_revision_switch import need

NOON_US = us_of(NOON)
NO_LATE: dict[str, list[Any]] = {
    f"late_{name}": []
    for name in ("keys", "starts", "sold", "returned", "sale_lines", "return_lines", "revenue")
}


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> psycopg.Connection:
    return emptied(ledger)


def at_cut(
    connection: psycopg.Connection, moved: dict[Row, Moved], cut: Cut | None = None
) -> dict[str, Any]:
    rejections = read_rejections(connection, None, cut, moved)
    return {"location": None, "only": None, **rejections.parameters(moved), **NO_LATE}


def on_hand(connection: psycopg.Connection, asked: dict[str, Any]) -> int:
    row = connection.execute(sums.LEVELS, asked).fetchone()
    assert row is not None
    return int(row[1])


def sale_of(connection: psycopg.Connection) -> dict[str, Any]:
    return next(image for table, image in images(connection, "L|S") if table == "sale_line")


def test_a_row_that_changed_since_the_cut_counts_with_its_value_at_the_cut(
    inbox: psycopg.Connection,
) -> None:
    write(inbox, "stock_count", units=20, occurred_at=NOON.replace(hour=1), recorded_at=NOON)
    sale = write(inbox, "sale_line", quantity_units=3, recorded_at=NOON)
    gone = write(inbox, "sale_line", quantity_units=4, source_ref="2", recorded_at=NOON)
    then = sale_of(inbox) | {"quantity_units": 1}
    deleted = sale_of(inbox) | {"id": gone + 1, "quantity_units": 5, "source_ref": "3"}

    moved = {
        ("sale_line", sale): Moved(then, sale_of(inbox)),
        ("sale_line", gone): Moved(None, sale_of(inbox)),
        ("sale_line", gone + 1): Moved(deleted, None),
    }

    assert on_hand(inbox, at_cut(inbox, {})) == 13
    assert on_hand(inbox, at_cut(inbox, moved)) == 20 - 1 - 5


def test_sales_windows_at_the_cut_replace_those_of_the_read_model(
    inbox: psycopg.Connection,
) -> None:
    write(inbox, "sale_line", quantity_units=3, amount_minor=999, recorded_at=NOON)
    put(
        inbox,
        "read_model.sales_window",
        inv_key="L|S",
        start_us=NOON_US,
        sold_units=9,
        returned_units=0,
        sale_lines=2,
        return_lines=0,
        revenue_minor=5000,
        late_lines=0,
        window_revision=2,
        partition=0,
        offset=3,
    )
    row = WindowRow(NOON_US, sold_units=3, sale_lines=1, revenue_minor=999)
    asked = at_cut(inbox, {})

    shown = inbox.execute(window_sums.WINDOW_DIFFERENCES, asked | instead_parameters({})).fetchall()
    then = asked | instead_parameters({("L|S", NOON_US): row})

    assert [found[3][0] for found in shown] == [9]
    assert inbox.execute(window_sums.WINDOW_DIFFERENCES, then).fetchall() == []
    assert inbox.execute(window_sums.WINDOW_TOTALS, then).fetchone() == (1, 0, 1, 3, 999)


def captured(table: str, op: str, before: Image | None, after: Image | None) -> bytes:
    """Return a row's change as Debezium writes it. The given images have times in microseconds."""
    columns = TIMESTAMP_COLUMNS[table]
    before, after = (
        image
        and {
            name: f"{moment_of(cell):%Y-%m-%dT%H:%M:%S.%fZ}" if name in columns and cell else cell
            for name, cell in image.items()
        }
        for image in (before, after)
    )
    source = {"table": table, "lsn": 1, "ts_us": 2}
    return json.dumps({"op": op, "before": before, "after": after, "source": source}).encode()


def refused(image: dict[str, Any], *, offset: int) -> Rejection:
    value = json.dumps(
        {
            "op": "c",
            "before": None,
            "after": image | dict.fromkeys(("recorded_at", "occurred_at"), "2026-03-02T12:00:00Z"),
            "source": {"table": "sale_line", "lsn": 1, "ts_us": 2},
        }
    )
    return Rejection(
        origin=Origin(1, 0, offset),
        topic="stock.events",
        reason="limit",
        stage="fold",
        detail="",
        key=b"L|S",
        value=value.encode(),
        logic_revision=1,
        commit_us=2,
    )


def test_a_refused_record_counts_as_soon_as_the_cut_includes_it(inbox: psycopg.Connection) -> None:
    row = write(inbox, "sale_line", recorded_at=NOON)
    coming = refused({"id": row, "inv_key": "L|S"}, offset=7)

    before = read_rejections(inbox, None, Cut({0: 7}), {}, [coming])
    after = read_rejections(inbox, None, Cut({0: 8}), {}, [coming])

    assert (before.records, before.excluded) == (0, ())
    assert (after.records, after.excluded, after.sale_lines) == (1, (("sale_line", row),), 1)
    elsewhere = read_rejections(inbox, "M", Cut({0: 8}), {}, [coming])
    assert elsewhere.records == 0


def test_a_line_repeated_after_the_dedupe_horizon_stays_in_the_sums(
    inbox: psycopg.Connection,
) -> None:
    row = write(inbox, "sale_line", recorded_at=NOON)
    image = refused({"id": row, "inv_key": "L|S"}, offset=7)
    rejected(inbox, reason="before_dedupe_horizon", key=b"L|S", value=image.value)

    found = read_rejections(inbox, None)

    assert found.sale_lines == 1
    assert found.excluded == ()


@pytest.mark.domain("11.2 Refused change")
@pytest.mark.parametrize("after", ["deleted", "void"])
@pytest.mark.parametrize(("first", "expected"), [("c", -3), ("u", 9 - 3)])
def test_after_several_refused_records_the_last_applied_image_counts(
    inbox: psycopg.Connection, first: str, expected: int, after: str
) -> None:
    """Both records are refused, as the count is too old. The second record retracts the count."""
    write(inbox, "sale_line", quantity_units=3, recorded_at=NOON)
    row = write(inbox, "stock_count", status="void", recorded_at=NOON.replace(hour=15))
    [void] = [image for table, image in images(inbox, "L|S") if table == "stock_count"]
    old = {"occurred_at": NOON_US - 9 * DAY_US, "status": "approved"}
    counted = void | old | {"units": 7, "recorded_at": NOON_US + 1}
    former = void | old | {"units": 9, "recorded_at": NOON_US} if first == "u" else None
    if after == "deleted":
        inbox.execute("DELETE FROM retail.stock_count WHERE id = %s", [row])
    second = ("d", counted, None) if after == "deleted" else ("u", counted, void)
    for offset, change in enumerate([(first, former, counted), second], 1):
        rejected(
            inbox,
            id=f"1-0-{offset}",
            offset=offset,
            reason="count_beyond_horizon",
            key=b"L|S",
            value=captured("stock_count", *change),
        )

    assert on_hand(inbox, at_cut(inbox, {})) == expected


@pytest.mark.domain("11.4 Folded row")
@pytest.mark.parametrize(
    ("counted", "listed"), [("2026-02-26T23:59:59Z", 1), ("2026-02-27T00:00:00Z", 0)]
)
def test_a_folded_count_whose_row_changed_again_is_listed_as_possibly_doubled(
    inbox: psycopg.Connection, counted: str, listed: int
) -> None:
    """The record that retracts the count was rejected. On 2 March, the row is approved again."""
    row = write(inbox, "stock_count", recorded_at=NOON)
    before = {"id": row, "inv_key": "L|S", "status": "approved"}
    before |= {"occurred_at": counted, "recorded_at": counted}
    after = before | {"status": "draft", "recorded_at": "2026-03-01T12:00:00Z"}
    source = {"table": "stock_count", "lsn": 1, "ts_us": 2}
    value = {"op": "u", "before": before, "after": after, "source": source}
    rejected(inbox, reason="before_dedupe_horizon", key=b"L|S", value=json.dumps(value).encode())

    found = read_rejections(inbox, None)

    assert found.possibly_doubled == (("stock_count", row),) * listed
    assert found.excluded == ()


def test_a_snapshot_sees_other_transactions_only_once_they_have_ended(
    inbox: psycopg.Connection, till: psycopg.Connection
) -> None:
    with till.transaction():
        write(till, "stock_count", units=1)
        row = till.execute("SELECT txid_current() % (1::bigint << 32)").fetchone()
        assert row is not None
        xid = int(row[0])
        during = current_snapshot(inbox)
    after = current_snapshot(inbox)

    assert not during.sees(xid)
    assert after.sees(xid)
    assert after.at_us >= during.at_us


def opened(key: str, reorder_id: str) -> KeyState:
    episode = Episode(state="open", id=ReorderId(reorder_id), revision=1)
    return KeyState(InvKey(key), Position(1, 5), episode=episode)


def missing(connection: psycopg.Connection, needs: Needs, *states: KeyState) -> list[Any]:
    found = check_reorders(connection, states, None, needs)
    return [(entry["key"], entry["reorder_id"]) for entry in found.missing]


def test_a_need_whose_proposal_is_in_flight_is_not_reported_missing(
    ledger: psycopg.Connection,
) -> None:
    propose(ledger, [need("L|A", 10, by=1)], [])
    states = opened("L|A", "R:L|A:1-10"), opened("L|B", "R:L|B:1-20")

    coming = Needs(lambda: {"R:L|B:1-20"})

    assert missing(ledger, coming, *states) == []
    assert missing(ledger, Needs(set), *states) == [("L|B", "R:L|B:1-20")]


def test_only_needs_of_the_deciding_revision_must_have_a_proposal(
    ledger: psycopg.Connection,
) -> None:
    propose(ledger, [need("L|A", 12, by=2)], [])
    ours = opened("L|A", "R:L|A:1-10")

    theirs = Needs(set, {"L|A": "R:L|A:1-12"})
    forgotten = Needs(set, {"L|A": "R:L|A:1-12", "L|B": "R:L|B:1-20"})

    assert missing(ledger, theirs, ours) == []
    assert missing(ledger, forgotten, ours) == [("L|B", "R:L|B:1-20")]
    found = check_reorders(ledger, [ours], "L", forgotten, only=["L|B"])
    assert [entry["rule"] for entry in found.missing] == [UNPROPOSED]
