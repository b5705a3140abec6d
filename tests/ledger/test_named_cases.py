"""Cases of docs/domain.md 10 that need a real Postgres. The others are in tests/regressions."""

from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.errors import UniqueViolation

from ledger import services
from ledger.services import Conflict
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import reorder_proposal, write


def test_odoo_pr_47909_odoo_pr_65040_a_key_has_one_policy(till: psycopg.Connection) -> None:
    write(till, "item_location", replenish_family="sS", order_up_to_units=9)

    with pytest.raises(UniqueViolation, match="inv_key"):
        write(till, "item_location", replenish_family="RS", order_up_to_units=9)


def test_erpnext_35063_needs_of_one_supplier_and_location_share_an_order(
    ledger: psycopg.Connection,
) -> None:
    needs = []
    for location, sku, supplier in (("L", "A", "ACME"), ("L", "B", "ACME"), ("M", "A", "ACME"),
                                    ("L", "C", "BOLT")):  # fmt: skip
        services.range_item(location=location, sku=sku, policy={"supplier": supplier})
        names = {"location": location, "sku": sku, "inv_key": f"{location}|{sku}"}
        need_id = f"R:{location}|{sku}:1-2"
        needs.append(reorder_proposal(ledger, reorder_id=need_id, supplier=supplier, **names))

    orders = [
        services.approve_reorder(services.ApproveReorder(reorder_id=n, shown_revision=1)).order_ref
        for n in needs
    ]

    assert orders[0] == orders[1]
    assert len(set(orders)) == 3


def test_inventree_pr_12718_odoo_pr_32857_second_approval_gets_a_conflict(
    ledger: psycopg.Connection,
) -> None:
    """Two buyers saw revision 1 and want different quantities. One is refused."""
    services.range_item(location="L", sku="S", policy={"supplier": "ACME", "pack_units": 6})
    need = reorder_proposal(ledger)

    def take(units: int) -> Any:
        return services.approve_reorder(
            services.ApproveReorder(reorder_id=need, shown_revision=1, units=units),
            actor=str(units),
            command_id=uuid4(),
        )

    outcomes = at_the_same_time(lambda: take(36), lambda: take(48))

    lost = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    won = [outcome.units for outcome in outcomes if not isinstance(outcome, Exception)]
    assert (len(lost), len(won)) == (1, 1)
    rows = ledger.execute("SELECT ordered_units FROM retail.purchase_order_line").fetchall()
    assert rows == [(won[0],)]
