"""The state of a key as text with a fast compression, because it is written far more often than read.

Postgres parsed each state into `jsonb` and compressed it with pglz, which took three quarters of the
CPU time of an upsert (decision 0058). Readers of one field cast the text to `json`.

A row is compressed until it has at most 2,700 bytes, a third of a page. With the default of 2,032
bytes, many states would move to a second table. A Postgres that was built without lz4 keeps
pglz.
"""

from django.db import migrations

_LZ4 = """
DO $$ BEGIN
    ALTER TABLE read_model.stock ALTER COLUMN state SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;
"""
# A new type resets the compression of a column, so `_LZ4` comes last.
FORWARD = (
    """
ALTER TABLE read_model.stock SET (toast_tuple_target = 2700);
ALTER TABLE read_model.stock ALTER COLUMN state TYPE text USING state::text;
"""
    + _LZ4
)
REVERSE = """
ALTER TABLE read_model.stock RESET (toast_tuple_target);
ALTER TABLE read_model.stock ALTER COLUMN state TYPE jsonb USING state::jsonb;
"""


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0007_stock_list")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
