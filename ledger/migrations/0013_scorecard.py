"""Supplier scorecard: the performance of suppliers in the last 180 days, written once a day.

A row also records progress: a pair of supplier and location whose `on_day` is today is done.

A new index orders keys by `reviewed_at`, for the reviews of the heartbeat service. Without the
index, the service would read every key once a second, even if no review is due.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.scorecard (
    supplier text NOT NULL,
    location text NOT NULL,
    on_day date NOT NULL,
    receipts bigint NOT NULL,
    mean_centidays bigint,
    sd_centidays bigint,
    p50_centidays bigint,
    p90_centidays bigint,
    settled_lines bigint NOT NULL,
    fill_permille bigint,
    due_receipts bigint NOT NULL,
    on_time_permille bigint,
    discrepancy_permille bigint,
    items_written bigint NOT NULL DEFAULT 0,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (supplier, location)
);
CREATE INDEX scorecard_location ON app.scorecard (location, supplier);
CREATE INDEX item_location_supplier ON retail.item_location (supplier, location, inv_key)
    WHERE supplier IS NOT NULL;
CREATE INDEX purchase_order_line_supplier
    ON retail.purchase_order_line (supplier, location, ordered_at);
DROP INDEX retail.item_location_review;
CREATE INDEX item_location_review
    ON retail.item_location ((coalesce(reviewed_at, '-infinity'::timestamptz)), id)
    WHERE clock_mode = 'live';
GRANT SELECT, INSERT, UPDATE, DELETE ON app.scorecard TO app_rw;
GRANT SELECT ON app.scorecard TO app_ro;
"""

REVERSE = """
DROP INDEX retail.item_location_review;
CREATE INDEX item_location_review ON retail.item_location (reviewed_at NULLS FIRST, id)
    WHERE clock_mode = 'live' AND status = 'active';
DROP INDEX retail.purchase_order_line_supplier;
DROP INDEX retail.item_location_supplier;
DROP TABLE app.scorecard;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0012_tasks")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
