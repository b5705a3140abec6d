"""Secrets of authenticators are encrypted by the web process (webui/accounts/encryption.py).

Postgres refuses a new one in clear text. Rows of earlier sources stay until the web process starts
or its person logs in, which encrypts them: only that process has the key. An update of such a row
has to encrypt it, hence NOT VALID.
"""

from django.db import migrations

FORWARD = """
ALTER TABLE app.second_factor ADD CONSTRAINT second_factor_sealed
    CHECK (secret LIKE 'gAAAA%') NOT VALID;
"""
REVERSE = "ALTER TABLE app.second_factor DROP CONSTRAINT second_factor_sealed;"


class Migration(migrations.Migration):
    dependencies = [("ledger", "0021_audit_chain")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
