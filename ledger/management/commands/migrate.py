"""Django's command `migrate`, which first creates schema `app`.

Django creates its own table `django_migrations` before the first migration runs, and that table
belongs in `app`, not in `public`.

The command also revokes the default rights that earlier versions granted to `app_rw`, the Postgres
role of pages and jobs. So this role has no rights on a new table at first. The migration that
creates the table grants the rights that the application's statements need (docs/security.md).
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
    """Creates schema `app`, then applies the migrations."""

    # Django's checks import all pages. A page that can't be imported must not prevent a migration.
    requires_system_checks = ()

    @override
    def handle(self, *args: Any, **options: Any) -> str | None:
        with connections[options["database"]].cursor() as cursor:
            cursor.execute(BEFORE)
        options["skip_checks"] = True
        return super().handle(*args, **options)
