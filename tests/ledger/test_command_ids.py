"""A command id belongs to one person and one content. Another person or content is an error."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from ledger import services
from ledger.kernel.errors import FormReused
from ledger.kernel.idempotency import content_hash
from ledger.services import Adjust, ApproveReorder, Delivered, Entry, Route
from tests.ledger.outcomes import waiting_request
from tests.ledger.pages import person
from tests.ledger.rows import reorder_proposal, write
from tests.ledger.stocked import stocked


@pytest.fixture
def shelf(ledger: psycopg.Connection) -> psycopg.Connection:
    """Range S and T at L without a count, and at DC-1 with stock.

    Every adjustment needs two people.
    """
    ledger.execute("INSERT INTO retail.location (code, name) VALUES ('L', 'Leeds')")
    for sku in ("S", "T"):
        write(ledger, "item_location", sku=sku, cost_minor=400)
        stocked("DC-1", sku=sku)
    ledger.execute("UPDATE app.setting SET adjustment_limit_minor = 0")
    return ledger


def draft(sku: str) -> int:
    sheet = services.open_sheet(location="L", actor="ann")
    services.add_entries(sheet_id=sheet, entries=[Entry(uuid4(), sku, 5)], actor="ann")
    return services.submit_sheet(sheet_id=sheet, actor="ann").count_ids[0]


def asked(sku: str) -> int:
    wanted = Adjust("L", sku, "theft", 1)
    return waiting_request(wanted, "ann")


def planned(sku: str) -> int:
    return services.plan_transfer(route=Route("DC-1", "L", sku, 6), actor="ann").in_id


def sent(sku: str) -> int:
    return services.ship_transfer(services.ShipTransfer(services.Route("DC-1", "L", sku, 6))).in_id


def received(sku: str) -> int:
    line = sent(sku)
    services.receive_transfer(shipment_line_id=line, delivered=Delivered(6), actor="max")
    return line


# By service: a function that creates its subject, and the call with subject and command id.
CALLS: dict[str, tuple[Callable[[str], Any], Callable[[Any, UUID], object]]] = {
    "approve_waiting_count": (
        draft,
        lambda row, command: services.approve_waiting_count(
            count_id=row, actor="max", command_id=command
        ),
    ),
    "void_count": (
        draft,
        lambda row, command: services.void_count(
            count_id=row, actor="max", reason="wet", command_id=command
        ),
    ),
    "approve_count": (
        str,
        lambda sku, command: services.approve_count(
            services.ApproveCount(location="L", sku=sku, units=5), actor="max", command_id=command
        ),
    ),
    "adjust": (
        str,
        lambda sku, command: services.adjust(
            services.Adjust(location="L", sku=sku, reason="theft", quantity_units=1),
            command_id=command,
        ),
    ),
    "request_adjustment": (
        str,
        lambda sku, command: services.request_adjustment(
            wanted=Adjust("L", sku, "theft", 1), actor="ann", command_id=command
        ),
    ),
    "approve_adjustment": (
        asked,
        lambda row, command: services.approve_adjustment(
            request_id=row, actor="max", command_id=command
        ),
    ),
    "plan_transfer": (
        str,
        lambda sku, command: services.plan_transfer(
            route=Route("DC-1", "L", sku, 6), command_id=command
        ),
    ),
    "ship_transfer": (
        str,
        lambda sku, command: services.ship_transfer(
            services.ShipTransfer(services.Route("DC-1", "L", sku, 6)), command_id=command
        ),
    ),
    "ship_planned_transfer": (
        planned,
        lambda row, command: services.ship_planned_transfer(
            shipment_line_id=row, units=6, command_id=command
        ),
    ),
    "receive_transfer": (
        sent,
        lambda row, command: services.receive_transfer(
            shipment_line_id=row, delivered=Delivered(6), command_id=command
        ),
    ),
    "correct_transfer_receipt": (
        received,
        lambda row, command: services.correct_transfer_receipt(
            shipment_line_id=row, delivered=Delivered(5, 1), actor="max", command_id=command
        ),
    ),
}


@pytest.mark.parametrize("service", CALLS)
def test_a_command_id_reused_for_another_subject_is_refused(
    shelf: psycopg.Connection, service: str
) -> None:
    make, call = CALLS[service]
    first, second, command = make("S"), make("T"), uuid4()

    done = call(first, command)

    assert call(first, command) == done
    with pytest.raises(FormReused, match="already sent with different values"):
        call(second, command)


def adjusted(shelf: psycopg.Connection) -> list[tuple[int]]:
    return shelf.execute("SELECT quantity_units FROM retail.stock_adjustment").fetchall()


def test_the_same_content_returns_the_first_result_and_other_content_is_refused(
    shelf: psycopg.Connection,
) -> None:
    command, given = uuid4(), Adjust("L", "S", "theft", 1, note="gate")
    first = services.adjust(given, actor="ann", command_id=command)

    again = services.adjust(replace(given), actor="ann", command_id=command)
    with pytest.raises(FormReused) as refused:
        services.adjust(replace(given, quantity_units=2), actor="ann", command_id=command)

    assert again == first
    assert re.fullmatch(
        r"This form was already sent with different values, at \d{4}-\d\d-\d\d \d\d:\d\d UTC\. The"
        r" new values weren't written\. Check the page\. If your values are still needed, send them"
        r" again from that page\.",
        str(refused.value),
    )
    assert adjusted(shelf) == [(1,)]


@pytest.mark.parametrize(("first", "second"), [("ann", "max"), (None, "max"), ("ann", None)])
def test_a_command_id_of_another_person_is_refused(
    shelf: psycopg.Connection, first: str | None, second: str | None
) -> None:
    command, given = uuid4(), Adjust("L", "S", "theft", 1)
    services.adjust(given, actor=first, command_id=command)

    with pytest.raises(FormReused, match=f"{first or 'the system'} has already sent this form"):
        services.adjust(given, actor=second, command_id=command)

    assert adjusted(shelf) == [(1,)]


def test_a_command_stored_without_content_hash_still_returns_its_result(
    shelf: psycopg.Connection,
) -> None:
    command = uuid4()
    shelf.execute(
        "INSERT INTO app.command (command_id, kind, actor, result)"
        " VALUES (%s, 'adjust L|S', 'ann', '{\"id\": 7}')",
        [command],
    )

    again = services.adjust(Adjust("L", "S", "theft", 2), actor="ann", command_id=command)
    with pytest.raises(FormReused):
        services.adjust(Adjust("L", "T", "theft", 2), actor="ann", command_id=command)

    assert again == 7
    assert adjusted(shelf) == []


def test_the_shown_revision_does_not_change_the_content_hash() -> None:
    assert content_hash(ApproveReorder("R", 1, 6)) == content_hash(ApproveReorder("R", 2, 6))
    assert content_hash(ApproveReorder("R", 1, 6)) != content_hash(ApproveReorder("R", 1, 7))


def test_the_content_hash_ignores_key_order_and_includes_nested_values() -> None:
    day = date(2026, 3, 2)

    assert content_hash({"a": 1, "b": day}) == content_hash({"b": day, "a": 1})
    assert content_hash([Delivered(1)]) != content_hash([Delivered(1, 1)])
    assert content_hash(None) != content_hash("")


def test_a_repeated_snooze_for_the_same_days_is_the_same_command(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "item_location")
    need = reorder_proposal(ledger)
    command = uuid4()

    def snooze(days: int) -> int:
        return services.snooze_reorder(
            reorder_id=need,
            shown_revision=1,
            until_at=timedelta(days=days),
            actor="ann",
            command_id=command,
        )

    first = snooze(90)

    assert snooze(90) == first
    with pytest.raises(FormReused):
        snooze(7)


def command_ids(path: str) -> list[str]:
    page = person("manager", "max").get(path).content.decode()
    return re.findall(r'name="command_id" value="([^"]*)"', page)


@pytest.mark.parametrize(
    "path", ["/counts/waiting/", "/counts/waiting/?show=adjustments", "/transfers/"]
)
def test_every_form_of_a_page_has_a_command_id_of_its_own(
    shelf: psycopg.Connection, path: str
) -> None:
    for sku in ("S", "T"):
        services.approve_count(services.ApproveCount(location="L", sku=sku, units=5))
        draft(sku)
        asked(sku)
        sent(sku)
        planned(sku)

    if path == "/transfers/":
        rows = "SELECT id FROM retail.shipment_line WHERE leg = 'transfer_in' ORDER BY id"
        path += f"?open={shelf.execute(rows).fetchall()[-1][0]}"

    found = command_ids(path)

    assert len(found) >= 2
    assert len(set(found)) == len(found)
    assert all(UUID(one) for one in found)
