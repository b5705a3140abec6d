"""Secrets of authenticators are encrypted by the web process (webui/accounts/encryption.py).

Postgres refuses a new secret in clear text. A row of an earlier release may stay in clear text
until the web process starts or the person logs in. The web process then encrypts it, because only
this process has the key. NOT VALID makes this exception: Postgres checks an existing row only when
it is updated.
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
