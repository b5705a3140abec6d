"""Requests of the analyst desk, and what their execution wrote (decision 0049).

`history_request` is one request for a command of `inventory backfill` or `inventory sql`. Its kind,
its arguments and the person who asked never change. A request that can change the deciding revision
needs `confirmed_by`, another person, before it starts. `exit_code` is that of the command. If the
command was interrupted, `finished_at` is set and `exit_code` is NULL. `result` is the JSON that the
command printed, with its order of columns, and without the rows of a comparison.

`history_difference` has the rows of comparisons, ranked as by `backfill diff`, 1 first. `detail`
has all columns of a row. `history_snapshot` is one row: archive and runs, as `backfill status`
prints them.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.history_request (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CONSTRAINT history_request_kind CHECK (kind IN ('run', 'compare', 'explain',
        'review', 'publish', 'shadow', 'cutover', 'rollback', 'prove', 'question', 'query')),
    arguments jsonb NOT NULL
        CONSTRAINT history_request_arguments CHECK (jsonb_typeof(arguments) = 'object'),
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    confirmed_by text,
    confirmed_at timestamptz,
    cancelled_by text,
    cancelled_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    exit_code integer,
    progress text NOT NULL DEFAULT '',
    problem text NOT NULL DEFAULT '',
    result json,
    CONSTRAINT history_request_second_person CHECK (confirmed_by <> requested_by),
    CONSTRAINT history_request_confirmed CHECK (started_at IS NULL OR confirmed_by IS NOT NULL
        OR kind NOT IN ('publish', 'shadow', 'cutover', 'rollback')),
    CONSTRAINT history_request_cancelled CHECK (started_at IS NULL OR cancelled_by IS NULL),
    CONSTRAINT history_request_order CHECK (finished_at IS NULL OR started_at IS NOT NULL)
);
CREATE INDEX history_request_open ON app.history_request (id) WHERE finished_at IS NULL;
CREATE TABLE app.history_difference (
    request bigint NOT NULL REFERENCES app.history_request,
    kind text NOT NULL CONSTRAINT history_difference_kind CHECK (kind IN ('reorder', 'price')),
    rank integer NOT NULL,
    inv_key text NOT NULL,
    store text NOT NULL,
    supplier text NOT NULL,
    reason text NOT NULL,
    week text NOT NULL,
    how text NOT NULL,
    delta_minor bigint NOT NULL,
    detail jsonb NOT NULL,
    PRIMARY KEY (request, kind, rank)
);
CREATE TABLE app.history_snapshot (
    id integer PRIMARY KEY DEFAULT 1 CONSTRAINT history_snapshot_single CHECK (id = 1),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    document jsonb NOT NULL
);
REVOKE ALL ON app.history_request, app.history_difference, app.history_snapshot FROM app_rw, sink_rw;
GRANT SELECT, INSERT, UPDATE (confirmed_by, confirmed_at, cancelled_by, cancelled_at, started_at,
    finished_at, exit_code, progress, problem, result) ON app.history_request TO app_rw;
GRANT SELECT, INSERT, DELETE ON app.history_difference TO app_rw;
GRANT SELECT, INSERT, UPDATE ON app.history_snapshot TO app_rw;
GRANT SELECT ON app.history_request, app.history_difference, app.history_snapshot TO app_ro;
"""
REVERSE = """
DROP TABLE app.history_snapshot;
DROP TABLE app.history_difference;
DROP TABLE app.history_request;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0030_api")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
