"""The price in force at an instant, once (docs/domain.md 6.1).

It answers with the row and not with an amount, because Postgres puts the body of such a function
into the query that calls it: the plan is that of the query written out, an index probe a key. One
that gives an amount would be called as a function, row by row. The instant must be stable within a
statement: with `clock_timestamp()` nothing is put in place, and no index finds it.
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
