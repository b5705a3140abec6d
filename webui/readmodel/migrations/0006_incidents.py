"""The last error of each service, and the restores of workers, for the page System.

* `service_error`: one row per service, the newest error; `times` counts its errors since the
  row was made. The supervisor writes ended and repaired processes, `capture` writes failures of the
  connector.
* `restore`: one row per partition that a worker took over, with its duration in seconds. `kept` is
  true if the worker still had the newest state, so that it read nothing.

An index on the audit log serves its filter by person.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE read_model.service_error (
    service text PRIMARY KEY,
    at timestamptz NOT NULL,
    message text NOT NULL CONSTRAINT service_error_message CHECK (message <> ''),
    repair text NOT NULL DEFAULT '',
    times int NOT NULL DEFAULT 1
);
CREATE TABLE read_model.restore (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    worker text NOT NULL,
    partition int NOT NULL,
    finished_at timestamptz NOT NULL,
    seconds numeric(12, 3) NOT NULL CONSTRAINT restore_seconds CHECK (seconds >= 0),
    records bigint NOT NULL,
    keys bigint NOT NULL,
    kept boolean NOT NULL
);
CREATE INDEX restore_finished ON read_model.restore (finished_at);
REVOKE ALL ON read_model.service_error, read_model.restore FROM app_rw, app_ro, sink_rw, archiver;
GRANT SELECT, INSERT, UPDATE ON read_model.service_error TO app_rw;
GRANT SELECT, INSERT, DELETE ON read_model.restore TO app_rw;
GRANT SELECT ON read_model.service_error, read_model.restore TO app_ro;
CREATE INDEX action_log_actor ON app.action_log (actor, id);
"""

REVERSE = """
DROP INDEX app.action_log_actor;
DROP TABLE read_model.restore;
DROP TABLE read_model.service_error;
"""


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0005_product_search"), ("ledger", "0020_rights")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
