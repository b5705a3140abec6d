"""A function that returns True if a key is an item: it has a policy or a fact with an effect.

Workers keep a state for each key of the log. A count that waits for approval has no effect. But its
record gives its key a state of zeros, and so a row of the read model. A key whose last fact was
deleted or voided keeps such a state and row, too. The stock list leaves these keys out.

A page calls the function only for the few keys whose figures are all zero. Postgres estimates a low
cost for a call. With subqueries instead, it would estimate such a high cost that it compiles the
statement (JIT), which takes longer than the statement itself.
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
