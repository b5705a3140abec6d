"""Rights in a database in the notation of `docs/security.md`: `S I U(status, due_on) D`."""

import re
from collections import defaultdict

import psycopg

from deploy.stack.home import PROJECT

PAGE = PROJECT / "docs/security.md"
ROLES = ("app_rw", "sink_rw", "archiver", "app_ro", "cdc")
LETTERS = {
    "SELECT": "S",
    "INSERT": "I",
    "UPDATE": "U",
    "DELETE": "D",
    "TRUNCATE": "T",
    "REFERENCES": "R",
    "TRIGGER": "G",
    "MAINTAIN": "M",
}
_GRANTED = """
SELECT n.nspname || '.' || c.relname, coalesce(r.rolname, 'PUBLIC'), a.privilege_type, ''
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE n.nspname IN ('retail', 'app', 'read_model', 'public') AND c.relkind IN ('r', 'p', 'v', 'm')
    AND a.grantee <> c.relowner
UNION ALL
SELECT n.nspname || '.' || c.relname, coalesce(r.rolname, 'PUBLIC'), a.privilege_type, t.attname
FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL aclexplode(t.attacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE n.nspname IN ('retail', 'app', 'read_model', 'public') AND NOT t.attisdropped
ORDER BY 1, 2, 3, 4
"""
_TABLES = """
SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('retail', 'app', 'read_model', 'public') AND c.relkind IN ('r', 'p', 'v', 'm')
ORDER BY 1
"""
Rights = dict[str, dict[str, str]]


def granted(connection: psycopg.Connection) -> Rights:
    """Return the rights by table and role, from the database's catalogue."""
    given: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for table, role, privilege, column in connection.execute(_GRANTED):
        given[table, role][privilege].append(column)
    found: Rights = {str(row[0]): {} for row in connection.execute(_TABLES)}
    for (table, role), privileges in given.items():
        found[table][role] = " ".join(
            letter + (f"({', '.join(privileges[name])})" if "" not in privileges[name] else "")
            for name, letter in LETTERS.items()
            if name in privileges
        )
    return found


def documented() -> Rights:
    """Return the rights by table and role, from docs/security.md."""
    rows = re.findall(r"^\| `(\w+\.\w+)` \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    cells = {table: [cell.strip() for cell in row.split("|")] for table, row in rows}
    return {
        table: {role: text for role, text in zip(ROLES, row, strict=True) if text}
        for table, row in cells.items()
    }


def row(table: str, rights: dict[str, str]) -> str:
    """Return the table's line for docs/security.md."""
    return f"| `{table}` | " + " | ".join(rights.get(role, "") for role in ROLES) + " |"
