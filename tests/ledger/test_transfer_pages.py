"""The transfer desk: request, send, receive, and refusals that keep the input."""

import re
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from inventory.model.ids import InvKey
from ledger import services
from ledger.services import Route, Transfer
from tests.ledger.inbox import level, state
from tests.ledger.pages import person
from tests.ledger.rows import reorder_proposal, write
from tests.ledger.stocked import stocked


@pytest.fixture
def places(ledger: psycopg.Connection) -> psycopg.Connection:
    ledger.execute(
        "INSERT INTO retail.location (code, name) VALUES ('L', 'Leeds'), ('DC-1', 'Centre')"
    )
    ledger.execute("INSERT INTO retail.product (code, name) VALUES ('S', 'Kettle')")
    write(ledger, "item_location", cost_minor=400)
    stocked("DC-1")
    return ledger


def text(answer: Any) -> str:
    body = answer.content.decode().partition("<main")[2].partition("</main>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def step(client: Client, transfer: Transfer, action: str, **form: Any) -> Any:
    fields = {"transfer": transfer.in_id, "action": action, "command_id": str(uuid4())}
    return client.post("/transfers/step?view=moving", fields | form)


def opened(client: Client, transfer: Transfer, view: str = "moving") -> Any:
    """Return the answer of the desk with the details of this transfer expanded."""
    return client.get("/transfers/", {"view": view, "open": str(transfer.in_id)})


def planned() -> Transfer:
    return services.plan_transfer(route=Route("DC-1", "L", "S", 6), actor="bob")


@pytest.mark.parametrize(
    ("action", "status", "said"),
    [
        ("plan", "planned", "Asked Centre for 1 unit of Kettle: transfer T-"),
        ("ship", "shipped", "Sent 1 unit of Kettle to Leeds: transfer T-"),
    ],
)
def test_the_transfer_form_requests_or_sends_units(
    places: psycopg.Connection, action: str, status: str, said: str
) -> None:
    form = {"source": "DC-1", "destination": "L", "sku": "S", "units": "1", "due_on": "2099-03-05"}

    answer = person("associate").post(
        "/transfers/ask", {**form, "action": action, "command_id": str(uuid4())}, follow=True
    )

    assert answer.redirect_chain
    assert said in text(answer)
    found = places.execute(
        "SELECT leg, status, due_on::text FROM retail.shipment_line ORDER BY id"
    ).fetchall()
    assert found == [
        ("transfer_out", status, "2099-03-05"),
        ("transfer_in", status, "2099-03-05"),
    ]


def test_a_transfer_to_its_own_source_is_refused_and_keeps_the_form(
    places: psycopg.Connection,
) -> None:
    form = {"source": "L", "destination": "L", "sku": "S", "units": "6", "action": "plan"}

    answer = person("associate").post("/transfers/ask", {**form, "command_id": str(uuid4())})

    assert answer.status_code == 422
    assert "must differ from the location that sends the units" in text(answer)
    assert 'name="sku" value="S"' in answer.content.decode()


def test_only_people_of_the_source_send_and_a_refusal_keeps_the_input(
    places: psycopg.Connection,
) -> None:
    form = {"source": "DC-1", "destination": "L", "sku": "S", "units": "6", "action": "ship"}
    ann = person("associate", "ann", stores=("L",))

    answer = ann.post("/transfers/ask", {**form, "command_id": str(uuid4())})

    assert answer.status_code == 403
    assert "Only the people of Centre can send its goods. Press “Ask for it”" in text(answer)
    assert 'name="sku" value="S"' in answer.content.decode()
    assert '<option value="DC-1" selected>' in answer.content.decode()
    assert places.execute("SELECT count(*) FROM retail.shipment_line").fetchone() == (0,)
    noted = places.execute("SELECT reason FROM app.refusal ORDER BY id DESC LIMIT 1").fetchone()
    assert noted is not None
    assert noted[0].startswith("Only the people of Centre")


def test_a_request_for_too_many_units_names_the_most_that_another_store_can_send(
    places: psycopg.Connection,
) -> None:
    form = {"source": "DC-1", "destination": "L", "sku": "S", "units": "101", "action": "plan"}
    ann = person("associate", "ann", stores=("L",))

    answer = ann.post("/transfers/ask", {**form, "command_id": str(uuid4())})

    assert answer.status_code == 422
    assert "at most 100: Centre has no more units that are free to send" in text(answer)
    assert "on hand" not in text(answer).partition("at most 100")[2][:90]


def test_the_form_offers_the_stores_that_have_the_item(places: psycopg.Connection) -> None:
    places.execute("INSERT INTO retail.location (code, name) VALUES ('E', 'Empty'), ('N', 'None')")
    write(places, "item_location", inv_key="E|S", location="E")
    for location, units in (("DC-1", 12), ("E", 13), ("L", 3)):
        stock = {"on_hand_units": units, "opening_units": units}
        level(places, state(inv_key=InvKey(f"{location}|S"), stock=stock))
    ann = person("associate", "ann", stores=("L",))

    page = ann.get("/transfers/?location=L&sku=S").content.decode()
    choices = page.partition('name="source"')[2].partition("</select>")[0]
    every = ann.get("/transfers/").content.decode().partition('name="source"')[2]

    assert re.findall(r"<option[^>]*>([^<]*)<", choices) == [
        "Choose",
        "Empty (E)",
        "Centre (DC-1)",
    ]
    assert re.findall(r'<option value="(\w[^"]*)"', every.partition("</select>")[0]) == [
        *("DC-1", "E", "L", "N"),
    ]


def test_the_only_store_that_has_the_item_is_chosen_already(places: psycopg.Connection) -> None:
    for location, units in (("DC-1", 12), ("L", 3)):
        stock = {"on_hand_units": units, "opening_units": units}
        level(places, state(inv_key=InvKey(f"{location}|S"), stock=stock))
    ann = person("associate", "ann", stores=("L",))

    page = ann.get("/transfers/?location=L&sku=S").content.decode()

    choices = page.partition('name="source"')[2].partition("</select>")[0]
    assert '<option value="DC-1" selected>' in choices


def test_both_locations_see_the_units_in_transit(places: psycopg.Connection) -> None:
    ann, transfer = person("associate", "ann"), planned()
    step(ann, transfer, "ship", units=5)

    for location in ("L", "DC-1"):
        said = text(ann.get(f"/transfers/?location={location}"))
        assert "5 on the way" in said
    assert "5 on the way" not in text(ann.get("/transfers/?location=OTHER"))


def test_a_receipt_with_missing_units_needs_a_reason_and_keeps_the_input(
    places: psycopg.Connection,
) -> None:
    ann, transfer = person("associate", "ann"), planned()
    step(ann, transfer, "ship", units=6)

    short = step(ann, transfer, "receive", received_units=4, damaged_units=1)
    done = step(ann, transfer, "receive", received_units=4, damaged_units=1, reason="torn")

    assert short.status_code == 422
    assert "6 units were sent and 5 arrived: give a reason" in text(short)
    assert 'name="received_units" type="number" inputmode="numeric" min="0"' in (
        short.content.decode()
    )
    assert 'required value="4"' in short.content.decode()
    assert done.status_code == 302
    said = text(opened(ann, transfer, "received"))
    assert "4, 1 damaged, 1 lost (€4.00 at cost): torn" in said


def test_a_second_receipt_gets_a_conflict_that_names_the_first_receiver(
    places: psycopg.Connection,
) -> None:
    ann, transfer = person("associate", "ann"), planned()
    step(ann, transfer, "ship", units=6)
    step(ann, transfer, "receive", received_units=6, damaged_units=0)

    answer = step(
        person("associate", "cyd"), transfer, "receive", received_units=6, damaged_units=0
    )

    assert answer.status_code == 409
    assert "already received: 6 units fit for sale and 0 damaged, recorded by ann" in text(answer)


def test_a_person_can_correct_only_their_own_receipt_on_the_page(
    places: psycopg.Connection,
) -> None:
    ann, transfer = person("associate", "ann"), planned()
    step(ann, transfer, "ship", units=6)
    step(ann, transfer, "receive", received_units=6, damaged_units=0)
    assert "Correct your receipt" in text(opened(ann, transfer, "received"))
    other = opened(person("associate", "cyd"), transfer, "received")
    assert "Correct your receipt" not in text(other)

    step(ann, transfer, "correct", received_units=7, damaged_units=0, reason="one more")

    assert "1 more than sent" in text(ann.get("/transfers/?view=received"))


def test_a_planned_transfer_is_cancelled(places: psycopg.Connection) -> None:
    ann, transfer = person("associate", "ann"), planned()

    step(ann, transfer, "cancel")

    assert places.execute("SELECT count(*) FROM retail.shipment_line").fetchone() == (0,)
    gone = step(ann, transfer, "ship", units=6)
    assert (gone.status_code, "does not exist" in text(gone)) == (409, True)


@pytest.mark.parametrize(
    ("due_days_ago", "shipped_days_ago", "is_stuck"),
    [(2, 9, False), (3, 9, True), (None, 4, False), (None, 5, True)],
)
def test_a_transfer_is_stuck_three_days_past_due(
    places: psycopg.Connection,
    *,
    due_days_ago: int | None,
    shipped_days_ago: int,
    is_stuck: bool,
) -> None:
    services.ship_transfer(services.ShipTransfer(services.Route("DC-1", "L", "S", 6)))
    places.execute("UPDATE retail.item_location SET lead_time_centidays = 150")  # counts as 2 days
    places.execute(
        "UPDATE retail.shipment_line SET due_on = (now() AT TIME ZONE 'UTC')::date - %s::int,"
        " shipped_at = now() - make_interval(days => %s)",
        [due_days_ago, shipped_days_ago],
    )

    said = text(person("manager").get("/transfers/?view=stuck"))

    assert ("Nothing is stuck" in said) is not is_stuck
    assert ("3 days ago" in said) is is_stuck  # without a due day: 5 days since shipping, less 2


def test_query_parameters_fill_the_transfer_form(places: psycopg.Connection) -> None:
    body = person("associate").get("/transfers/?location=L&sku=S&units=6").content.decode()

    assert '<details class="more" open>' in body
    assert 'name="sku" value="S"' in body


@pytest.mark.parametrize("role", ["pricing", "analyst", "operator"])
def test_roles_other_than_store_staff_and_buyers_cannot_open_transfers(
    places: psycopg.Connection, role: str
) -> None:
    assert person(role).get("/transfers/").status_code == 403


@pytest.mark.parametrize("role", ["buyer", "lead"])
def test_a_buyer_sees_every_transfer_and_moves_no_goods(
    places: psycopg.Connection, role: str
) -> None:
    transfer, client = planned(), person(role)
    asked = {"source": "DC-1", "destination": "L", "sku": "S", "units": "6", "action": "plan"}

    page = opened(client, transfer)

    assert page.status_code == 200
    assert transfer.transfer_ref in text(page)
    assert "New transfer" not in text(page)
    assert not re.findall(r"<button[^>]*>(?:Ship|Cancel|Receive)", page.content.decode())
    assert "/transfers/" in client.get("/reorders/").content.decode()
    for action in ("ship", "receive", "correct", "", "think"):
        assert step(client, transfer, action, units=6).status_code == 403
    assert client.post("/transfers/ask", asked).status_code == 403
    step(person("associate"), transfer, "ship", units=6)
    assert not re.findall(r"<button[^>]*>Receive", opened(client, transfer).content.decode())


def test_a_buyer_cancels_only_their_own_planned_transfers(places: psycopg.Connection) -> None:
    client, theirs = person("buyer", "bea"), planned()
    mine = services.plan_transfer(route=Route("DC-1", "L", "S", 6), actor="bea")

    buttons = [
        len(re.findall(r"<button[^>]*>Cancel", opened(client, one).content.decode()))
        for one in (mine, theirs)
    ]
    refused = step(client, theirs, "cancel")
    done = step(client, mine, "cancel")

    assert buttons == [1, 0]
    assert (
        refused.status_code,
        "asked for this transfer: ask them or store staff" in text(refused),
    ) == (
        422,
        True,
    )
    assert done.status_code == 302
    left = places.execute("SELECT DISTINCT transfer_ref FROM retail.shipment_line").fetchall()
    assert left == [(theirs.transfer_ref,)]


def test_a_shipped_transfer_of_a_buyer_is_not_cancelled(places: psycopg.Connection) -> None:
    client = person("buyer", "bea")
    mine = services.plan_transfer(route=Route("DC-1", "L", "S", 6), actor="bea")
    step(person("associate"), mine, "ship", units=6)

    assert step(client, mine, "cancel").status_code == 409
    assert "Cancel" not in text(opened(client, mine))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"sku": "NOPE"}, "no location has this item in its range"),
        ({"source": "NOWHERE"}, "no such location: check its code"),
        ({"due_on": "1999-01-01"}, "not before"),
        ({"units": "101"}, "at most 100: Centre has 100 units of S on hand"),
    ],
)
@pytest.mark.parametrize("action", ["plan", "ship"])
def test_an_invalid_transfer_is_refused_with_its_rule_and_keeps_the_form(
    places: psycopg.Connection, action: str, changes: dict[str, str], rule: str
) -> None:
    form = {"source": "DC-1", "destination": "L", "sku": "S", "units": "6", "action": action}
    form |= changes | {"command_id": str(uuid4())}

    answer = person("associate").post("/transfers/ask", form)

    assert answer.status_code == 422
    assert rule in text(answer)
    units = form["units"]
    assert f'max="1000000" required value="{units}"' in answer.content.decode()
    assert places.execute("SELECT count(*) FROM retail.shipment_line").fetchone() == (0,)


