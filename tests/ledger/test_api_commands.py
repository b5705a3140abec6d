"""Commands of the API have an effect once per id. Refusals name field, value and next step."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from ledger.kernel.transactions import database_now
from tests.ledger.inbox import level, state
from tests.ledger.programs import Program, problem, program
from tests.ledger.rows import price_proposal, reorder_proposal, write

NEED = f"/api/v1/needs/{quote('R:L|S:1-2')}"
OFFER = f"/api/v1/price-proposals/{quote('P:L|S:1-2')}"


@pytest.fixture
def buyer(ledger: psycopg.Connection) -> Program:
    """Return a buyer's program. A ranged item has a need of 42 units in packs of 6."""
    ledger.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
    level(ledger, state())
    write(ledger, "item_location", supplier="ACME", pack_units=6, cost_minor=250, regular_minor=999)
    reorder_proposal(ledger, cost_minor=250)
    return program("buyer")


def approve(**further: object) -> dict[str, object]:
    return {"action": "approve", "revision": 1, **further}


def test_the_stock_api_returns_units_currency_status_and_age(buyer: Program) -> None:
    answer = buyer.get("/api/v1/stock").json()
    one = buyer.get("/api/v1/stock/L/S").json()

    [item] = answer["items"]
    assert item == one["item"]
    assert (item["on_hand_units"], item["currency"], item["status"]) == (10, "EUR", "ok")
    assert item["as_of"].endswith("Z")
    assert {"as_of", "age_ms"} <= answer.keys() & one.keys()
    assert problem(buyer.get("/api/v1/stock/L/UNKNOWN"))["status"] == 404


def test_a_repeated_idempotency_key_orders_once_and_returns_the_first_result(
    buyer: Program,
) -> None:
    key = uuid4()
    first = buyer.post(NEED, approve(packs=8, pack_units=6), key=key)
    again = buyer.post(NEED, approve(packs=8, pack_units=6), key=key)

    assert first.status_code == 200, first.content
    assert first.json() == again.json()
    assert first.json()["outcome"] == "ordered"
    assert first.json()["units"] == 48
    [line] = buyer.get(f"/api/v1/orders/{first.json()['order_ref']}").json()["lines"]
    assert (line["ordered_units"], line["need_id"], line["value_minor"]) == (48, "R:L|S:1-2", 12000)


def test_an_idempotency_key_reused_for_another_content_or_person_is_refused(buyer: Program) -> None:
    key = uuid4()
    assert buyer.post(NEED, approve(), key=key).status_code == 200

    other_content = buyer.post(NEED, approve(packs=9, pack_units=6), key=key)
    other_command = buyer.post(NEED, {"action": "resume", "revision": 1}, key=key)
    other_person = program("lead").post(NEED, approve(), key=key)

    for refused in (other_content, other_command, other_person):
        found = problem(refused)
        assert (found["status"], found["type"][-10:]) == (409, "key-reused")
        assert found["field"] == "Idempotency-Key"


def test_a_second_approval_with_a_new_idempotency_key_orders_nothing(buyer: Program) -> None:
    first = buyer.post(NEED, approve()).json()
    second = buyer.post(NEED, approve()).json()

    assert second["outcome"] == "ordered_before"
    assert second["line_ids"] == first["line_ids"]


def test_an_approval_of_a_changed_need_is_refused_with_its_present_values(
    buyer: Program, ledger: psycopg.Connection
) -> None:
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2, quantity_units = 60")

    found = problem(buyer.post(NEED, approve()))

    assert found["type"].endswith(":changed-meanwhile")
    assert "revision 2 and asks for 60 units" in found["detail"]
    assert "Nothing was written." in found["detail"]


@pytest.mark.parametrize(
    ("body", "status", "field", "value"),
    [
        (approve(packs=7, pack_units=5), 422, "units", "35"),
        (approve(packs=7.0, pack_units=5.0), 422, "units", "35"),
        (approve(pack_units=6), 422, "packs", None),
        (approve(packs="7", pack_units=6), 400, "packs", "7"),
        (approve(packs=True, pack_units=6), 400, "packs", "true"),
        ({"action": "reject", "revision": 1, "reason": ""}, 400, "reason", ""),
        ({"action": "reject", "revision": 1, "reason": "a\x00b"}, 400, "reason", "a\x00b"),
        ({"action": "reject", "revision": 1, "reason": "\ud800"}, 400, "reason", "\ud800"),
        ({"action": "snooze", "revision": 1, "days": 91}, 400, "days", "91"),
        ({"action": "dance", "revision": 1}, 400, "body", None),
        (approve(units=6), 400, "units", "6"),
        (approve(parts=[{"units": 42, "due_on": "2001-01-01"}]), 422, "due_on", "2001-01-01"),
        (approve(parts=[{"units": 42, "due_on": "2099-W10-1"}]), 400, "parts.0.due_on", None),
    ],
)
def test_an_error_names_the_field_and_value_that_break_a_rule(
    buyer: Program, body: dict[str, object], status: int, field: str, value: str | None
) -> None:
    found = problem(buyer.post(NEED, body))

    assert found["status"] == status
    assert found["field"] == field, found
    assert value is None or found["value"] == value
    assert found["rule"]


