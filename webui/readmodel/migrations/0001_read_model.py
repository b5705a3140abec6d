"""Tables that the projector fills from the changelogs, and the table of its next offsets."""

from django.db import migrations

FORWARD = """
CREATE TABLE read_model.stock (
    inv_key text PRIMARY KEY,
    location text NOT NULL,
    sku text NOT NULL,
    on_hand_units bigint NOT NULL,
    unavailable_units bigint NOT NULL,
    on_order_units bigint NOT NULL,
    in_transit_units bigint NOT NULL,
    allocated_units bigint NOT NULL,
    available_to_sell_units bigint NOT NULL,
    stock_known boolean NOT NULL,
    base_position_units bigint NOT NULL,
    requested_units bigint NOT NULL,
    reorder_point_units bigint,
    order_up_to_units bigint,
    demand_rate_micro bigint,
    price_minor bigint,
    price_step int NOT NULL,
    episode_state text NOT NULL,
    reorder_id text,
    price_proposal_id text,
    policy_active boolean NOT NULL,
    stream_time_us bigint,
    generation int NOT NULL,
    partition int NOT NULL,
    "offset" bigint NOT NULL,
    logic_revision int NOT NULL,
    as_of_us bigint NOT NULL,
    state jsonb NOT NULL
);
CREATE INDEX stock_location ON read_model.stock (location, sku);
CREATE INDEX stock_sku ON read_model.stock (sku text_pattern_ops);
CREATE INDEX stock_negative ON read_model.stock (inv_key) WHERE on_hand_units < 0;

CREATE TABLE read_model.sales_window (
    inv_key text NOT NULL,
    start_us bigint NOT NULL,
    sold_units bigint NOT NULL,
    returned_units bigint NOT NULL,
    sale_lines bigint NOT NULL,
    return_lines bigint NOT NULL,
    revenue_minor bigint NOT NULL,
    late_lines bigint NOT NULL,
    window_revision bigint NOT NULL,
    partition int NOT NULL,
    "offset" bigint NOT NULL,
    PRIMARY KEY (inv_key, start_us)
);

CREATE TABLE read_model.late_sale (
    id text PRIMARY KEY,
    inv_key text NOT NULL,
    units bigint NOT NULL,
    amount_minor bigint NOT NULL,
    reason text NOT NULL,
    generation int NOT NULL,
    partition int NOT NULL,
    "offset" bigint NOT NULL,
    commit_us bigint
);
CREATE INDEX late_sale_key ON read_model.late_sale (inv_key);

CREATE TABLE read_model.rejected (
    id text PRIMARY KEY,
    generation int NOT NULL,
    partition int NOT NULL,
    "offset" bigint NOT NULL,
    key bytea,
    value bytea,
    reason text NOT NULL,
    stage text NOT NULL,
    detail text NOT NULL,
    logic_revision int NOT NULL,
    commit_us bigint,
    seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX rejected_reason ON read_model.rejected (reason, seen_at);

CREATE TABLE read_model.sink_position (
    sink text NOT NULL,
    topic text NOT NULL,
    partition int NOT NULL,
    next_offset bigint NOT NULL,
    as_of_us bigint,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sink, topic, partition)
);

CREATE TABLE read_model.heartbeat (
    partition int PRIMARY KEY,
    beat bigint NOT NULL,
    commit_us bigint,
    applied_at timestamptz NOT NULL
);

CREATE TABLE read_model.service_heartbeat (
    service text PRIMARY KEY,
    pid int NOT NULL,
    at timestamptz NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
);

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA read_model TO app_rw;
GRANT SELECT ON ALL TABLES IN SCHEMA read_model TO app_ro;
"""

REVERSE = "".join(
    f"DROP TABLE read_model.{name};\n"
    for name in (
        "service_heartbeat",
        "heartbeat",
        "sink_position",
        "rejected",
        "late_sale",
        "sales_window",
        "stock",
    )
)


class Migration(migrations.Migration):
    initial = True
    dependencies = [("ledger", "0001_schemas_and_roles")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
