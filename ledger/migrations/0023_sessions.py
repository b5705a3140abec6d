"""Sessions name their person, who can list and end them (webui/accounts/sessions).

Sessions of earlier releases have the person only in their encoded content. This migration deletes
these sessions, so people log in again.
"""

from django.db import migrations

FORWARD = """
DELETE FROM app.django_session;
ALTER TABLE app.django_session
    ADD COLUMN user_id integer REFERENCES app.auth_user (id) ON DELETE CASCADE,
    ADD COLUMN browser text NOT NULL DEFAULT '',
    ADD COLUMN source text NOT NULL DEFAULT '',
    ADD COLUMN began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN used_at timestamptz NOT NULL DEFAULT clock_timestamp();
CREATE INDEX django_session_user ON app.django_session (user_id);
"""
REVERSE = """
ALTER TABLE app.django_session
    DROP COLUMN user_id, DROP COLUMN browser, DROP COLUMN source,
    DROP COLUMN began_at, DROP COLUMN used_at;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0022_sealed_second_factors"),
        ("sessions", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