def test_a_quantity_far_beyond_the_suggestion_has_to_be_confirmed(buyer: Program) -> None:
    far = {"packs": 71, "pack_units": 6}
    many = {"need_id": "R:L|S:1-2", "revision": 1, **far}

    found = problem(buyer.post(NEED, approve(**far)))
    [of_many] = buyer.post("/api/v1/needs", {"approvals": [many]}).json()["results"]

    assert (found["status"], found["field"], found["value"]) == (422, "units", "426")
    assert "more than ten times the suggestion of 42" in found["rule"]
    assert '"confirmed": true' in found["next_step"]
    assert (of_many["outcome"], found["rule"] in of_many["reason"]) == ("not_ordered", True)
    done = buyer.post("/api/v1/needs", {"approvals": [many | {"confirmed": True}]}).json()
    assert done["results"][0]["units"] == 426
    assert buyer.post(NEED, approve(confirmed=True, **far)).json()["outcome"] == "ordered_before"


def test_a_command_without_an_idempotency_key_is_refused(buyer: Program) -> None:
    answer = buyer.client.post(NEED, approve(), "application/json", headers=buyer.head)

    assert problem(answer)["field"] == "Idempotency-Key"


def test_needs_are_rejected_snoozed_and_resumed(buyer: Program, ledger: psycopg.Connection) -> None:
    snooze = {"action": "snooze", "revision": 1, "days": 7}
    assert buyer.post(NEED, snooze).json()["outcome"] == "snoozed"
    ledger.execute(
        "UPDATE app.reorder_proposal SET status = 'snoozed', updated_at = clock_timestamp()"
    )
    assert [need["id"] for need in buyer.get("/api/v1/needs?view=held").json()["items"]] == [
        "R:L|S:1-2"
    ]
    assert buyer.post(NEED, {"action": "resume", "revision": 1}).json()["outcome"] == "resumed"
    reject = {"action": "reject", "revision": 1, "reason": "delisted"}
    assert buyer.post(NEED, reject).json()["outcome"] == "rejected"
    found = buyer.get(NEED).json()["item"]
    assert (found["decided_action"], found["decided_by"], found["waits"]) == (
        *("reject", "buyer"),
        True,
    )
    missing = buyer.post("/api/v1/needs/R:none", reject)
    assert problem(missing)["status"] == 404


def test_many_needs_are_ordered_at_once_and_each_has_its_outcome(
    buyer: Program, ledger: psycopg.Connection
) -> None:
    write(ledger, "item_location", sku="T", supplier="ACME", pack_units=6, cost_minor=250)
    reorder_proposal(ledger, reorder_id="R:L|T:1-3", inv_key="L|T", sku="T", revision=4)
    many = [
        {"need_id": "R:L|S:1-2", "revision": 1, "packs": 7, "pack_units": 6},
        {"need_id": "R:L|T:1-3", "revision": 3},
    ]
    key = uuid4()

    first = buyer.post("/api/v1/needs", {"approvals": many}, key=key).json()["results"]
    again = buyer.post("/api/v1/needs", {"approvals": many}, key=key).json()["results"]

    assert [result["outcome"] for result in first] == ["ordered", "not_ordered"]
    assert "revision 4" in first[1]["reason"]
    assert again == first


def test_a_need_of_another_store_does_not_stop_the_others(
    buyer: Program, ledger: psycopg.Connection
) -> None:
    reorder_proposal(ledger, reorder_id="R:M|S:1-3", inv_key="M|S", location="M")
    local = program("lead", stores=("L",))
    many = [{"need_id": name, "revision": 1} for name in ("R:M|S:1-3", "R:none", "R:L|S:1-2")]

    answer = local.post("/api/v1/needs", {"approvals": many})

    assert answer.status_code == 200, answer.content
    results = answer.json()["results"]
    assert [one["outcome"] for one in results] == ["not_ordered", "not_ordered", "ordered"]
    assert results[0]["reason"].replace("R:M|S:1-3", "R:none") == results[1]["reason"]


