"""`action_chain`: each entry of the audit log with the hash of its predecessor (decision 0024).

An entry gets its number (`place`) when its transaction commits, so numbers have no gaps and follow
the order of the commits. A trigger gives the number under a lock. This lock is the last one that a
transaction takes, so it can't cause a deadlock. Only the trigger writes into this table, with the
owner's rights.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.action_chain (
    place bigint PRIMARY KEY CHECK (place >= 1),
    action_id bigint NOT NULL CONSTRAINT action_chain_action_unique UNIQUE,
    previous bytea NOT NULL,
    hash bytea NOT NULL
);
REVOKE ALL ON app.action_chain FROM app_rw;
GRANT SELECT ON app.action_chain TO app_rw;

CREATE FUNCTION app.action_hash(place bigint, previous bytea, entry app.action_log)
RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(convert_to(jsonb_build_array(
        place, encode(previous, 'hex'), entry.id,
        to_char(entry.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
        entry.actor, entry.action, entry.subject, entry.detail, entry.command_id
    )::text, 'UTF8'))
$$;
CREATE FUNCTION app.chain_entry(entry app.action_log) RETURNS void LANGUAGE plpgsql AS $$
DECLARE head app.action_chain;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('app.action_chain', 0));
    SELECT * INTO head FROM app.action_chain ORDER BY place DESC LIMIT 1;
    head.place := coalesce(head.place, 0) + 1;
    head.previous := coalesce(head.hash, decode(repeat('00', 32), 'hex'));
    INSERT INTO app.action_chain (place, action_id, previous, hash)
    VALUES (head.place, entry.id, head.previous,
            app.action_hash(head.place, head.previous, entry));
END $$;
REVOKE ALL ON FUNCTION app.chain_entry(app.action_log) FROM PUBLIC;
CREATE FUNCTION app.chain_action() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM app.chain_entry(NEW);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION app.chain_action() FROM PUBLIC;

DO $$
DECLARE entry app.action_log;
BEGIN
    FOR entry IN SELECT * FROM app.action_log ORDER BY id LOOP
        PERFORM app.chain_entry(entry);
    END LOOP;
END $$;
CREATE CONSTRAINT TRIGGER chain_action AFTER INSERT ON app.action_log
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.chain_action();
"""

REVERSE = """
DROP TRIGGER chain_action ON app.action_log;
DROP FUNCTION app.chain_action();
DROP FUNCTION app.chain_entry(app.action_log);
DROP FUNCTION app.action_hash(bigint, bytea, app.action_log);
DROP TABLE app.action_chain;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0020_rights")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
