"""`migrate`, with one step before Django's own: create schema `app`.

Django writes its bookkeeping table before the first migration runs, and it belongs into `app`, not
into `public`. A new table gives the application no right: the migration that creates it grants what
its statements need (docs/security.md). Earlier sources granted all rights by default; this command
revokes them.
"""

from typing import Any

from django.core.management.commands import migrate
from django.db import connections
from typing_extensions import override

BEFORE = """
CREATE SCHEMA IF NOT EXISTS app;
ALTER DEFAULT PRIVILEGES IN SCHEMA app REVOKE ALL ON TABLES FROM app_rw;
ALTER DEFAULT PRIVILEGES IN SCHEMA app GRANT USAGE, SELECT ON SEQUENCES TO app_rw;
GRANT USAGE ON SCHEMA app TO app_rw, app_ro;
"""


class Command(migrate.Command):
    """Django's `migrate` into schema `app`."""

    # The schema must exist before anything else, so a page that does not import must not stop this.
    requires_system_checks = ()

    @override
    def handle(self, *args: Any, **options: Any) -> str | None:
        with connections[options["database"]].cursor() as cursor:
            cursor.execute(BEFORE)
        options["skip_checks"] = True
        return super().handle(*args, **options)