def test_at_most_twenty_errors_are_listed(buyer: Program) -> None:
    many = [{"need_id": "R:none", "revision": "x"}] * 100

    found = problem(buyer.post("/api/v1/needs", {"approvals": many}))

    assert found["status"] == 400
    assert len(found["errors"]) == 20


def test_an_order_is_sent_confirmed_shipped_and_cancelled(buyer: Program) -> None:
    ref = buyer.post(NEED, approve()).json()["order_ref"]
    [summary] = buyer.get("/api/v1/orders?view=draft").json()["items"]
    order = buyer.get(f"/api/v1/orders/{ref}").json()
    stale = buyer.post(f"/api/v1/orders/{ref}", {"action": "send", "version": "9@"})
    send = {"action": "send", "version": order["version"]}
    sent = buyer.post(f"/api/v1/orders/{ref}", send)

    assert (summary["order_ref"], summary["units"]) == (ref, 42)
    assert problem(stale)["status"] == 409
    assert sent.json() == {
        "order_ref": ref,
        "lines": 1,
        "units": 42,
        "value_minor": 10500,
        "currency": "EUR",
    }
    line = buyer.get(f"/api/v1/orders/{ref}").json()["lines"][0]
    path = f"/api/v1/order-lines/{line['id']}"
    due = database_now().date() + timedelta(days=9)
    confirm = {"action": "confirm", "version": line["version"], "units": 36, "due_on": str(due)}
    confirmed = buyer.post(path, confirm).json()
    assert (confirmed["status"], confirmed["open_units"]) == ("confirmed", 36)
    assert problem(buyer.post(path, confirm))["status"] == 409
    zero = confirm | {"version": "old", "units": 0}
    assert problem(buyer.post(path, zero))["status"] == 409
    assert buyer.post(path, {"action": "ship", "units": 6}).json()["units"] == 6
    line = buyer.get(f"/api/v1/orders/{ref}").json()["lines"][0]
    assert (line["due_on"], line["in_transit_units"]) == (str(due), 6)
    cancelled = buyer.post(path, {"action": "cancel", "version": line["version"]}).json()
    assert cancelled["units"] == 36
    line = buyer.get(f"/api/v1/orders/{ref}").json()["lines"][0]
    restore = {"action": "restore", "version": line["version"], "units": 6}
    assert problem(buyer.post(path, restore))["status"] == 422
    assert program("lead").post(path, restore).json()["open_units"] == 6


def test_a_confirmation_of_zero_units_needs_close_line_to_close_the_line(buyer: Program) -> None:
    ref = buyer.post(NEED, approve()).json()["order_ref"]
    order = buyer.get(f"/api/v1/orders/{ref}").json()
    buyer.post(f"/api/v1/orders/{ref}", {"action": "send", "version": order["version"]})
    [line] = buyer.get(f"/api/v1/orders/{ref}").json()["lines"]
    path = f"/api/v1/order-lines/{line['id']}"
    nothing = {"action": "confirm", "version": line["version"], "units": 0}

    refused = problem(buyer.post(path, nothing))

    assert (refused["status"], refused["field"]) == (422, "confirmed_units")
    assert "0 closes the line" in refused["rule"]
    assert buyer.post(path, nothing | {"close_line": True}).json()["status"] == "closed"


def test_a_draft_line_is_changed_moved_and_deleted_once(buyer: Program) -> None:
    done = buyer.post(NEED, approve()).json()
    path = f"/api/v1/order-lines/{done['line_ids'][0]}"

    def version() -> str:
        text: str = buyer.get(f"/api/v1/orders/{done['order_ref']}").json()["lines"][0]["version"]
        return text

    change = {"action": "change", "version": version(), "units": 12}
    assert buyer.post(path, change).json()["open_units"] == 12
    due = str(database_now().date() + timedelta(days=3))
    move = {"action": "move_due_day", "version": version(), "due_on": due}
    assert buyer.post(path, move).status_code == 200
    key = uuid4()
    delete = {"action": "delete", "version": version()}
    first = buyer.post(path, delete, key=key)
    assert first.json()["units"] == 12
    assert buyer.post(path, delete, key=key).json() == first.json()
    assert problem(buyer.post(path, delete))["status"] == 404


