"""Proposals, the decisions on them, settings, commands and the audit log (`action_log`).

Change capture doesn't publish these tables. In a proposal, the decision of a person or job writes
the columns `decided_*`. The actuator writes all other columns.
"""

from django.db import migrations

DECIDED = """
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    decided_action text CHECK (decided_action IN ('approve', 'reject', 'snooze', 'resume')),
    decided_by text,
    decided_at timestamptz
"""

FORWARD = f"""
CREATE TABLE app.reorder_proposal (
    reorder_id text PRIMARY KEY,
    inv_key text NOT NULL,
    location text NOT NULL,
    sku text NOT NULL,
    supplier text,
    revision int NOT NULL,
    status text NOT NULL CHECK (status IN
        ('open', 'snoozed', 'accepted', 'rejected', 'cancelled', 'superseded')),
    quantity_units bigint,
    base_position_units bigint NOT NULL,
    reorder_point_units bigint,
    order_up_to_units bigint,
    flags text[] NOT NULL DEFAULT '{{}}',
    reason text,
    terms jsonb NOT NULL DEFAULT '[]',
    cost_minor bigint NOT NULL DEFAULT 0,
    logic_revision int NOT NULL,
    position jsonb NOT NULL,
    as_of_us bigint NOT NULL,
    decided_units bigint,
{DECIDED}
);
CREATE INDEX reorder_proposal_desk ON app.reorder_proposal (status, supplier, location, reorder_id);
CREATE INDEX reorder_proposal_key ON app.reorder_proposal (inv_key);

CREATE TABLE app.price_proposal (
    proposal_id text PRIMARY KEY,
    inv_key text NOT NULL,
    location text NOT NULL,
    sku text NOT NULL,
    revision int NOT NULL,
    status text NOT NULL CHECK (status IN
        ('open', 'snoozed', 'accepted', 'rejected', 'cancelled', 'expired')),
    old_minor bigint NOT NULL,
    new_minor bigint NOT NULL,
    regular_minor bigint NOT NULL,
    floor_minor bigint NOT NULL,
    step int NOT NULL,
    signal text NOT NULL,
    clamps text[] NOT NULL DEFAULT '{{}}',
    effective_at_us bigint NOT NULL,
    prior_minor bigint,
    reason text,
    terms jsonb NOT NULL DEFAULT '[]',
    logic_revision int NOT NULL,
    position jsonb NOT NULL,
    as_of_us bigint NOT NULL,
{DECIDED}
);
CREATE INDEX price_proposal_desk ON app.price_proposal (status, location, proposal_id);
CREATE INDEX price_proposal_key ON app.price_proposal (inv_key);

CREATE TABLE app.setting (
    id int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    price_kill_switch boolean NOT NULL DEFAULT false,
    updated_by text,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO app.setting DEFAULT VALUES;

CREATE TABLE app.command (
    command_id uuid PRIMARY KEY,
    kind text NOT NULL,
    actor text,
    result jsonb,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE app.action_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text,
    action text NOT NULL,
    subject text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{{}}',
    command_id uuid
);
CREATE INDEX action_log_subject ON app.action_log (subject, id);

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA app TO app_rw;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA app TO app_rw;
REVOKE INSERT, DELETE ON app.setting FROM app_rw;
REVOKE UPDATE, DELETE ON app.command, app.action_log FROM app_rw;
GRANT UPDATE (result) ON app.command TO app_rw;
GRANT SELECT ON app.reorder_proposal, app.price_proposal, app.setting TO app_ro;
"""

REVERSE = """
DROP TABLE app.action_log;
DROP TABLE app.command;
DROP TABLE app.setting;
DROP TABLE app.price_proposal;
DROP TABLE app.reorder_proposal;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0005_capture")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
