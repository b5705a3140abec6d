"""Quantities far beyond the suggestion need a confirmation in the table of needs."""

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger.automation import sends
from ledger.ordering.plausibility import is_far_beyond
from tests.ledger.pages import person
from tests.ledger.test_pending_sends import let_time_pass
from tests.ledger.test_reorders_table import html, need


@pytest.mark.parametrize(
    ("units", "suggested", "expected"),
    [(100, 1, False), (101, 1, True), (101, 11, False), (420, 42, False), (421, 42, True)],
)
def test_far_beyond_means_over_ten_times_the_suggestion_and_over_100_units(
    units: int, suggested: int, *, expected: bool
) -> None:
    assert is_far_beyond(units, suggested) is expected


@pytest.mark.parametrize("way", ["approve", "send", "one"])
def test_a_quantity_far_beyond_the_suggestion_needs_its_own_confirmation(
    ledger: psycopg.Connection, way: str
) -> None:
    far, client = need(ledger, 1), person("buyer")
    button = {"one": f"1@{far}"} if way == "one" else {"pick": [f"1@{far}"], "do": way}

    def send(*meant: str) -> Any:
        fields = {"command_id": str(uuid4()), f"packs-6@{far}": "71", "meant": meant, **button}
        return client.post("/reorders/approve", fields)

    for answer in (send(), send(f"420@{far}")):
        shown = html(answer)
        assert "more than ten times the suggestion of 42" in shown
        assert f'name="packs-6@{far}" value="71"' in shown
        assert f'name="meant" value="426@{far}"' in shown
        assert "Yes, order 426 units, although this is far beyond the suggestion" in shown
    units = """SELECT ordered_units FROM retail.purchase_order_line
        UNION ALL SELECT units FROM app.pending_item"""
    assert ledger.execute(units).fetchall() == []

    assert send(f"426@{far}").status_code == 302

    let_time_pass(ledger)
    assert sends.send_due() == (way == "send")
    ordered = "SELECT ordered_units FROM retail.purchase_order_line"
    assert ledger.execute(ordered).fetchall() == [(426,)]
