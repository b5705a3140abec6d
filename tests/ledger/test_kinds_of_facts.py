"""Each kind of fact that SQL returns is in the catalogues of translations."""

import psycopg

from inventory.tables import stock_adjustment, stock_count
from inventory.tables.catalogue import CAPTURED
from tests.ledger.rows import NOON, write
from webui.translation.words import WORDS

SHIPPED = {"received_units": 0, "order_units": 0, "received_at": None, "shipped_units": 3}


def test_every_kind_of_a_fact_has_a_translation(till: psycopg.Connection) -> None:
    for condition in ("resaleable", "damaged", "discarded"):
        columns = {"source_ref": condition, "condition": condition, "quantity_units": -1}
        write(till, "sale_line", **columns)
    write(till, "shipment_line", leg="transfer_in")
    leg = {"leg": "transfer_out", "status": "shipped", "shipped_at": NOON}
    write(till, "shipment_line", **leg, **SHIPPED)
    for reason in stock_adjustment.REASONS:
        write(till, "stock_adjustment", reason=reason)
    for kind in stock_count.KINDS:
        write(till, "stock_count", kind=kind)
    for table in CAPTURED:
        if table.has_movements:
            write(till, table.name)

    rows = till.execute("SELECT DISTINCT kind FROM retail.stock_facts('L|S')").fetchall()

    kinds = {kind for (kind,) in rows}
    assert kinds >= {"sale", "return, damaged", "receipt", "transfer out", "opening count"}
    assert kinds - WORDS == set(), "add it to _KINDS of webui/translation/words.py"
