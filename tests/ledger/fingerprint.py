"""Checksums of all tables: if they are equal before and after a request, it changed nothing."""

from django.db import connection

# Tables that a refused request changes: its session or token, the cache, and the log of refusals.
LEFT_OUT = ("app.django_session", "app.django_cache", "app.refusal", "app.api_token")


def without_results(mark: str = "") -> dict[str, str]:
    """Return `fingerprint` without command results, because these contain ids of the request."""
    return {name: rows for name, rows in fingerprint(mark).items() if name != "app.command"}


def fingerprint(mark: str = "") -> dict[str, str]:
    """Return table → checksum of its rows that contain `mark`. An empty `mark` selects all rows.

    The tables are those of `retail`, `read_model` and `app`, without `LEFT_OUT`.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n.nspname || '.' || c.relname FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind = 'r' AND n.nspname IN ('retail', 'read_model', 'app')"
            " AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1"
        )
        tables = [name for (name,) in cursor.fetchall() if name not in LEFT_OUT]
        parts = [
            f"SELECT '{name}', md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), ''))"  # noqa: S608 -- names from the catalogue
            f" FROM {name} t WHERE strpos(lower(t::text), %s) > 0 OR %s = ''"
            for name in tables
        ]
        cursor.execute(" UNION ALL ".join(parts), [mark.lower(), mark] * len(parts))
        return dict(cursor.fetchall())
