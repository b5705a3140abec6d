"""Schemas `retail` and `read_model`, and the roles that may use them.

Roles belong to the whole Postgres server, so the supervisor (with Docker, the container `setup`)
creates them with their passwords. This migration creates a missing role without a login, so that
the grants below also work on a server without these roles.
"""

from django.db import migrations

FORWARD = """
DO $$
DECLARE wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['app_rw', 'app_ro', 'cdc'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I', wanted);
        END IF;
    END LOOP;
    EXECUTE format('ALTER DATABASE %I SET search_path = app, retail, read_model',
                   current_database());
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO app_rw, app_ro, cdc', current_database());
END $$;
CREATE SCHEMA IF NOT EXISTS retail;
CREATE SCHEMA IF NOT EXISTS read_model;
GRANT USAGE ON SCHEMA retail TO app_rw, app_ro, cdc;
GRANT USAGE ON SCHEMA read_model TO app_rw, app_ro;
"""

REVERSE = """
DROP SCHEMA read_model;
DROP SCHEMA retail;
DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I RESET search_path', current_database());
    EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM app_rw, app_ro, cdc', current_database());
    EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO PUBLIC', current_database());
END $$;
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [migrations.RunSQL(FORWARD, REVERSE)]
