"""An index that finds the dead messages of webhooks that failed first.

Pages show the earliest failure. Without the index, Postgres would read all dead messages.
"""

from django.db import migrations

FORWARD = """
CREATE INDEX webhook_message_failed ON app.webhook_message (failed_at) WHERE status = 'dead';
"""
REVERSE = """
DROP INDEX app.webhook_message_failed;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0037_due_days_of_transfers")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
