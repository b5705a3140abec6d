"""`refusal`: requests that were refused, for operators who look for attacks (decision 0026).

One row per hour, person, source, address and reason has the number of requests, so a flood of
requests adds few rows. A trigger with the owner's rights deletes rows older than 90 days, and all
but the newest 100,000. The application itself can't delete rows.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.refusal (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hour timestamptz NOT NULL,
    mark bytea NOT NULL,
    kind text NOT NULL,
    account text NOT NULL,
    source text NOT NULL,
    address text NOT NULL,
    reason text NOT NULL,
    times integer NOT NULL DEFAULT 1,
    first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT refusal_once UNIQUE (hour, mark)
);
CREATE INDEX refusal_of_source ON app.refusal (hour, account, source);
CREATE INDEX refusal_last ON app.refusal (last_at);
REVOKE ALL ON app.refusal FROM app_rw, app_ro;
GRANT SELECT, INSERT, UPDATE (times, last_at) ON app.refusal TO app_rw;

CREATE FUNCTION app.forget_refusals() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM app.refusal WHERE last_at < clock_timestamp() - interval '90 days';
    DELETE FROM app.refusal WHERE id <= (SELECT id FROM app.refusal ORDER BY id DESC OFFSET 100000 LIMIT 1);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION app.forget_refusals() FROM PUBLIC;
CREATE TRIGGER forget_refusals AFTER INSERT ON app.refusal
    FOR EACH ROW WHEN (NEW.id % 100 = 0) EXECUTE FUNCTION app.forget_refusals();
"""
REVERSE = """
DROP TABLE app.refusal;
DROP FUNCTION app.forget_refusals();
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0023_sessions")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
