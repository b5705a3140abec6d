"""Rules that no CHECK can express: the source of `recorded_at`, and rows that never change.

* `recorded_at` is the database's time of the row's last write. A client can't set it.
* A row keeps its id and its key. Workers fold each key separately. If a row could change its key,
  its old values would count under one key and its new values under another.
* An approved count older than 48 h can't change. So each change reaches the workers while they
  still retain the facts of the count's day.
* A price row never changes; a correction is a new row.
"""

from django.db import migrations

CAPTURED = (
    "item_location",
    "sale_line",
    "purchase_order_line",
    "shipment_line",
    "stock_count",
    "stock_adjustment",
    "price_change",
    "reorder_decision",
    "price_decision",
    "pipeline_heartbeat",
)

FUNCTIONS = """
CREATE FUNCTION retail.stamp_recorded_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.recorded_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION retail.refuse_rekeying() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% %: a posted row keeps its id and key, got id % key %',
        TG_TABLE_NAME, OLD.id, NEW.id, NEW.inv_key
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_rekeying';
END $$;

CREATE FUNCTION retail.refuse_old_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE oldest timestamptz := OLD.occurred_at;
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

CREATE FUNCTION retail.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% %: rows are only ever inserted; write a new one', TG_TABLE_NAME, OLD.id
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_insert_only';
END $$;
"""

TRIGGERS = (
    "".join(
        f"""
CREATE TRIGGER stamp_recorded_at BEFORE INSERT OR UPDATE ON retail.{table}
    FOR EACH ROW EXECUTE FUNCTION retail.stamp_recorded_at();
CREATE TRIGGER refuse_rekeying BEFORE UPDATE ON retail.{table}
    FOR EACH ROW WHEN (OLD.id <> NEW.id OR OLD.inv_key <> NEW.inv_key)
    EXECUTE FUNCTION retail.refuse_rekeying();
"""
        for table in CAPTURED
    )
    + """
CREATE TRIGGER refuse_old_count BEFORE UPDATE OR DELETE ON retail.stock_count
    FOR EACH ROW EXECUTE FUNCTION retail.refuse_old_count();
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON retail.price_change
    FOR EACH ROW EXECUTE FUNCTION retail.refuse_change();
"""
)

REVERSE = """
DROP FUNCTION retail.refuse_change() CASCADE;
DROP FUNCTION retail.refuse_old_count() CASCADE;
DROP FUNCTION retail.refuse_rekeying() CASCADE;
DROP FUNCTION retail.stamp_recorded_at() CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0003_item_location")]
    operations = [migrations.RunSQL([FUNCTIONS + TRIGGERS], [REVERSE])]
