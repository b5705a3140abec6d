"""Purchase orders: terms of suppliers, the cost of a line, and the order that groups lines.

The new columns of captured tables change no result. Workers ignore columns that they don't know,
and the terms of suppliers go into the `reference` topics.
"""

from django.db import migrations

FORWARD = """
ALTER TABLE retail.supplier
    ADD COLUMN email text NOT NULL DEFAULT '',
    ADD COLUMN address text NOT NULL DEFAULT '',
    ADD COLUMN minimum_order_minor bigint NOT NULL DEFAULT 0
        CHECK (minimum_order_minor BETWEEN 0 AND 100000000000),
    ADD COLUMN order_days_mask bigint NOT NULL DEFAULT 127
        CHECK (order_days_mask BETWEEN 1 AND 127),
    ADD COLUMN lead_time_centidays bigint NOT NULL DEFAULT 0
        CHECK (lead_time_centidays BETWEEN 0 AND 100000);
ALTER TABLE retail.location ADD COLUMN address text NOT NULL DEFAULT '';

-- What the supplier was told: cost and pack of the item on the day of the order.
ALTER TABLE retail.purchase_order_line
    ADD COLUMN cost_minor bigint CHECK (cost_minor BETWEEN 0 AND 1000000000),
    ADD COLUMN pack_units bigint CHECK (pack_units BETWEEN 1 AND 1000000);
CREATE INDEX purchase_order_line_order ON retail.purchase_order_line (order_ref, id);
CREATE INDEX purchase_order_line_open ON retail.purchase_order_line (status, due_on, id)
    WHERE status <> 'closed';

CREATE TABLE app.purchase_order (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_ref text GENERATED ALWAYS AS
        ('PO-' || CASE WHEN number < 1000000 THEN lpad(number::text, 6, '0')
                       ELSE number::text END) STORED
        CONSTRAINT purchase_order_ref_unique UNIQUE,
    supplier text NOT NULL,
    location text NOT NULL,
    is_automatic boolean NOT NULL DEFAULT false,
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    opened_by text,
    sent_at timestamptz,
    sent_by text
);
-- One order per supplier and location collects what people approve, until somebody sends it.
CREATE UNIQUE INDEX purchase_order_one_draft ON app.purchase_order (supplier, location)
    WHERE sent_at IS NULL;
CREATE INDEX action_log_order ON app.action_log ((detail ->> 'order'), id)
    WHERE detail ->> 'order' IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON app.purchase_order TO app_rw;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA app TO app_rw;
GRANT SELECT ON app.purchase_order TO app_ro;
"""

REVERSE = """
DROP INDEX app.action_log_order;
DROP TABLE app.purchase_order;
DROP INDEX retail.purchase_order_line_open;
DROP INDEX retail.purchase_order_line_order;
ALTER TABLE retail.purchase_order_line DROP COLUMN pack_units, DROP COLUMN cost_minor;
ALTER TABLE retail.location DROP COLUMN address;
ALTER TABLE retail.supplier
    DROP COLUMN lead_time_centidays, DROP COLUMN order_days_mask,
    DROP COLUMN minimum_order_minor, DROP COLUMN address, DROP COLUMN email;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0008_unmanaged_models_of_people")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
