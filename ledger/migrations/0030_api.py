"""Tokens of the API, and the events of decisions that programs follow (decision 0043).

`api_token` has the SHA-256 of a token, its scopes and its expiry. `minute` and `requests` count the
requests of the current minute, for the rate limit of a token.

`decision_event` has one row for each change of a proposal: opened, revised, decided by a person or
a job, snoozed or closed. A row gets its id when its transaction commits, under the lock of the
action chain, which is the last lock of a transaction. So a reader that continues after an id misses
no event. Only the trigger writes here, with the owner's rights. Every 1,000th event deletes the
rows older than 90 days.

After a promotion, another logic revision decides. A promotion can replace the content of a proposal
without raising the proposal's `revision`. So a change of its `logic_revision` is an event too.
"""

from django.db import migrations

EVENTS = """
CREATE FUNCTION app.write_decision_event() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE change text; subject text; proposal jsonb;
BEGIN
    -- As it is at the commit: an approval writes its units after its decision.
    IF TG_ARGV[0] = 'need' THEN
        subject := NEW.reorder_id;
        SELECT to_jsonb(p) INTO proposal FROM app.reorder_proposal p WHERE p.reorder_id = subject;
    ELSE
        subject := NEW.proposal_id;
        SELECT to_jsonb(p) INTO proposal FROM app.price_proposal p WHERE p.proposal_id = subject;
    END IF;
    change := CASE
        WHEN TG_OP = 'UPDATE' AND NEW.decided_at IS DISTINCT FROM OLD.decided_at THEN 'decided'
        WHEN NEW.status NOT IN ('open', 'snoozed') THEN 'closed'
        WHEN NEW.status = 'snoozed' THEN 'snoozed'
        WHEN TG_OP = 'INSERT' OR OLD.status <> 'open' THEN 'opened'
        ELSE 'revised' END;
    PERFORM pg_advisory_xact_lock(hashtextextended('app.action_chain', 0));
    INSERT INTO app.decision_event (kind, subject, change, inv_key, location, sku, proposal)
    VALUES (TG_ARGV[0], subject, change, NEW.inv_key, NEW.location, NEW.sku,
            coalesce(proposal, to_jsonb(NEW)) - 'terms' - 'position');
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION app.write_decision_event() FROM PUBLIC;
CREATE CONSTRAINT TRIGGER need_opened AFTER INSERT ON app.reorder_proposal
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION app.write_decision_event('need');
CREATE CONSTRAINT TRIGGER need_changed AFTER UPDATE ON app.reorder_proposal
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.revision, OLD.status, OLD.decided_at, OLD.logic_revision) IS DISTINCT FROM
          (NEW.revision, NEW.status, NEW.decided_at, NEW.logic_revision))
    EXECUTE FUNCTION app.write_decision_event('need');
CREATE CONSTRAINT TRIGGER price_opened AFTER INSERT ON app.price_proposal
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION app.write_decision_event('price');
CREATE CONSTRAINT TRIGGER price_changed AFTER UPDATE ON app.price_proposal
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.revision, OLD.status, OLD.decided_at, OLD.logic_revision) IS DISTINCT FROM
          (NEW.revision, NEW.status, NEW.decided_at, NEW.logic_revision))
    EXECUTE FUNCTION app.write_decision_event('price');
"""
FORWARD = f"""
CREATE TABLE app.api_token (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id integer NOT NULL REFERENCES app.auth_user (id) ON DELETE CASCADE,
    name text NOT NULL CONSTRAINT api_token_name CHECK (length(name) BETWEEN 1 AND 60),
    token_sha256 text NOT NULL CONSTRAINT api_token_once UNIQUE
        CONSTRAINT api_token_hash CHECK (token_sha256 ~ '^[0-9a-f]{{64}}$'),
    scopes text[] NOT NULL CONSTRAINT api_token_scopes CHECK (cardinality(scopes) > 0),
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL
        CONSTRAINT api_token_ends CHECK (expires_at <= created_at + interval '366 days'),
    ended_at timestamptz,
    ended_by text,
    used_at timestamptz,
    minute timestamptz NOT NULL DEFAULT '-infinity',
    requests integer NOT NULL DEFAULT 0
);
CREATE INDEX api_token_person ON app.api_token (person_id);
REVOKE ALL ON app.api_token FROM app_rw, sink_rw, app_ro;
GRANT SELECT, INSERT, UPDATE (ended_at, ended_by, used_at, minute, requests) ON app.api_token
    TO app_rw;

CREATE TABLE app.decision_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL CONSTRAINT decision_event_kind CHECK (kind IN ('need', 'price')),
    subject text NOT NULL,
    change text NOT NULL CONSTRAINT decision_event_change
        CHECK (change IN ('opened', 'revised', 'decided', 'snoozed', 'closed')),
    inv_key text NOT NULL,
    location text NOT NULL,
    sku text NOT NULL,
    proposal jsonb NOT NULL
);
CREATE INDEX decision_event_at ON app.decision_event (at);
CREATE INDEX decision_event_store ON app.decision_event (location, id);
REVOKE ALL ON app.decision_event FROM app_rw, sink_rw, app_ro;
GRANT SELECT ON app.decision_event TO app_rw, app_ro;

{EVENTS}
CREATE FUNCTION app.forget_decision_events() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM app.decision_event WHERE at < clock_timestamp() - interval '90 days';
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION app.forget_decision_events() FROM PUBLIC;
CREATE TRIGGER forget_decision_events AFTER INSERT ON app.decision_event
    FOR EACH ROW WHEN (NEW.id % 1000 = 0) EXECUTE FUNCTION app.forget_decision_events();
"""
REVERSE = """
DROP TRIGGER need_opened ON app.reorder_proposal;
DROP TRIGGER need_changed ON app.reorder_proposal;
DROP TRIGGER price_opened ON app.price_proposal;
DROP TRIGGER price_changed ON app.price_proposal;
DROP FUNCTION app.write_decision_event();
DROP TABLE app.decision_event;
DROP FUNCTION app.forget_decision_events();
DROP TABLE app.api_token;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0029_withdrawn_reviews")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
