"""Reviews of the difference between two logic revisions (decision 0037). Rows are only added.

`diff_review` is one requested review: the digest of a difference, the two revisions, and the hash
of the new revision's rules (`code`). `diff_review_key` lists each key that differs. `diff_verdict`
holds the verdicts on a review; the newest one is in force. `growth` is the number of unapproved
keys that may also differ at the switch, because stock changes in between. `diff_verdict` repeats
the requester of the review, and a foreign key keeps both equal. So a constraint can refuse an
approval by the requester.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.diff_review (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest text NOT NULL CONSTRAINT diff_review_digest CHECK (digest ~ '^[0-9a-f]{64}$'),
    former integer NOT NULL,
    revision integer NOT NULL CONSTRAINT diff_review_of_two CHECK (revision <> former),
    code text NOT NULL,
    runs text[] NOT NULL CONSTRAINT diff_review_runs CHECK (cardinality(runs) = 2),
    summary jsonb NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT diff_review_once UNIQUE (digest, revision, code),
    CONSTRAINT diff_review_requester UNIQUE (id, requested_by)
);
CREATE TABLE app.diff_review_key (
    review bigint NOT NULL REFERENCES app.diff_review,
    kind text NOT NULL CONSTRAINT diff_review_key_kind CHECK (kind IN ('reorder', 'price')),
    inv_key text NOT NULL,
    PRIMARY KEY (review, kind, inv_key)
);
CREATE TABLE app.diff_verdict (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    review bigint NOT NULL,
    requested_by text NOT NULL,
    verdict text NOT NULL
        CONSTRAINT diff_verdict_known CHECK (verdict IN ('approved', 'rejected', 'lapsed')),
    growth integer NOT NULL DEFAULT 0 CONSTRAINT diff_verdict_growth CHECK (growth >= 0),
    reason text NOT NULL DEFAULT '',
    decided_by text NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT diff_verdict_review
        FOREIGN KEY (review, requested_by) REFERENCES app.diff_review (id, requested_by),
    CONSTRAINT diff_verdict_second_person
        CHECK (verdict <> 'approved' OR decided_by <> requested_by)
);
CREATE INDEX diff_verdict_of_review ON app.diff_verdict (review, id DESC);
REVOKE ALL ON app.diff_review, app.diff_review_key, app.diff_verdict FROM app_rw, sink_rw;
GRANT SELECT, INSERT ON app.diff_review, app.diff_review_key, app.diff_verdict TO app_rw;
GRANT SELECT ON app.diff_review, app.diff_review_key, app.diff_verdict TO sink_rw, app_ro;
GRANT INSERT ON app.diff_verdict TO sink_rw;

CREATE FUNCTION app.refuse_verdict_of_sinks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'sink_rw may let a review lapse, and write no other verdict'
        USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER refuse_verdict_of_sinks BEFORE INSERT ON app.diff_verdict
    FOR EACH ROW WHEN (current_user = 'sink_rw' AND NEW.verdict <> 'lapsed')
    EXECUTE FUNCTION app.refuse_verdict_of_sinks();
"""
REVERSE = """
DROP TABLE app.diff_verdict;
DROP FUNCTION app.refuse_verdict_of_sinks();
DROP TABLE app.diff_review_key;
DROP TABLE app.diff_review;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0026_content_of_commands")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
