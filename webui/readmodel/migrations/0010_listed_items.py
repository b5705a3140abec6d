"""A function that tells an item from a key that only has a record without effect.

Workers keep a state for each key of the log. The record of a count that waits for approval has no
effect, but it gives its key a state of zeros, and the read model a row. The same is left after the
last fact of a key was deleted or voided. The stock list leaves such keys out.

A page asks for few keys, those whose figures are all zero. Postgres assumes a low cost for a call
of the function. Subqueries in its place would make the statement look so expensive that Postgres
compiles it, which takes longer than the statement.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION app.is_item(key text) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM retail.item_location f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.sale_line f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.shipment_line f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.stock_adjustment f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.approved_count f WHERE f.inv_key = key)
        OR EXISTS (SELECT FROM retail.purchase_order_line f WHERE f.inv_key = key
            AND coalesce(f.confirmed_units, f.ordered_units) > f.cancelled_units);
END $$;
"""

REVERSE = """
DROP FUNCTION app.is_item(text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("readmodel", "0009_policies_of_needs"),
        ("ledger", "0014_movements"),
    ]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
