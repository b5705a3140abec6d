"""Indexes of the stock list that hold its figures, so that the list reads no row of the table.

A row of `read_model.stock` is 2 KB with its `state`: a page of Postgres has room for four rows, and
the 10,000 rows of a store are on 10,000 pages. `stock_list` has the same figures in 140 pages,
ordered like the list. Each rare status has its own small index in the same order (decision 0052).

Postgres reads an index without its table only where vacuum has marked the page of the table. So
vacuum runs after 2 % of the rows have changed, and not after the default of 20 %.
"""

from django.db import migrations

_FIGURES = """INCLUDE (on_hand_units, available_to_sell_units, in_transit_units,
    on_order_units, reorder_point_units, order_up_to_units, demand_rate_micro)"""
_RARE = {
    "negative": "on_hand_units < 0",
    "out": "available_to_sell_units <= 0",
    "low": "available_to_sell_units > 0 AND available_to_sell_units <= reorder_point_units",
    "over": "on_hand_units > order_up_to_units",
}

FORWARD = "\n".join(
    [
        f"CREATE INDEX stock_list ON read_model.stock (location, sku) {_FIGURES};",
        "DROP INDEX read_model.stock_location;",
        "DROP INDEX read_model.stock_negative;",
        *(
            f"CREATE INDEX stock_{status} ON read_model.stock (location, sku) {_FIGURES}"
            f" WHERE {rare};"
            for status, rare in _RARE.items()
        ),
        "ALTER TABLE read_model.stock SET (autovacuum_vacuum_scale_factor = 0.02);",
    ]
)

REVERSE = "\n".join(
    [
        "ALTER TABLE read_model.stock RESET (autovacuum_vacuum_scale_factor);",
        *(f"DROP INDEX read_model.stock_{status};" for status in reversed(_RARE)),
        "CREATE INDEX stock_negative ON read_model.stock (inv_key) WHERE on_hand_units < 0;",
        "CREATE INDEX stock_location ON read_model.stock (location, sku);",
        "DROP INDEX read_model.stock_list;",
    ]
)


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0006_incidents")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