def test_units_beyond_the_recorded_stock_are_sent_only_after_confirmation(
    places: psycopg.Connection,
) -> None:
    ann, transfer = person("associate", "ann"), planned()
    unplanned = {"source": "DC-1", "destination": "L", "sku": "S", "units": "101"}
    unplanned |= {"action": "ship"}
    box = 'name="beyond_stock"'

    for refused in (
        step(ann, transfer, "ship", units=101),
        ann.post("/transfers/ask", unplanned | {"command_id": str(uuid4())}),
    ):
        assert refused.status_code == 422
        assert refused.content.decode().count(box) == 1
    assert box not in ann.get("/transfers/").content.decode()

    assert step(ann, transfer, "ship", units=101, beyond_stock="1").status_code == 302
    sent = ann.post("/transfers/ask", unplanned | {"beyond_stock": "1", "command_id": str(uuid4())})
    assert sent.status_code == 302
    assert "101 on the way" in text(ann.get("/transfers/"))


def test_store_staff_cannot_answer_a_need_by_a_transfer(places: psycopg.Connection) -> None:
    asked = {"source": "DC-1", "destination": "L", "sku": "S", "units": "6", "action": "plan"}
    asked |= {"reorder_id": reorder_proposal(places), "command_id": str(uuid4())}

    assert person("associate").post("/transfers/ask", asked).status_code == 403
    assert places.execute("SELECT count(*) FROM retail.shipment_line").fetchone() == (0,)
