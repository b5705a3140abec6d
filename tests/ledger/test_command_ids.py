"""A command id belongs to one form and one subject. Its reuse for another one is an error."""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from ledger import services
from ledger.services import Adjust, Delivered, Entry, Route, ServiceError
from tests.ledger.outcomes import waiting_request
from tests.ledger.pages import person
from tests.ledger.rows import write
from tests.ledger.stocked import stocked


@pytest.fixture
def shelf(ledger: psycopg.Connection) -> psycopg.Connection:
    """S and T at L, never counted, and at DC-1 with stock; every adjustment needs two people."""
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


# By service: what makes its subject, and the call with that subject and a command id.
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
def test_a_command_id_that_meets_another_subject_is_refused_aloud(
    shelf: psycopg.Connection, service: str
) -> None:
    make, call = CALLS[service]
    first, second, command = make("S"), make("T"), uuid4()

    done = call(first, command)

    assert call(first, command) == done
    with pytest.raises(ServiceError, match="belongs to another command"):
        call(second, command)


def command_ids(path: str) -> list[str]:
    page = person("manager", "max").get(path).content.decode()
    return re.findall(r'name="command_id" value="([^"]*)"', page)


@pytest.mark.parametrize("path", ["/counts/waiting/", "/counts/history/", "/transfers/"])
def test_every_form_of_a_page_has_a_command_id_of_its_own(
    shelf: psycopg.Connection, path: str
) -> None:
    for sku in ("S", "T"):
        services.approve_count(services.ApproveCount(location="L", sku=sku, units=5))
        draft(sku)
        asked(sku)
        sent(sku)
        planned(sku)

    found = command_ids(path)

    assert len(found) >= 2
    assert len(set(found)) == len(found)
    assert all(UUID(one) for one in found)
