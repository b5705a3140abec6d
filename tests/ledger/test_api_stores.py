"""API operations of a store follow the pages' rules: price stop, counts, receipts, transfers."""

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.ledger.programs import Program, account, problem, program, program_of
from tests.ledger.rows import NOON, price_proposal, write

COUNTS = "/api/v1/counts"
RECEIPTS = "/api/v1/receipts/PO-1"
TRANSFERS = "/api/v1/transfers"
ONE = {"location": "L", "counts": [{"sku": "S", "units": 7}]}


@pytest.fixture
def staff(ledger: psycopg.Connection) -> Program:
    """Return an associate's program. Range an item at L, with 10 units on hand, and at M."""
    ledger.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
    ledger.execute("INSERT INTO retail.location (code, name) VALUES ('L', 'Low'), ('M', 'Mid')")
    for location in ("L", "M"):
        write(ledger, "item_location", location=location, supplier="ACME", pack_units=6)
    write(ledger, "stock_count", units=10)
    return program("associate")


def test_the_price_stop_is_read_set_and_released_once(
    staff: Program, ledger: psycopg.Connection
) -> None:
    price_proposal(ledger)
    pricing = program("pricing")
    key = uuid4()
    stopped = pricing.post("/api/v1/price-stop", {"action": "stop"}, key=key).json()
    refused = pricing.post(
        "/api/v1/price-proposals/P:L%7CS:1-2", {"action": "approve", "revision": 1}
    )
    released = pricing.post("/api/v1/price-stop", {"action": "release"}).json()
    again = pricing.post("/api/v1/price-stop", {"action": "stop"}, key=key).json()

    assert (stopped["is_stopped"], stopped["updated_by"]) == (True, "pricing")
    assert problem(refused)["status"] == 409
    assert (released["is_stopped"], again["is_stopped"]) == (False, False)
    assert staff.get("/api/v1/price-stop").json()["is_stopped"] is False
    local = program("pricing", stores=("L",))
    assert problem(local.post("/api/v1/price-stop", {"action": "stop"}))["status"] == 403


def test_a_count_is_recorded_once_and_approved_by_another_person(
    staff: Program, ledger: psycopg.Connection
) -> None:
    key = uuid4()
    body = {"location": "L", "counts": [{"sku": "S", "units": 5}, {"sku": "S", "units": 4}]}
    first = staff.post(COUNTS, body, key=key)
    again = staff.post(COUNTS, body, key=key)
    other = staff.post(COUNTS, ONE, key=key)

    assert first.status_code == 200, first.content
    assert first.json() == again.json()
    assert problem(other)["type"].endswith(":key-reused")
    manager = program("manager")
    [waiting] = manager.get(COUNTS).json()["items"]
    [recorded] = first.json()["counts"]
    assert (waiting["id"], waiting["units"], waiting["variance_units"]) == (recorded["id"], 9, -1)
    assert waiting["needs_recount"] is False
    path = f"{COUNTS}/{recorded['id']}"
    assert problem(staff.get(COUNTS))["status"] == 403  # counting is blind
    stale = manager.post(path, {"action": "approve", "expected_units": 12})
    assert problem(stale)["status"] == 409
    approve = {"action": "approve", "expected_units": waiting["expected_units"]}
    assert manager.post(path, approve).json()["variance_units"] == -1
    assert ledger.execute(
        "SELECT status, counted_by, approved_by FROM retail.stock_count WHERE id = %s",
        (recorded["id"],),
    ).fetchone() == ("approved", "associate", "manager")


def test_a_count_cannot_be_approved_by_its_counter_but_can_be_refused(
    staff: Program,
) -> None:
    manager = program("manager")
    own = manager.post(COUNTS, {"location": "L", "counts": [{"sku": "S", "units": 10}]}).json()
    path = f"{COUNTS}/{own['counts'][0]['id']}"
    refused = manager.post(path, {"action": "approve", "expected_units": 10})
    key = uuid4()

    assert problem(refused)["field"] == "actor"
    assert manager.post(path, {"action": "recount"}, key=key).json()["outcome"] == "recount"
    assert manager.post(path, {"action": "recount"}, key=key).status_code == 200
    assert manager.get(COUNTS).json()["items"][0]["needs_recount"] is True
    done = manager.post(path, {"action": "refuse", "reason": "wrong shelf"})
    assert done.json()["outcome"] == "refused"
    assert manager.get(COUNTS).json()["items"] == []


