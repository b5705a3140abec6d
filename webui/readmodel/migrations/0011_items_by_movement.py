"""Read the view of movements in `app.is_item`, so that it knows each table that moves stock.

Before, the function named each table, so it would miss a new table. A key with rows only in the
new table would have stock, but no row in the stock list and no task *unknown item*. Migration 0010
explains the function.
"""

from importlib import import_module

from django.db import migrations

FORMER = import_module("webui.readmodel.migrations.0010_listed_items").FORWARD

# `retail.movement` has no row for a shipment before its receipt.
FORWARD = """
CREATE OR REPLACE FUNCTION app.is_item(key text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM retail.item_location f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.movement f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.shipment_line f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.approved_count f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.purchase_order_line f WHERE f.inv_key = key
            AND coalesce(f.confirmed_units, f.ordered_units) > f.cancelled_units);
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0010_listed_items")]
    operations = [
        migrations.RunSQL(
            [FORWARD], [FORMER.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")]
        )
    ]
