"""Proofs that the live state equals a recomputation of history (decision 0038). Rows are only added.

`base` is the run from whose states the recomputation started; NULL means from the first record.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.proof (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    run text NOT NULL,
    base text CONSTRAINT proof_of_another_run CHECK (base <> run),
    logic_revision integer NOT NULL,
    code text NOT NULL,
    ends jsonb NOT NULL,
    keys_compared bigint NOT NULL CONSTRAINT proof_keys CHECK (keys_compared >= 0),
    keys_differing bigint NOT NULL
        CONSTRAINT proof_keys_differing CHECK (keys_differing BETWEEN 0 AND keys_compared),
    decisions_compared bigint NOT NULL,
    decisions_differing bigint NOT NULL
        CONSTRAINT proof_decisions_differing CHECK (decisions_differing >= 0),
    differences jsonb NOT NULL
        CONSTRAINT proof_differences CHECK (jsonb_typeof(differences) = 'array'),
    seconds integer NOT NULL,
    digest text NOT NULL CONSTRAINT proof_digest CHECK (digest ~ '^[0-9a-f]{32}$')
);
REVOKE ALL ON app.proof FROM app_rw, sink_rw;
GRANT SELECT, INSERT ON app.proof TO app_rw;
GRANT SELECT ON app.proof TO app_ro;
"""
REVERSE = "DROP TABLE app.proof;"


class Migration(migrations.Migration):
    dependencies = [("ledger", "0027_diff_reviews")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
