"""Memberships of people in stores, regions of locations, invitations (decision 0025).

* `membership`: a person works in a store, in every store of a region, or everywhere. Without a row
  a person has no store.
* `location_region`: a location's region. It is not a column of `retail.location`, because capture
  publishes that table and no worker needs regions.
* `invitation`: a one-time link for setting one's own password. The table stores the hash of the
  token; the token itself is shown once.

Existing people with company-wide roles get a membership everywhere. Store staff get none: an
operator assigns their stores.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE app.membership (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES app.auth_user (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('store', 'region', 'everywhere')),
    code text NOT NULL DEFAULT '',
    granted_by text,
    granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT membership_code CHECK (
        CASE kind WHEN 'everywhere' THEN code = '' ELSE code ~ '^[A-Z0-9-]{1,24}$' END),
    CONSTRAINT membership_once UNIQUE (person_id, kind, code)
);
CREATE TABLE app.location_region (
    location text PRIMARY KEY CHECK (location ~ '^[A-Z0-9-]{1,24}$'),
    region text NOT NULL CHECK (region ~ '^[A-Z0-9-]{1,24}$')
);
CREATE INDEX location_region_region ON app.location_region (region);
CREATE TABLE app.invitation (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES app.auth_user (id) ON DELETE CASCADE,
    token_sha256 text NOT NULL UNIQUE CHECK (token_sha256 ~ '^[0-9a-f]{64}$'),
    created_by text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE INDEX invitation_person ON app.invitation (person_id);
INSERT INTO app.membership (person_id, kind)
SELECT DISTINCT m.user_id, 'everywhere'
FROM app.auth_user_groups m JOIN app.auth_group g ON g.id = m.group_id
WHERE g.name IN ('buyer', 'lead', 'pricing', 'analyst', 'operator');
GRANT SELECT, INSERT, DELETE ON app.membership TO app_rw;
GRANT SELECT, INSERT, UPDATE, DELETE ON app.location_region TO app_rw;
GRANT SELECT, INSERT, UPDATE ON app.invitation TO app_rw;
GRANT SELECT ON app.membership, app.location_region TO app_ro;
"""

REVERSE = """
DROP TABLE app.invitation;
DROP TABLE app.location_region;
DROP TABLE app.membership;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0017_logins"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
