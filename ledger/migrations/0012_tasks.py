"""Tables of the desk Tasks: tasks that their conditions open and clear, and inputs of conditions.

* `task`: one open row per kind and subject. `opened_at` is null while the condition is true, but
  has not lasted long enough yet.
* `rejected_mark`: the decision of a person about a record of `stock.rejected`.
* `location_hour`: number of sale lines by location and business hour of the last nine days. With
  these numbers, a query can distinguish a silent source from a closed shop, and reads no sales.
* `inbox_mark`: the id of the last sale line in `location_hour`.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.task (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    subject text NOT NULL,
    inv_key text,
    location text,
    sku text,
    role text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}',
    noticed_at timestamptz NOT NULL,
    opened_at timestamptz,
    cleared_at timestamptz,
    cleared_why text,
    acknowledged_by text,
    acknowledged_at timestamptz,
    CONSTRAINT task_cleared CHECK ((cleared_at IS NULL) = (cleared_why IS NULL)),
    CONSTRAINT task_cleared_after_opening CHECK (cleared_at IS NULL OR opened_at IS NOT NULL),
    CONSTRAINT task_acknowledged CHECK ((acknowledged_by IS NULL) = (acknowledged_at IS NULL))
);
CREATE UNIQUE INDEX task_open ON app.task (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX task_desk ON app.task (role, kind, location, id) WHERE cleared_at IS NULL;
CREATE INDEX task_answered ON app.task (kind, subject) WHERE cleared_why = 'acknowledged';
CREATE INDEX task_past ON app.task (cleared_at) WHERE cleared_at IS NOT NULL;
CREATE INDEX task_key ON app.task (inv_key) WHERE cleared_at IS NULL;

CREATE TABLE app.rejected_mark (
    record_id text PRIMARY KEY,
    action text NOT NULL CHECK (action IN ('dismissed', 'replayed')),
    reason text NOT NULL CHECK (reason <> ''),
    actor text,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE app.location_hour (
    location text NOT NULL,
    hour timestamptz NOT NULL,
    lines bigint NOT NULL,
    PRIMARY KEY (location, hour)
);
CREATE TABLE app.inbox_mark (
    name text PRIMARY KEY,
    value bigint NOT NULL
);

-- Nearly empty: only what a clock that runs ahead has written.
CREATE INDEX sale_line_ahead ON retail.sale_line (recorded_at)
    WHERE occurred_at - recorded_at > interval '300 s';
CREATE INDEX stock_count_ahead ON retail.stock_count (recorded_at)
    WHERE occurred_at - recorded_at > interval '300 s';
CREATE INDEX stock_adjustment_ahead ON retail.stock_adjustment (recorded_at)
    WHERE occurred_at - recorded_at > interval '300 s';
CREATE INDEX shipment_line_ahead ON retail.shipment_line (recorded_at)
    WHERE greatest(shipped_at, received_at) - recorded_at > interval '300 s';
CREATE INDEX stock_count_recorded ON retail.stock_count (recorded_at);

-- Keys of rejected records may be any bytes.
CREATE FUNCTION app.key_text(content bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN left(convert_from(content, 'UTF8'), 200);
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN left(encode(content, 'escape'), 200);
END $$;

-- The last count of a level: its newest retained one, else the one that its horizon has folded.
CREATE FUNCTION app.last_count(stock jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(stock -> 'counts' -> -1, nullif(stock -> 'opening_count', 'null'::jsonb));

GRANT SELECT, INSERT, UPDATE, DELETE ON app.task, app.location_hour, app.inbox_mark TO app_rw;
GRANT SELECT, INSERT ON app.rejected_mark TO app_rw;
GRANT SELECT ON app.task, app.rejected_mark TO app_ro;
"""

REVERSE = """
DROP FUNCTION app.last_count(jsonb);
DROP FUNCTION app.key_text(bytea);
DROP INDEX retail.stock_count_recorded;
DROP INDEX retail.shipment_line_ahead;
DROP INDEX retail.stock_adjustment_ahead;
DROP INDEX retail.stock_count_ahead;
DROP INDEX retail.sale_line_ahead;
DROP TABLE app.inbox_mark;
DROP TABLE app.location_hour;
DROP TABLE app.rejected_mark;
DROP TABLE app.task;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0010_counts_and_transfers")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