def test_a_change_of_a_draft_line_above_ten_times_its_units_needs_confirmation(
    buyer: Program,
) -> None:
    done = buyer.post(NEED, approve()).json()
    path = f"/api/v1/order-lines/{done['line_ids'][0]}"
    [line] = buyer.get(f"/api/v1/orders/{done['order_ref']}").json()["lines"]
    change = {"action": "change", "version": line["version"], "units": 999_996}

    refused = problem(buyer.post(path, change))

    assert (refused["status"], refused["field"], refused["value"]) == (422, "units", "999996")
    assert "more than ten times the 42 units of the line" in refused["rule"]
    assert '"confirmed": true' in refused["next_step"]
    assert buyer.post(path, change | {"confirmed": True}).json()["open_units"] == 999_996


def test_prices_are_set_rolled_back_and_proposals_decided(
    buyer: Program, ledger: psycopg.Connection
) -> None:
    price_proposal(ledger)
    pricing = program("pricing")
    path = "/api/v1/prices/L/S"
    body = {"action": "set", "newest_id": 0, "price_minor": 9990}
    far = problem(pricing.post(path, body))
    first = pricing.post(path, body | {"price_minor": 999}).json()["price_id"]
    stale = problem(pricing.post(path, body | {"price_minor": 950}))
    item = pricing.get(path).json()
    second = pricing.post(path, body | {"price_minor": 950, "newest_id": first}).json()["price_id"]
    back = pricing.post(path, {"action": "roll_back", "newest_id": second})
    approved = pricing.post(OFFER, {"action": "approve", "revision": 1}).json()

    assert (far["field"], "confirmed" in far["next_step"]) == ("price_minor", True)
    assert stale["status"] == 409
    assert (item["newest_id"], item["prices"][0]["price_minor"]) == (first, 999)
    assert back.status_code == 200, back.content
    assert (approved["outcome"], approved["price_minor"]) == ("approved", 899)
    assert pricing.get(OFFER).json()["item"]["decided_action"] == "approve"
    assert buyer.get("/api/v1/prices").json()["items"][0]["currency"] == "EUR"


def test_lists_continue_after_their_cursor_without_a_gap(
    buyer: Program, ledger: psycopg.Connection
) -> None:
    for number in range(3):
        sku = f"S/{number} é"
        key = {"inv_key": f"L|{sku}", "sku": sku}
        level(ledger, state(sku))
        reorder_proposal(ledger, reorder_id=f"R:L|{sku}:1-9", **key)
        price_proposal(ledger, proposal_id=f"P:L|{sku}:1-9", **key)
        write(ledger, "purchase_order_line", order_ref=f"PO/{number}", sku=sku)
    lists: dict[str, int] = {"stock": 4, "needs": 4, "orders": 3, "prices": 4, "price-proposals": 3}

    for name, expected in {**lists, "decisions": 7}.items():
        found: list[Any] = []
        after = ""
        for _ in range(expected):
            page = buyer.get(f"/api/v1/{name}", limit=1, after=after).json()
            found += page["items"]
            after = page["next"]
        whole = buyer.get(f"/api/v1/{name}").json()["items"]
        ours = [_named(item) for item in found]
        assert ours == [_named(item) for item in whole], name
        assert len(ours) == expected, name
        assert name == "decisions" or after is None, name


def _named(item: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(item.get(name) for name in ("cursor", "id", "order_ref", "location", "sku"))


def test_items_with_special_characters_in_their_sku_have_a_url(
    buyer: Program, ledger: psycopg.Connection
) -> None:
    sku = "a/b?c#d é%2F"
    level(ledger, state(sku))

    answer = buyer.get(f"/api/v1/stock/L/{quote(sku, safe='')}")

    assert answer.json()["item"]["sku"] == sku


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/v1/stock?after=%2A", "after"),
        ("/api/v1/orders?after=YWJj", "after"),
        ("/api/v1/decisions?after=LTE", "after"),
        ("/api/v1/stock?limit=0", "limit"),
        ("/api/v1/stock?limit=x", "limit"),
        ("/api/v1/needs?view=all", "view"),
    ],
)
def test_an_error_names_the_query_parameter_that_breaks_a_rule(
    buyer: Program, path: str, field: str
) -> None:
    found = problem(buyer.get(path))

    is_cursor = field == "after"
    assert (found["status"], found["field"]) == (422 if is_cursor else 400, field), found


def test_the_actor_of_a_command_is_the_owner_of_the_token(
    buyer: Program, ledger: psycopg.Connection
) -> None:
    buyer.post(NEED, approve())

    found = ledger.execute("SELECT actor FROM app.action_log WHERE action = 'approve'").fetchall()
    assert found == [("buyer",)]
