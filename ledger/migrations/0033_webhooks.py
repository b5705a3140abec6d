"""Webhooks: addresses that receive the events of decisions (decision 0051), and events of orders.

`webhook` is one address of an account. `secret` and `former_secret` are encrypted by the processes
that sign (`ledger/kernel/encryption.py`). Until `former_until`, messages have a signature by each
secret. `after_id` is the id of the last decision event that the sender has looked at for this
webhook. A webhook is `stopped` by a person, or by the sender with a reason. A deleted webhook keeps
its row without secrets, for the audit log.

`webhook_message` has the messages that wait for their delivery, and those that were given up
(`dead`). A delivered message is deleted. The sender locks the row while it sends. Messages of one
`ordering_key` are sent in the order of their ids.

An order that is sent becomes a decision event when its transaction commits, like the changes of
proposals (migration 0030). Its event has no item.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.webhook (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id integer NOT NULL REFERENCES app.auth_user (id) ON DELETE CASCADE,
    token_id bigint REFERENCES app.api_token (id) ON DELETE SET NULL,
    url text NOT NULL CONSTRAINT webhook_url CHECK (url ~ '^https?://' AND length(url) <= 500),
    kinds text[] NOT NULL CONSTRAINT webhook_kinds CHECK (
        cardinality(kinds) > 0 AND kinds <@ ARRAY['need', 'price', 'order']),
    location text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'active'
        CONSTRAINT webhook_status CHECK (status IN ('active', 'stopped', 'deleted')),
    stop_reason text NOT NULL DEFAULT '',
    secret text NOT NULL,
    former_secret text,
    former_until timestamptz,
    after_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL,
    delivered_at timestamptz,
    failed_at timestamptz,
    problem text NOT NULL DEFAULT '',
    CONSTRAINT webhook_former CHECK ((former_secret IS NULL) = (former_until IS NULL))
);
CREATE INDEX webhook_person ON app.webhook (person_id) WHERE status <> 'deleted';
CREATE TABLE app.webhook_message (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id bigint NOT NULL REFERENCES app.webhook (id) ON DELETE CASCADE,
    message_id text NOT NULL,
    ordering_key text NOT NULL,
    type text NOT NULL,
    body text NOT NULL,
    status text NOT NULL DEFAULT 'waiting'
        CONSTRAINT webhook_message_status CHECK (status IN ('waiting', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    failed_at timestamptz,
    problem text NOT NULL DEFAULT '',
    CONSTRAINT webhook_message_once UNIQUE (webhook_id, message_id)
);
CREATE INDEX webhook_message_waiting ON app.webhook_message (webhook_id, ordering_key, id)
    WHERE status = 'waiting';
CREATE INDEX webhook_message_due ON app.webhook_message (due_at) WHERE status = 'waiting';
CREATE INDEX webhook_message_dead ON app.webhook_message (webhook_id, id) WHERE status = 'dead';
REVOKE ALL ON app.webhook, app.webhook_message FROM app_rw, sink_rw, app_ro;
GRANT SELECT, INSERT, UPDATE (token_id, status, stop_reason, secret, former_secret, former_until,
    after_id, delivered_at, failed_at, problem) ON app.webhook TO app_rw;
GRANT SELECT, INSERT, UPDATE (status, attempts, due_at, failed_at, problem), DELETE
    ON app.webhook_message TO app_rw;

ALTER TABLE app.decision_event DROP CONSTRAINT decision_event_kind,
    DROP CONSTRAINT decision_event_change,
    ADD CONSTRAINT decision_event_kind CHECK (kind IN ('need', 'price', 'order')),
    ADD CONSTRAINT decision_event_change
        CHECK (change IN ('opened', 'revised', 'decided', 'snoozed', 'closed', 'sent'));
CREATE FUNCTION app.write_order_event() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- The last lock of a transaction, so ids follow the commits.
    PERFORM pg_advisory_xact_lock(hashtextextended('app.action_chain', 0));
    INSERT INTO app.decision_event (kind, subject, change, inv_key, location, sku, proposal)
    SELECT 'order', NEW.order_ref, 'sent', '', NEW.location, '', jsonb_build_object(
        'supplier', NEW.supplier, 'sent_at', NEW.sent_at, 'sent_by', NEW.sent_by,
        'is_automatic', NEW.is_automatic, 'lines', count(*),
        'units', coalesce(sum(l.ordered_units), 0)::bigint,
        'value_minor', coalesce(sum(l.ordered_units * coalesce(l.cost_minor, 0)), 0)::bigint)
    FROM retail.purchase_order_line l
    WHERE l.order_ref = NEW.order_ref AND l.status <> 'draft';
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION app.write_order_event() FROM PUBLIC;
CREATE CONSTRAINT TRIGGER order_opened_sent AFTER INSERT ON app.purchase_order
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.sent_at IS NOT NULL)
    EXECUTE FUNCTION app.write_order_event();
CREATE CONSTRAINT TRIGGER order_sent AFTER UPDATE ON app.purchase_order
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.sent_at IS NULL AND NEW.sent_at IS NOT NULL)
    EXECUTE FUNCTION app.write_order_event();
"""
REVERSE = """
DROP TRIGGER order_opened_sent ON app.purchase_order;
DROP TRIGGER order_sent ON app.purchase_order;
DROP FUNCTION app.write_order_event();
DELETE FROM app.decision_event WHERE kind = 'order';
ALTER TABLE app.decision_event DROP CONSTRAINT decision_event_kind,
    DROP CONSTRAINT decision_event_change,
    ADD CONSTRAINT decision_event_kind CHECK (kind IN ('need', 'price')),
    ADD CONSTRAINT decision_event_change
        CHECK (change IN ('opened', 'revised', 'decided', 'snoozed', 'closed'));
DROP TABLE app.webhook_message;
DROP TABLE app.webhook;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0032_pending_sends")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
