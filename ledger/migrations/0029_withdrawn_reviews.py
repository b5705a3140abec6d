"""An approved review can be withdrawn (decision 0037).

A trigger refuses a withdrawal without an approval. It also refuses a withdrawal by a person other
than the requester of the review, its approver or an operator.
"""

from django.db import migrations

FORWARD = """
ALTER TABLE app.diff_verdict
    DROP CONSTRAINT diff_verdict_known,
    ADD CONSTRAINT diff_verdict_known
        CHECK (verdict IN ('approved', 'rejected', 'lapsed', 'withdrawn'));

CREATE FUNCTION app.refuse_withdrawal() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    newest app.diff_verdict;
BEGIN
    SELECT * INTO newest FROM app.diff_verdict WHERE review = NEW.review ORDER BY id DESC LIMIT 1;
    IF newest.verdict IS DISTINCT FROM 'approved' THEN
        RAISE EXCEPTION 'only an approved review can be withdrawn, this one is %',
            coalesce(newest.verdict, 'waiting')
            USING ERRCODE = 'check_violation', CONSTRAINT = 'diff_verdict_withdrawn_approval';
    END IF;
    IF NEW.decided_by NOT IN (NEW.requested_by, newest.decided_by) AND NOT EXISTS (
        SELECT FROM app.auth_user u
        JOIN app.auth_user_groups m ON m.user_id = u.id JOIN app.auth_group g ON g.id = m.group_id
        WHERE u.username = NEW.decided_by AND u.is_active AND g.name = 'operator'
    ) THEN
        RAISE EXCEPTION 'the requester, the approver or an operator withdraws a review, not %',
            NEW.decided_by
            USING ERRCODE = 'check_violation', CONSTRAINT = 'diff_verdict_withdrawn_by';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse_withdrawal BEFORE INSERT ON app.diff_verdict
    FOR EACH ROW WHEN (NEW.verdict = 'withdrawn')
    EXECUTE FUNCTION app.refuse_withdrawal();
"""
REVERSE = """
DROP TRIGGER refuse_withdrawal ON app.diff_verdict;
DROP FUNCTION app.refuse_withdrawal();
UPDATE app.diff_verdict SET verdict = 'lapsed' WHERE verdict = 'withdrawn';
ALTER TABLE app.diff_verdict
    DROP CONSTRAINT diff_verdict_known,
    ADD CONSTRAINT diff_verdict_known CHECK (verdict IN ('approved', 'rejected', 'lapsed'));
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0028_proofs")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