@pytest.mark.parametrize(
    ("counts", "status", "field"),
    [
        ([{"sku": "S", "units": 5}, {"sku": "NONE", "units": 1}], 422, "sku"),
        ([{"sku": "S", "units": -1}], 400, "counts.0.units"),
        ([{"sku": "S", "units": 1, "counted_at": "2026-03-02T12:00:00Z"}], 422, "counted_at"),
        ([{"sku": "S", "units": 1, "counted_at": "2026-03-02T12:00:00"}], 400, None),
        ([{"sku": "S", "units": 1, "counted_at": "2999-01-01T00:00:00Z"}], 422, "counted_at"),
        ([{"sku": "S", "units": 1, "counted_at": 1_700_000_000}], 400, "counts.0.counted_at"),
        ([], 400, "counts"),
    ],
)
def test_one_refused_item_refuses_the_whole_count(
    staff: Program,
    ledger: psycopg.Connection,
    counts: list[dict[str, Any]],
    status: int,
    field: str | None,
) -> None:
    found = problem(staff.post(COUNTS, {"location": "L", "counts": counts}))

    assert found["status"] == status
    assert field is None or found["field"] == field, found
    assert ledger.execute("SELECT count(*) FROM app.count_sheet").fetchone() == (0,)
    drafts = "SELECT count(*) FROM retail.stock_count WHERE status = 'draft'"
    assert ledger.execute(drafts).fetchone() == (0,)


def test_a_location_that_does_not_exist_is_not_counted(
    staff: Program, ledger: psycopg.Connection
) -> None:
    ledger.execute("INSERT INTO retail.product (code, name) VALUES ('S', 'Mug')")

    found = problem(staff.post(COUNTS, ONE | {"location": "LL"}))

    assert (found["status"], found["field"], found["value"]) == (422, "location", "LL")
    assert found["rule"] == "no such location: check its code"
    assert ledger.execute("SELECT count(*) FROM app.count_sheet").fetchone() == (0,)


def test_lists_of_stores_continue_after_their_cursor(
    staff: Program, ledger: psycopg.Connection
) -> None:
    for number in range(3):
        sku = f"T{number}"
        write(ledger, "item_location", sku=sku)
        write(ledger, "stock_count", sku=sku, status="draft", counted_by="ann")
        write(ledger, "purchase_order_line", order_ref=f"PO-{number}", sku=sku)
        pair: dict[str, Any] = {"sku": sku, "transfer_ref": f"T-{number}", "status": "planned"}
        pair |= {"planned_units": 1, "received_units": 0, "order_units": 0, "received_at": None}
        write(ledger, "shipment_line", leg="transfer_out", **pair)
        write(ledger, "shipment_line", leg="transfer_in", location="M", **pair)
    manager = program("manager")

    for name in ("counts", "receipts", "transfers"):
        found: list[Any] = []
        after: Any = ""
        for _ in range(3):
            page = manager.get(f"/api/v1/{name}", limit=1, after=after).json()
            found += page["items"]
            after = page["next"]
        assert after is None, name
        assert found == manager.get(f"/api/v1/{name}").json()["items"], name
        assert len(found) == 3, name
        wrong = manager.get(f"/api/v1/{name}", after="QUJD")
        assert problem(wrong)["field"] == "after", name


