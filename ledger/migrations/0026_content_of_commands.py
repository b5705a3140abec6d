"""A command id is for one command with fixed values (`ledger.kernel.idempotency`).

`content` is the SHA-256 of the command's values in hexadecimal. It is NULL in rows of earlier
versions. The role `app_rw` may insert rows with this column, but may not change the column.
"""

from django.db import migrations

FORWARD = """
ALTER TABLE app.command ADD COLUMN content text
    CONSTRAINT command_content_is_sha256 CHECK (content ~ '^[0-9a-f]{64}$');
"""
REVERSE = """
ALTER TABLE app.command DROP COLUMN content;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0025_reference_data")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
