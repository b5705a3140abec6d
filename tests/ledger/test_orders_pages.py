"""The pages of orders: lists, tabs, filters, and an order of many lines."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from ledger import services
from ledger.services import Delivered
from tests.ledger.pages import person
from tests.ledger.rows import write
from webui.desks.orders import listing
from webui.desks.orders import queries as selectors
from webui.desks.orders.lines import order_lines
from webui.desks.orders.order import HistoryEntry
from webui.desks.orders.queries import Filters
from webui.shell.keyset import Place
from webui.shell.listing import Sort


def order(units: int = 12, actor: str | None = None, **changes: Any) -> int:
    given: dict[str, Any] = {"location": "L", "sku": "S", "supplier": "ACME", "order_ref": "X-1"}
    return services.place_order_line(
        services.PlaceOrderLine(**given | {"ordered_units": units} | changes), actor=actor
    )


def version(line_id: int) -> str:
    [line] = [line for line in order_lines("X-1") if line.id == line_id]
    return line.version


def post(client: Client, line_id: int, action: str, **fields: object) -> Any:
    given = {"line": line_id, "action": action, "command_id": uuid4(), **fields}
    given.setdefault("shown_version", version(line_id))
    return client.post("/orders/act?ref=X-1", {name: str(value) for name, value in given.items()})


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


@pytest.mark.parametrize("received", range(0, 15, 2))
@pytest.mark.parametrize(("confirmed", "cancelled"), [(None, 0), (None, 5), (8, 0), (8, 3)])
def test_order_lists_and_services_agree_on_open_units_and_late_lines(
    ledger: psycopg.Connection, confirmed: int | None, cancelled: int, received: int
) -> None:
    line_id = write(
        ledger,
        "purchase_order_line",
        ordered_units=10,
        confirmed_units=confirmed,
        cancelled_units=cancelled,
        due_on=date(2026, 1, 2),
    )
    write(
        ledger,
        "shipment_line",
        purchase_order_line_id=line_id,
        received_units=received,
        order_units=received,
    )

    [line] = order_lines("PO-1")
    [row] = selectors.orders(Filters("open"))

    assert row.open_units == line.open_units
    assert (row.overdue_lines == 1) == line.is_overdue
    late = listing.late_page(Filters("overdue"), Place(Sort("due")))
    assert bool(late.rows) == line.is_overdue
    assert selectors.count_overdue(Filters("overdue")) == int(line.is_overdue)


@pytest.mark.parametrize(("days", "late"), [(0, 0), (1, 1), (-1, 0)])
def test_a_line_is_listed_as_late_from_the_day_after_its_due_day(
    ledger: psycopg.Connection, days: int, late: int
) -> None:
    order()
    ledger.execute(
        "UPDATE retail.purchase_order_line SET due_on = (now() AT TIME ZONE 'UTC')::date - %s",
        [days],
    )

    assert len(listing.late_page(Filters("overdue"), Place(Sort("due"))).rows) == late


def test_each_order_view_shows_only_orders_of_its_status(ledger: psycopg.Connection) -> None:
    order(status="draft", order_ref="DRAFT")
    order(order_ref="SENT")
    services.cancel_order_units(line_id=order(order_ref="CLOSED"))
    client = person("buyer")

    shown = {
        view: {ref for ref in ("DRAFT", "SENT", "CLOSED") if f">{ref}<" in text(page)}
        for view in ("draft", "open", "closed", "nonsense")
        for page in [client.get(f"/orders/?view={view}")]
    }

    assert shown == {
        "draft": {"DRAFT"},
        "open": {"SENT"},
        "closed": {"CLOSED"},
        "nonsense": {"SENT"},
    }


def test_order_list_pages_show_every_order_once_and_the_total(
    ledger: psycopg.Connection,
) -> None:
    for number in range(120):
        order(order_ref=f"X-{number:03}")
    client, seen, address = person("buyer"), [], "/orders/"

    while address:
        page = text(client.get(address))
        seen += re.findall(r">(X-\d{3})<", page)
        assert "<b>120 orders</b>" in page
        found = re.search(r'href="([^"]+)" rel="next"', page)
        address = "/orders/" + found.group(1).replace("&amp;", "&") if found else ""

    assert seen == [f"X-{number:03}" for number in range(119, -1, -1)]


def test_late_order_lines_are_paged_without_repeats(ledger: psycopg.Connection) -> None:
    for number in range(60):
        order(sku=f"S{number:02}", due_on=date(2026, 1, 1 + number % 3))
    client = person("buyer")

    first = text(client.get("/orders/?view=overdue"))
    found = re.search(r'href="([^"]+)" rel="next"', first)
    assert found is not None
    second = text(client.get("/orders/" + found.group(1).replace("&amp;", "&")))

    skus = re.findall(r'class="sku">(S\d\d)<', first + second)
    assert len(skus) == len(set(skus)) == 60


def test_order_list_applies_filters_and_ignores_malformed_parameters(
    ledger: psycopg.Connection,
) -> None:
    order(order_ref="ONE", location="L")
    order(order_ref="TWO", location="M", supplier="OTHER", sku="100%")
    client = person("buyer")

    assert ">ONE<" not in text(client.get("/orders/?location=M"))
    assert ">TWO<" in text(client.get("/orders/?supplier=OTHER&q=0%25"))
    assert ">ONE<" not in text(client.get("/orders/?q=_"))
    for odd in ("before=x", "before=9" * 30, "view=overdue&after=2026-13-01~1", "after=~"):
        assert client.get(f"/orders/?{odd}").status_code == 200


@pytest.mark.parametrize(
    "filters",
    [Filters(text="S-1"), Filters(location="L"), Filters(supplier="ACME"), Filters(text="ALL")],
)
def test_a_filter_finds_an_order_in_the_view_that_all_its_lines_give(
    ledger: psycopg.Connection, filters: Filters
) -> None:
    other: dict[str, Any] = {"sku": "S-2", "location": "M", "supplier": "OTHER"}
    services.cancel_order_units(line_id=order(sku="S-1", order_ref="ALL-1"))
    order(order_ref="ALL-1", **other)
    order(sku="S-1", order_ref="ALL-2")
    order(order_ref="ALL-2", status="draft", **other)
    services.cancel_order_units(line_id=order(sku="S-1", order_ref="ALL-3"))
    services.cancel_order_units(line_id=order(order_ref="ALL-3", **other))
    order(order_ref="NONE", **other)

    shown, counted = {}, {}
    for view in ("draft", "open", "closed"):
        of_view = replace(filters, view=view)
        page = listing.order_page(of_view, Place(listing.NEWEST))
        shown[view] = {row.order_ref: row.lines for row in page.rows}
        counted[view] = (selectors.count_orders(of_view), listing.order_totals(of_view).rows)

    assert shown == {
        "draft": {"ALL-2": 2},
        "open": {"ALL-1": 2, "ALL-2": 2},
        "closed": {"ALL-3": 2},
    }
    assert counted == {"draft": (1, 1), "open": (2, 2), "closed": (1, 1)}


def test_page_of_an_unknown_order_answers_404(ledger: psycopg.Connection) -> None:
    answer = person("buyer").get("/orders/order?ref=NONE")

    assert answer.status_code == 404
    assert "No such order" in text(answer)


def test_days_late_count_from_the_due_day(ledger: psycopg.Connection) -> None:
    line_id = order(due_on=date(2026, 1, 1))
    [line] = [line for line in order_lines("X-1") if line.id == line_id]

    assert replace(line, today=date(2026, 1, 4)).days_late == 3
    assert replace(line, today=date(2025, 12, 4)).days_late == 0
    assert replace(line, due_on=None).days_late == 0


def test_order_status_summarizes_the_statuses_of_its_lines(ledger: psycopg.Connection) -> None:
    line_id = order()
    order(sku="T")
    [row] = selectors.orders(Filters("open"))
    assert row.status == "on its way"
    services.receive_shipment(purchase_order_line_id=line_id, delivered=Delivered(3))
    [row] = selectors.orders(Filters("open"))
    assert row.status == "part received"
    assert replace(row, closed_lines=2).status == "closed"
    assert replace(row, drafts=1).status == "draft"
    assert datetime.now(UTC) > row.ordered_at  # noqa: TID251 -- the database's clock has stamped it


def test_a_long_order_is_shown_a_hundred_lines_at_a_time(ledger: psycopg.Connection) -> None:
    last = [order(sku=f"S{number:03}") for number in range(120)][-1]
    client = person("buyer")

    first = text(client.get("/orders/order?ref=X-1&from=999"))
    second = text(client.get("/orders/order?ref=X-1&from=100"))
    refused = text(post(client, last, "confirm", units="many"))

    assert "Lines 1 to 100 of 120." in first
    assert "Lines 101 to 120 of 120." in second
    assert "S119" in refused
    assert len(set(re.findall(r'class="sku">(S\d{3})<', first + second))) == 120


def test_order_history_describes_actions_in_words(ledger: psycopg.Connection) -> None:
    line_id = order(order_ref="X-1", actor="ann")
    client = person("buyer")
    post(client, line_id, "re_date", due_on="2099-01-02")
    post(client, line_id, "confirm", units="1")

    page = re.sub(r"<[^>]*>", "", text(client.get("/orders/order?ref=X-1")))

    assert "ann ordered" in page
    assert "buyer moved the due day" in page
    assert "buyer recorded the confirmation" in page
    assert HistoryEntry(datetime.now(UTC), None, "sing_along", "", {}).action_text == "sing along"  # noqa: TID251 -- any time will do


def test_supplier_page_links_to_the_orders_of_its_receipts(
    ledger: psycopg.Connection,
) -> None:
    services.receive_shipment(purchase_order_line_id=order(), delivered=Delivered(12))

    page = text(person("buyer").get("/suppliers/ACME/"))

    assert 'href="/orders/order?ref=X-1"' in page
    assert 'href="/orders/?view=open&amp;supplier=ACME"' in page
