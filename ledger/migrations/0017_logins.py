"""Limits and second factors of logins.

* `login_count`: failed attempts by account, source and device, shared by all web processes. The
  column `key` is a keyed hash (HMAC). So if a person types the password into the field of the
  account, the password is not stored.
* `second_factor`: one row per person with a confirmed authenticator. `last_step` is the newest
  30-second step that was used, so that a code works once. `recovery` holds hashes of unused codes.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.login_count (
    key text PRIMARY KEY,
    failures integer NOT NULL,
    since timestamptz NOT NULL
);
CREATE INDEX login_count_since ON app.login_count (since);
CREATE TABLE app.second_factor (
    user_id integer PRIMARY KEY REFERENCES app.auth_user (id) ON DELETE CASCADE,
    secret text NOT NULL CHECK (secret <> ''),
    last_step bigint NOT NULL DEFAULT 0,
    recovery text[] NOT NULL DEFAULT '{}',
    confirmed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
REVOKE ALL ON app.login_count, app.second_factor FROM app_rw, app_ro;
GRANT SELECT, INSERT, UPDATE, DELETE ON app.login_count, app.second_factor TO app_rw;
"""
REVERSE = """
DROP TABLE app.second_factor;
DROP TABLE app.login_count;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0016_price_at"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
