"""The transfer desk: ask, send, receive, with refusals that keep what was typed."""

import re
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from tests.ledger.pages import person
from tests.ledger.rows import reorder_proposal, write
from webui.ledger import services
from webui.ledger.services import Route, Transfer


@pytest.fixture
def places(ledger: psycopg.Connection) -> psycopg.Connection:
    ledger.execute(
        "INSERT INTO retail.location (code, name) VALUES ('L', 'Leeds'), ('DC-1', 'Centre')"
    )
    write(ledger, "item_location", cost_minor=400)
    return ledger


def text(answer: Any) -> str:
    body = answer.content.decode().partition("<main")[2].partition("</main>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def step(client: Client, transfer: Transfer, action: str, **form: Any) -> Any:
    fields = {"transfer": transfer.in_id, "action": action, "command_id": str(uuid4())}
    return client.post("/transfers/step?view=moving", fields | form)


def planned() -> Transfer:
    return services.plan_transfer(route=Route("DC-1", "L", "S", 6), actor="bob")


@pytest.mark.parametrize(("action", "status"), [("plan", "planned"), ("ship", "shipped")])
def test_units_are_asked_for_or_sent_at_once(
    places: psycopg.Connection, action: str, status: str
) -> None:
    form = {"source": "DC-1", "destination": "L", "sku": "S", "units": "6", "due_on": "2026-03-05"}

    answer = person("associate").post(
        "/transfers/ask", {**form, "action": action, "command_id": str(uuid4())}
    )

    assert answer.status_code == 302
    found = places.execute(
        "SELECT leg, status, due_on::text FROM retail.shipment_line ORDER BY id"
    ).fetchall()
    assert found == [
        ("transfer_out", status, "2026-03-05"),
        ("transfer_in", status, "2026-03-05"),
    ]


def test_a_transfer_to_where_it_is_keeps_the_form(places: psycopg.Connection) -> None:
    form = {"source": "L", "destination": "L", "sku": "S", "units": "6", "action": "plan"}

    answer = person("associate").post("/transfers/ask", {**form, "command_id": str(uuid4())})

    assert answer.status_code == 422
    assert "a transfer goes to another location" in text(answer)
    assert 'name="sku" value="S"' in answer.content.decode()


def test_both_ends_see_what_is_on_the_way(places: psycopg.Connection) -> None:
    ann, transfer = person("associate", "ann"), planned()
    step(ann, transfer, "ship", units=5)

    for location in ("L", "DC-1"):
        said = text(ann.get(f"/transfers/?location={location}"))
        assert "5 on the way" in said
    assert "5 on the way" not in text(ann.get("/transfers/?location=OTHER"))


def test_units_that_differ_are_refused_beside_the_transfer_with_the_input(
    places: psycopg.Connection,
) -> None:
    ann, transfer = person("associate", "ann"), planned()
    step(ann, transfer, "ship", units=6)

    short = step(ann, transfer, "receive", received_units=4, damaged_units=1)
    done = step(ann, transfer, "receive", received_units=4, damaged_units=1, reason="torn")

    assert short.status_code == 422
    assert "1 units differ, a reason is needed" in text(short)
    assert 'name="received_units" type="number" inputmode="numeric" min="0"' in (
        short.content.decode()
    )
    assert 'required value="4"' in short.content.decode()
    assert done.status_code == 302
    said = text(ann.get("/transfers/?view=received"))
    assert "4, 1 damaged, 1 lost (4.00 at cost): torn" in said


def test_the_second_receipt_says_who_was_first(places: psycopg.Connection) -> None:
    ann, transfer = person("associate", "ann"), planned()
    step(ann, transfer, "ship", units=6)
    step(ann, transfer, "receive", received_units=6, damaged_units=0)

    answer = step(
        person("associate", "cyd"), transfer, "receive", received_units=6, damaged_units=0
    )

    assert answer.status_code == 409
    assert "received already: 6 and 0 damaged, by ann" in text(answer)


def test_ones_own_receipt_can_be_corrected_on_the_page(places: psycopg.Connection) -> None:
    ann, transfer = person("associate", "ann"), planned()
    step(ann, transfer, "ship", units=6)
    step(ann, transfer, "receive", received_units=6, damaged_units=0)
    assert "Correct your receipt" in text(ann.get("/transfers/?view=received"))
    assert "Correct your receipt" not in text(
        person("associate", "cyd").get("/transfers/?view=received")
    )

    step(ann, transfer, "correct", received_units=7, damaged_units=0, reason="one more")

    assert "1 more than sent" in text(ann.get("/transfers/?view=received"))


def test_a_planned_transfer_is_cancelled(places: psycopg.Connection) -> None:
    ann, transfer = person("associate", "ann"), planned()

    step(ann, transfer, "cancel")

    assert places.execute("SELECT count(*) FROM retail.shipment_line").fetchone() == (0,)
    gone = step(ann, transfer, "ship", units=6)
    assert (gone.status_code, "is gone" in text(gone)) == (409, True)


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
    services.ship_transfer(source="DC-1", destination="L", sku="S", units=6)
    places.execute("UPDATE retail.item_location SET lead_time_centidays = 150")  # two days
    places.execute(
        "UPDATE retail.shipment_line SET due_on = (now() AT TIME ZONE 'UTC')::date - %s::int,"
        " shipped_at = now() - make_interval(days => %s)",
        [due_days_ago, shipped_days_ago],
    )

    said = text(person("manager").get("/transfers/?view=stuck"))

    assert ("Nothing is stuck" in said) is not is_stuck


def test_a_link_fills_the_form(places: psycopg.Connection) -> None:
    body = person("associate").get("/transfers/?location=L&sku=S&units=6").content.decode()

    assert '<details class="more" open>' in body
    assert 'name="sku" value="S"' in body


def test_transfers_are_for_the_store(places: psycopg.Connection) -> None:
    assert person("buyer").get("/transfers/").status_code == 403


def test_answering_a_need_takes_a_buyer(places: psycopg.Connection) -> None:
    asked = {"source": "DC-1", "destination": "L", "sku": "S", "units": "6", "action": "plan"}
    asked |= {"reorder_id": reorder_proposal(places), "command_id": str(uuid4())}

    assert person("associate").post("/transfers/ask", asked).status_code == 403
    assert places.execute("SELECT count(*) FROM retail.shipment_line").fetchone() == (0,)
