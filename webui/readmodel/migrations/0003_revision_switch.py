"""Logic revisions (versions of the rules) that decide or have decided. The newest row decides.

If a database already has needs, the highest revision that made one of them decides.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.revision_switch (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    revision int NOT NULL CHECK (revision >= 1),
    former int CHECK (former <> revision),
    reached jsonb NOT NULL DEFAULT '{}',
    comparison jsonb NOT NULL DEFAULT '{}',
    switched_by text NOT NULL,
    switched_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO app.revision_switch (revision, switched_by)
SELECT max(logic_revision), 'migration' FROM app.reorder_proposal
HAVING max(logic_revision) IS NOT NULL;
REVOKE ALL ON app.revision_switch FROM app_rw;
GRANT SELECT, INSERT ON app.revision_switch TO app_rw;
GRANT SELECT ON app.revision_switch TO app_ro;
"""

REVERSE = """
DROP TABLE app.revision_switch;
"""


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0002_unmanaged_models"), ("ledger", "0014_movements")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
