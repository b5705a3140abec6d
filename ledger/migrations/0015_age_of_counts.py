"""SQL refuses to change or void an approved count 48 hours after its business time.

If a device's clock is days ahead, `occurred_at` of a count is in the future, and its business time
is `recorded_at` (docs/domain.md 2.1, 2.4). If the 48 hours started at `occurred_at`, SQL would
still allow a late change. Workers reject such a change if the day of the count is before the
horizon.
"""

from django.db import migrations

FORWARD = """
CREATE OR REPLACE FUNCTION retail.refuse_old_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE oldest timestamptz := least(OLD.occurred_at, OLD.recorded_at);
DECLARE counts boolean := OLD.status = 'approved';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        oldest := least(oldest, NEW.occurred_at);
        counts := counts OR NEW.status = 'approved';
    END IF;
    IF counts AND oldest < clock_timestamp() - interval '48 hours' THEN
        RAISE EXCEPTION 'stock_count %: a count of % is older than 48 h and stays; count again',
            OLD.id, oldest
            USING ERRCODE = 'check_violation', CONSTRAINT = 'stock_count_48_hours';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0014_movements")]
    # No reverse statement is needed: the reverse of 0004 drops this function with its triggers.
    operations = [migrations.RunSQL([FORWARD], migrations.RunSQL.noop)]
