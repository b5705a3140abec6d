"""Working data of counts, transfers and adjustments: who counted and approved, and requests.

The new columns of captured tables name people and expected units; no rule reads them. Unfinished
work is in schema `app`. The entries of a sheet become draft counts when the sheet is submitted. A
request becomes an adjustment when another person has approved it.
"""

from importlib import import_module

from django.db import migrations

UNPRINTABLE = import_module("ledger.migrations.0002_facts").UNPRINTABLE

COLUMNS = """
ALTER TABLE retail.stock_count
    ADD COLUMN counted_by text,
    ADD COLUMN approved_by text,
    ADD COLUMN expected_units bigint,
    ADD COLUMN recount_of bigint,
    ADD COLUMN recount_asked boolean NOT NULL DEFAULT false,
    ADD COLUMN sheet_id bigint,
    ADD CONSTRAINT stock_count_four_eyes CHECK (approved_by <> counted_by);
CREATE INDEX stock_count_waiting ON retail.stock_count (location, inv_key) WHERE status = 'draft';
ALTER TABLE retail.shipment_line ADD COLUMN due_on date;
CREATE INDEX shipment_line_moving ON retail.shipment_line (location, id)
    WHERE leg = 'transfer_in' AND status <> 'received';
ALTER TABLE app.setting ADD COLUMN adjustment_limit_minor bigint NOT NULL DEFAULT 10000
    CHECK (adjustment_limit_minor BETWEEN 0 AND 100000000000);
"""

# Unprintable characters that the list of 0002 lacks: rare format characters, code points that will
# never be characters, and empty planes. The workers reject a row with such a character, so it must
# not reach the log. The services check characters that a later Unicode may assign.
NEVER_PRINTED = (
    r"[\u06dd\u070f\u0890-\u0891\u08e2\ufdd0-\ufdef\ufffe-\uffff\U000110bd\U000110cd"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe-\U0001ffff"
    r"\U0002fffe-\U0002ffff\U0003fffe-\U0003ffff\U00040000-\U000e00ff\U000e01f0-\U0010ffff]"
)
KEYED = tuple(
    table
    for table in import_module("ledger.migrations.0004_triggers").CAPTURED
    if table != "pipeline_heartbeat"  # its SKUs are partition numbers
)
PRINTABLE = "".join(
    f"ALTER TABLE retail.{table} ADD CONSTRAINT {table}_sku_printable"
    f" CHECK (sku !~ '{NEVER_PRINTED}');\n"
    for table in KEYED
)
NOT_PRINTABLE = "".join(
    f"ALTER TABLE retail.{table} DROP CONSTRAINT {table}_sku_printable;\n" for table in KEYED
)

ITEM = f"""
    location text NOT NULL CHECK (location ~ '^[A-Z0-9-]{{1,24}}$'),
    sku text NOT NULL CHECK (char_length(sku) BETWEEN 1 AND 32 AND sku !~ '^ | $'
                             AND sku !~ '{UNPRINTABLE}' AND sku !~ '{NEVER_PRINTED}'),
"""

TABLES = f"""
CREATE TABLE app.count_sheet (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    location text NOT NULL CHECK (location ~ '^[A-Z0-9-]{{1,24}}$'),
    opened_by text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    submitted_at timestamptz
);
CREATE INDEX count_sheet_open ON app.count_sheet (opened_by, id) WHERE submitted_at IS NULL;

CREATE TABLE app.count_entry (
    entry_id uuid PRIMARY KEY,
    sheet_id bigint NOT NULL REFERENCES app.count_sheet ON DELETE CASCADE,
    sku text NOT NULL,
    units bigint NOT NULL CHECK (units BETWEEN 0 AND 1000000),
    counted_at timestamptz NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    is_undone boolean NOT NULL DEFAULT false,
    count_id bigint
);
CREATE INDEX count_entry_sheet ON app.count_entry (sheet_id, number);

CREATE TABLE app.adjustment_request (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    {ITEM}
    reason text NOT NULL,
    quantity_units bigint NOT NULL CHECK (quantity_units BETWEEN 1 AND 1000000),
    occurred_at timestamptz NOT NULL CHECK (occurred_at >= '2000-01-01 00:00:00+00'),
    value_minor bigint,
    note text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'approved', 'refused')),
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    decided_by text,
    decided_at timestamptz,
    decision_reason text,
    adjustment_id bigint,
    CONSTRAINT adjustment_request_four_eyes CHECK (decided_by <> requested_by OR status = 'refused'),
    CONSTRAINT adjustment_request_decided CHECK ((status = 'waiting') = (decided_by IS NULL)),
    CONSTRAINT adjustment_request_posted CHECK ((status = 'approved') = (adjustment_id IS NOT NULL))
);
CREATE INDEX adjustment_request_waiting ON app.adjustment_request (location, id)
    WHERE status = 'waiting';

GRANT SELECT, INSERT, UPDATE ON app.count_sheet, app.count_entry, app.adjustment_request TO app_rw;
GRANT SELECT ON app.count_sheet, app.count_entry, app.adjustment_request TO app_ro;
"""

# `expected_at` returns the expected units of a count (docs/domain.md 2.4): the last approved count
# before it, plus the movements from then up to the count's second. Of two counts in one
# second, the one with the lower id is earlier. A later migration creates the views that the
# function reads; plpgsql looks them up when the function is called.
FUNCTIONS = """
CREATE FUNCTION app.expected_at(
    item text, at_second timestamptz, count_id bigint,
    OUT expected_units bigint, OUT stock_known boolean
) LANGUAGE plpgsql STABLE AS $$
DECLARE base_at timestamptz := '-infinity';
BEGIN
    SELECT c.units, c.business_at INTO expected_units, base_at
    FROM retail.approved_count c
    WHERE c.inv_key = item AND (c.business_at, c.row_id) < (at_second, count_id)
    ORDER BY c.business_at DESC, c.row_id DESC LIMIT 1;
    stock_known := FOUND;
    expected_units := coalesce(expected_units, 0) + (
        SELECT coalesce(sum(m.on_hand_units), 0) FROM retail.movement m
        WHERE m.inv_key = item AND m.business_at <= at_second
          AND m.business_at > coalesce(base_at, '-infinity')
    );
END $$;

CREATE FUNCTION app.count_tolerance(expected_units bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN greatest(2, ceil(expected_units / 10.0))::bigint;
"""

REVERSE = """
DROP FUNCTION app.count_tolerance(bigint);
DROP FUNCTION app.expected_at(text, timestamptz, bigint);
DROP TABLE app.adjustment_request;
DROP TABLE app.count_entry;
DROP TABLE app.count_sheet;
ALTER TABLE app.setting DROP COLUMN adjustment_limit_minor;
DROP INDEX retail.shipment_line_moving;
ALTER TABLE retail.shipment_line DROP COLUMN due_on;
DROP INDEX retail.stock_count_waiting;
ALTER TABLE retail.stock_count
    DROP CONSTRAINT stock_count_four_eyes,
    DROP COLUMN counted_by,
    DROP COLUMN approved_by,
    DROP COLUMN expected_units,
    DROP COLUMN recount_of,
    DROP COLUMN recount_asked,
    DROP COLUMN sheet_id;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0009_purchase_orders")]
    operations = [
        migrations.RunSQL([COLUMNS + PRINTABLE + TABLES + FUNCTIONS], [REVERSE + NOT_PRINTABLE])
    ]
