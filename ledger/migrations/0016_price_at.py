"""The price in force at a time, defined once in SQL (docs/domain.md 6.1).

The function returns a row, so Postgres inlines it: the plan is one index probe per key. A function
that returns only the amount would be called row by row. The time must be stable within a statement:
with `clock_timestamp()` Postgres doesn't inline, and no index is used.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION retail.price_at(key text, instant timestamptz) RETURNS SETOF retail.price_change
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT c.* FROM retail.price_change c
    WHERE c.inv_key = key AND c.effective_from <= instant
    ORDER BY c.effective_from DESC, c.id DESC LIMIT 1
$$;
COMMENT ON FUNCTION retail.price_at(text, timestamptz) IS
    'The row whose price a till has to ask at that instant; none before the first one.';
"""
REVERSE = "DROP FUNCTION retail.price_at(text, timestamptz);"


class Migration(migrations.Migration):
    dependencies = [("ledger", "0015_age_of_counts")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