def test_rows_that_leave_a_list_do_not_shift_its_next_page(
    staff: Program, ledger: psycopg.Connection
) -> None:
    pair: dict[str, Any] = {"status": "shipped", "shipped_units": 2, "received_units": 0}
    pair |= {"order_units": 0, "shipped_at": NOON, "received_at": None}
    for number in range(3):
        ref = f"T-{number}"
        write(ledger, "purchase_order_line", order_ref=f"PO-{number}")
        write(ledger, "shipment_line", leg="transfer_out", transfer_ref=ref, **pair)
        write(ledger, "shipment_line", leg="transfer_in", transfer_ref=ref, location="M", **pair)
    expected, given = ["PO-0", "PO-1", "PO-2"], {"received_units": 2, "damaged_units": 0}
    found: dict[str, list[str]] = {"receipts": [], "transfers": []}
    after = dict.fromkeys(found, "")

    for _ in expected:
        for name, refs in found.items():
            page = staff.get(f"/api/v1/{name}", limit=1, after=after[name]).json()
            [row] = page["items"]
            after[name] = page["next"]
            refs.append(row.get("order_ref") or row["transfer_ref"])
            if name == "transfers":
                body = {"action": "receive", **given}
                assert staff.post(f"{TRANSFERS}/{row['id']}", body).status_code == 200
            else:
                done = (
                    "UPDATE retail.purchase_order_line SET status = 'closed' WHERE order_ref = %s"
                )
                ledger.execute(done, (row["order_ref"],))

    assert found == {"receipts": expected, "transfers": ["T-0", "T-1", "T-2"]}
    newest = staff.get(TRANSFERS, view="received", limit=2).json()
    last = staff.get(TRANSFERS, view="received", after=newest["next"]).json()
    refs = [row["transfer_ref"] for row in (*newest["items"], *last["items"])]
    assert refs == ["T-2", "T-1", "T-0"]


@pytest.fixture
def line(staff: Program, ledger: psycopg.Connection) -> int:
    """Write order line PO-1, sent, of ten units of S at L. Return its id."""
    return write(ledger, "purchase_order_line")


def received(line: int, units: int, **further: object) -> dict[str, Any]:
    one = {"line_id": line, "expected_units": 10, "open_units": 10, "received_units": units}
    return {"action": "receive", "lines": [one | further]}


def test_an_order_line_is_received_partly_with_a_reason_and_corrected(
    staff: Program, line: int, ledger: psycopg.Connection
) -> None:
    [due] = staff.get("/api/v1/receipts").json()["items"]
    [expected] = staff.get(RECEIPTS).json()["expected"]
    key = uuid4()
    body = received(line, 6, damaged_units=1, reason="short")
    first = staff.post(RECEIPTS, body, key=key)
    again = staff.post(RECEIPTS, body, key=key)

    assert (due["order_ref"], due["open_units"]) == ("PO-1", 10)
    assert (expected["line_id"], expected["expected_units"], expected["open_units"]) == (
        line,
        10,
        10,
    )
    assert first.status_code == 200, first.content
    assert first.json() == again.json()
    now = staff.get(RECEIPTS).json()
    [receipt] = now["receipts"]
    assert (receipt["received_units"], receipt["damaged_units"]) == (6, 1)
    assert now["expected"][0]["open_units"] == 3
    assert problem(staff.post(RECEIPTS, received(line, 10)))["status"] == 409
    fix = {"action": "correct", "receipt_id": receipt["id"], "version": receipt["version"]}
    fix |= {"received_units": 8, "reason": "short"}
    foreign = program("manager").post(RECEIPTS, fix)
    assert problem(foreign)["field"] == "actor"
    write(ledger, "purchase_order_line", order_ref="PO-2")
    other = problem(staff.post("/api/v1/receipts/PO-2", fix))
    assert (other["field"], other["rule"]) == ("receipt_id", "a receipt of order PO-2")
    assert staff.post(RECEIPTS, fix).json()["receipt_ids"] == [receipt["id"]]
    assert problem(staff.post(RECEIPTS, fix))["status"] == 409


@pytest.mark.parametrize(
    ("further", "status"),
    [
        ({"received_units": 9}, 422),
        ({"received_units": 10, "damaged_units": 1}, 422),
        ({"received_units": 1, "reason": "refused"}, 422),
        ({"received_units": 9, "reason": "lost"}, 400),
        ({"line_id": 999_999, "received_units": 10}, 422),
    ],
)
def test_a_receipt_that_breaks_a_rule_writes_nothing(
    staff: Program, line: int, ledger: psycopg.Connection, further: dict[str, Any], status: int
) -> None:
    answer = staff.post(RECEIPTS, received(line, 10, **further))

    assert problem(answer)["status"] == status, answer.content
    assert ledger.execute("SELECT count(*) FROM retail.shipment_line").fetchone() == (0,)


