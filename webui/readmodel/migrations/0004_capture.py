"""The requested state of change capture, and the publication that captured the present log.

The table has one row. `publication` is null until a capture streams. A new generation of the log
sets it to null again.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.capture (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    publication jsonb,
    paused_by text NOT NULL DEFAULT '',
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO app.capture DEFAULT VALUES;
REVOKE ALL ON app.capture FROM app_rw;
GRANT SELECT, UPDATE ON app.capture TO app_rw;
GRANT SELECT ON app.capture TO app_ro;
"""

REVERSE = """
DROP TABLE app.capture;
"""


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0003_revision_switch")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
