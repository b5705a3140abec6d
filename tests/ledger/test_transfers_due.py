"""A new due day for a shipped transfer: rights, earliest day, and effects."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.services import Conflict, Delivered, Route, ServiceError, Transfer
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.folded import images, state_after_updates
from tests.ledger.inbox import emptied, look, open_tasks
from tests.ledger.pages import person
from tests.ledger.stocked import stocked

WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
LEFT_DAYS_AGO = 9


@pytest.fixture(autouse=True)
def ends(ledger: psycopg.Connection) -> psycopg.Connection:
    ledger.execute("INSERT INTO retail.location (code, name) VALUES ('L', 'Leeds'), ('D', 'Depot')")
    stocked("D", "L")
    return ledger


def now(ledger: psycopg.Connection) -> datetime:
    found = ledger.execute("SELECT clock_timestamp() AT TIME ZONE 'UTC'").fetchone()
    assert found is not None
    return cast(datetime, found[0])


def stuck(ledger: psycopg.Connection) -> Transfer:
    """Return a transfer of six units that left nine days ago and was due on the same day."""
    left_at = now(ledger) - timedelta(days=LEFT_DAYS_AGO)
    return services.ship_transfer(
        services.ShipTransfer(
            services.Route("D", "L", "S", 6), shipped_at=left_at.replace(tzinfo=UTC)
        ),
        actor="ann",
    )


def days(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT leg, due_on, recorded_by FROM retail.shipment_line ORDER BY id"
    ).fetchall()


@pytest.mark.parametrize("row", ["out_id", "in_id"])
def test_a_new_due_day_is_written_to_both_legs_and_logged(
    ledger: psycopg.Connection, row: str
) -> None:
    transfer, due_on = stuck(ledger), date(2099, 3, 5)

    services.move_transfer_due_date(
        shipment_line_id=getattr(transfer, row), due_on=due_on, actor="max"
    )

    # The row at the source keeps its author, whom the item page shows beside the movement.
    assert days(ledger) == [("transfer_out", due_on, "ann"), ("transfer_in", due_on, "max")]
    logged = ledger.execute(
        "SELECT actor, subject, detail FROM app.action_log WHERE action = 're_date_transfer'"
    ).fetchall()
    detail = {"transfer": transfer.transfer_ref, "to": "L", "due_on": [None, "2099-03-05"]}
    assert logged == [("max", "D|S", detail)]
    with pytest.raises(Conflict, match="shipped already: 6 units, recorded by ann"):
        services.cancel_transfer(shipment_line_id=transfer.in_id, actor="max")


@pytest.mark.parametrize("key", ["D|S", "L|S"])
def test_a_new_due_day_changes_no_quantity(ledger: psycopg.Connection, key: str) -> None:
    transfer = stuck(ledger)
    before = images(ledger, key)
    stood = state_after_updates(ledger, key, before)

    services.move_transfer_due_date(shipment_line_id=transfer.in_id, due_on=date(2099, 3, 5))

    stands = state_after_updates(ledger, key, before)
    assert stands.position != stood.position
    assert stands.stock == stood.stock
    assert (
        stands.stock.on_order_units == stands.stock.in_transit_units == (6 if key[0] == "L" else 0)
    )
    assert stands.episode == stood.episode


def test_a_transfer_is_not_due_before_the_day_on_which_it_left(ledger: psycopg.Connection) -> None:
    transfer = stuck(ledger)
    found = ledger.execute(
        "SELECT (shipped_at AT TIME ZONE 'UTC')::date FROM retail.shipment_line"
    ).fetchone()
    assert found is not None
    left_on = found[0]

    with pytest.raises(ServiceError, match=f"not before {left_on}, the day on which"):
        services.move_transfer_due_date(
            shipment_line_id=transfer.in_id, due_on=left_on - timedelta(days=1)
        )
    services.move_transfer_due_date(shipment_line_id=transfer.in_id, due_on=left_on)

    assert [row[1] for row in days(ledger)] == [left_on, left_on]


def test_the_due_day_of_a_planned_transfer_cannot_be_moved(ledger: psycopg.Connection) -> None:
    planned = services.plan_transfer(route=Route("D", "L", "S", 6, date(2099, 1, 1)), actor="bea")

    said = rf"is not on its way: last written by bea at {WHEN}, now planned, due 2099-01-01"
    with pytest.raises(Conflict, match=said):
        services.move_transfer_due_date(
            shipment_line_id=planned.in_id, due_on=date(2099, 3, 5), actor="max"
        )

    assert {row[2] for row in days(ledger)} == {"bea"}


def test_moving_the_due_day_of_a_received_transfer_names_the_receiver(
    ledger: psycopg.Connection,
) -> None:
    transfer = stuck(ledger)
    services.receive_transfer(shipment_line_id=transfer.in_id, delivered=Delivered(6), actor="cyd")

    said = rf"is not on its way: last written by cyd at {WHEN}, now received"
    with pytest.raises(Conflict, match=said):
        services.move_transfer_due_date(shipment_line_id=transfer.in_id, due_on=date(2099, 3, 5))


def test_a_double_click_moves_the_due_day_once(ledger: psycopg.Connection) -> None:
    transfer, command = stuck(ledger), uuid4()

    for _ in range(2):
        services.move_transfer_due_date(
            shipment_line_id=transfer.in_id, due_on=date(2099, 3, 5), command_id=command
        )

    logged = ledger.execute("SELECT count(*) FROM app.action_log WHERE action = 're_date_transfer'")
    assert logged.fetchone() == (1,)


def test_when_two_people_move_the_due_day_the_second_gets_a_conflict(
    ledger: psycopg.Connection,
) -> None:
    transfer = stuck(ledger)
    found = ledger.execute(
        "SELECT recorded_at FROM retail.shipment_line WHERE id = %s", [transfer.in_id]
    ).fetchone()
    assert found is not None
    shown = found[0].astimezone(UTC).isoformat()
    wanted = {"max": date(2099, 3, 5), "mia": date(2099, 3, 6)}

    outcomes = at_the_same_time(
        *(
            lambda actor=actor, due_on=due_on: services.move_transfer_due_date(
                shipment_line_id=transfer.in_id, due_on=due_on, shown_version=shown, actor=actor
            )
            for actor, due_on in wanted.items()
        )
    )

    [loser] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    _leaving, (_, due_on, winner) = days(ledger)
    assert due_on == wanted[winner]
    last = rf"last written by {winner} at {WHEN}, now shipped, due {due_on}"
    said = f"has changed since it was shown: {last}"
    assert re.search(said, loser.what_changed)


@pytest.mark.domain("8 stuck transfer")
def test_a_new_due_day_clears_the_flag_and_task_of_a_stuck_transfer(
    ledger: psycopg.Connection,
) -> None:
    transfer = stuck(ledger)
    emptied(ledger)
    at = now(ledger).replace(tzinfo=UTC)
    look("stuck_transfer", at)
    assert {task["subject"] for task in open_tasks(ledger)} == {"D|S", "L|S"}
    manager = person("manager", "max")
    page = manager.get(f"/transfers/?view=stuck&open={transfer.in_id}").content.decode()
    [shown] = re.findall(r'name="shown_version" value="([^"]+)"', page)
    form = {"transfer": transfer.in_id, "action": "re_date", "due_on": f"{at:%Y-%m-%d}"}
    form |= {"shown_version": shown, "command_id": str(uuid4())}

    answer = manager.post("/transfers/step?view=stuck", form)

    assert (answer.status_code, answer["Location"]) == (302, "/transfers/?view=stuck")
    page = manager.get("/transfers/?view=stuck").content.decode()
    assert f"Due on {at:%Y-%m-%d}." in page
    assert "Nothing is stuck" in page
    look("stuck_transfer", at)
    assert open_tasks(ledger) == []


@pytest.mark.parametrize("typed", ["", "soon", "1999-01-01"])
def test_an_invalid_due_day_is_refused_and_the_receipt_input_stays(
    ledger: psycopg.Connection, typed: str
) -> None:
    transfer = stuck(ledger)
    form = {"transfer": transfer.in_id, "action": "re_date", "due_on": typed}
    client = person("associate")
    page = client.get(f"/transfers/?open={transfer.in_id}").content.decode()
    [shown] = re.findall(r'name="shown_version" value="([^"]+)"', page)

    answer = client.post(
        "/transfers/step", form | {"shown_version": shown, "command_id": str(uuid4())}
    )

    page = answer.content.decode()
    assert answer.status_code == 422
    assert re.search(rf'name="due_on" type="date" required value="{typed}"', page)
    assert re.search(r'name="received_units" [^>]*value="6"', page)
    assert days(ledger)[0][1] is None


@pytest.mark.parametrize("role", ["buyer", "lead"])
def test_buyers_cannot_move_the_due_day_of_a_transfer(
    ledger: psycopg.Connection, role: str
) -> None:
    transfer, client = stuck(ledger), person(role)
    form = {"transfer": transfer.in_id, "action": "re_date", "due_on": "2099-03-05"}

    answer = client.post("/transfers/step", form | {"command_id": str(uuid4())})

    assert answer.status_code == 403
    page = client.get(f"/transfers/?open={transfer.in_id}").content.decode()
    assert transfer.transfer_ref in page
    assert "Move the due day" not in page
