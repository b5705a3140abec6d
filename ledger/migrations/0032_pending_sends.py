"""Sends that wait for ten seconds, so that a buyer can undo them (decision 0045).

A row of `pending_send` is one command of a person: to approve and send needs, or to send draft
orders. The automation executes the command after `due_at`. Each item has the values that the page
showed, and its outcome: the order that was sent, or the reason why none was sent. While
`is_waiting`, a need or order can't be part of another send.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.pending_send (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    made_by text,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz NOT NULL,
    odd_units_allowed boolean NOT NULL,
    below_minimum_allowed boolean NOT NULL,
    status text NOT NULL DEFAULT 'waiting'
        CONSTRAINT pending_send_status CHECK (status IN ('waiting', 'sent', 'cancelled', 'lapsed')),
    ended_at timestamptz,
    ended_by text,
    seen_at timestamptz,
    CONSTRAINT pending_send_ended CHECK ((status = 'waiting') = (ended_at IS NULL))
);
CREATE INDEX pending_send_due ON app.pending_send (due_at) WHERE status = 'waiting';
CREATE INDEX pending_send_person ON app.pending_send (made_by, id) WHERE seen_at IS NULL;
CREATE TABLE app.pending_item (
    send_id bigint NOT NULL REFERENCES app.pending_send (id) ON DELETE CASCADE,
    place integer NOT NULL,
    kind text NOT NULL CONSTRAINT pending_item_kind CHECK (kind IN ('need', 'order')),
    subject text NOT NULL,
    location text NOT NULL,
    supplier text NOT NULL,
    shown text NOT NULL,
    units bigint NOT NULL CONSTRAINT pending_item_units CHECK (units > 0),
    value_minor bigint NOT NULL,
    is_waiting boolean NOT NULL DEFAULT true,
    order_ref text,
    refused text,
    PRIMARY KEY (send_id, place)
);
CREATE UNIQUE INDEX pending_item_once ON app.pending_item (kind, subject) WHERE is_waiting;
REVOKE ALL ON app.pending_send, app.pending_item FROM app_rw, sink_rw, app_ro;
GRANT SELECT, INSERT, UPDATE (status, ended_at, ended_by, seen_at) ON app.pending_send TO app_rw;
GRANT SELECT, INSERT, UPDATE (is_waiting, order_ref, refused) ON app.pending_item TO app_rw;
GRANT SELECT ON app.pending_send, app.pending_item TO app_ro;
"""
REVERSE = "DROP TABLE app.pending_item; DROP TABLE app.pending_send;"


class Migration(migrations.Migration):
    dependencies = [("ledger", "0031_history_requests")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
