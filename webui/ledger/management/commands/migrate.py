"""`migrate`, with the one step that has to come before Django's own: its schema.

Django writes its bookkeeping table before the first migration runs, and it is to live in `app`, not
in `public`. A new table gives the application no right: the migration that makes it grants what its
statements need (docs/security.md). Earlier releases gave all rights by default; that is taken back.
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

    # The schema must be there before anything else; a page that does not load is no reason to wait.
    requires_system_checks = ()

    @override
    def handle(self, *args: Any, **options: Any) -> str | None:
        with connections[options["database"]].cursor() as cursor:
            cursor.execute(BEFORE)
        options["skip_checks"] = True
        return super().handle(*args, **options)