def test_refused_goods_remain_on_order_and_received_shipments_close_the_line(
    staff: Program, line: int, ledger: psycopg.Connection
) -> None:
    assert staff.post(RECEIPTS, received(line, 0, reason="refused")).status_code == 200
    shipment = {"status": "shipped", "shipped_units": 10, "shipped_at": NOON}
    shipment |= {"received_units": 0, "order_units": 0, "received_at": None}
    number = write(ledger, "shipment_line", purchase_order_line_id=line, **shipment)

    [expected] = staff.get(RECEIPTS).json()["expected"]
    assert (expected["shipment_id"], expected["open_units"]) == (number, 10)
    twice = received(line, 10, shipment_id=number)
    twice["lines"] *= 2
    assert problem(staff.post(RECEIPTS, twice))["field"] == "lines"
    assert staff.post(RECEIPTS, received(line, 10, shipment_id=number)).status_code == 200
    assert staff.get(RECEIPTS).json()["expected"] == []
    unknown = staff.post("/api/v1/receipts/PO-none", received(line, 10))
    assert problem(unknown)["status"] == 404


def plan(**further: object) -> dict[str, object]:
    return {"action": "plan", "source": "L", "destination": "M", "sku": "S", "units": 4, **further}


def test_a_transfer_is_planned_shipped_received_and_corrected(staff: Program) -> None:
    key = uuid4()
    made = staff.post(TRANSFERS, plan(), key=key)
    assert made.status_code == 200, made.content
    assert staff.post(TRANSFERS, plan(), key=key).json() == made.json()
    path = f"{TRANSFERS}/{made.json()['id']}"
    receive = {"action": "receive", "received_units": 3}

    assert problem(staff.post(path, receive))["status"] == 409
    far = staff.post(path, {"action": "ship", "units": 99})
    assert problem(far)["field"] == "units"
    assert staff.post(path, {"action": "ship", "units": 4}).status_code == 200
    assert problem(staff.post(path, receive))["field"] == "discrepancy_reason"
    done = staff.post(path, receive | {"reason": "one broke"})
    assert done.json()["lost_units"] == 1
    fix = {"action": "correct", "received_units": 4}
    assert staff.post(path, fix).json()["lost_units"] == 0
    [row] = staff.get(TRANSFERS, view="received").json()["items"]
    assert (row["received_units"], row["lost_units"], row["status"]) == (4, 0, "received")


def test_a_planned_transfer_is_cancelled_once(staff: Program) -> None:
    made = staff.post(TRANSFERS, plan()).json()
    path, key = f"{TRANSFERS}/{made['id']}", uuid4()

    assert staff.post(path, {"action": "cancel"}, key=key).status_code == 200
    assert staff.post(path, {"action": "cancel"}, key=key).status_code == 200
    assert problem(staff.post(path, {"action": "cancel"}))["status"] == 404


def test_only_the_source_ships_and_only_the_destination_receives_a_transfer(staff: Program) -> None:
    sent = staff.post(TRANSFERS, plan(action="ship")).json()
    planned = staff.post(TRANSFERS, plan()).json()
    source, destination = (
        program_of(account("associate", f"of-{place}", stores=(place,))) for place in ("L", "M")
    )
    receive = {"action": "receive", "received_units": 4}

    refused = problem(source.post(f"{TRANSFERS}/{sent['id']}", receive))
    assert (refused["status"], refused["type"][-11:]) == (403, "other-store")
    assert destination.post(f"{TRANSFERS}/{sent['id']}", receive).json()["lost_units"] == 0
    ship = {"action": "ship", "units": 4}
    assert problem(destination.post(f"{TRANSFERS}/{planned['id']}", ship))["status"] == 403
    assert source.post(f"{TRANSFERS}/{planned['id']}", ship).status_code == 200


def test_a_transfer_for_a_need_requires_scope_and_right_to_decide_needs(staff: Program) -> None:
    found = problem(staff.post(TRANSFERS, plan(need_id="R:M|S:1-2")))
    assert (found["status"], found["right"]) == (403, "decide reorders")
    narrow = program("associate", "transfers:write")

    found = problem(narrow.post(TRANSFERS, plan(need_id="R:M|S:1-2")))

    assert (found["status"], found["scope"]) == (403, "needs:decide")
