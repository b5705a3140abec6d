"""Keep differences in a temporary database file, so that sums and rankings need little memory.

SQLite deletes the file when the process ends, also after a kill. The file lies below `TMPDIR`, else
in `/var/tmp`.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

from analytics.backfill.diff.difference import Difference, Row
from analytics.damage import Damage

DIMENSIONS: Final = ("store", "supplier", "reason", "week")
NO_VALUE: Final = "-"  # prices have no supplier
COUNTS: Final = ("differing", "only_a", "only_b", "changed", "course", "explanation")
SUMS: Final = ("a_units", "b_units", "a_minor", "b_minor", "delta_minor")
_TABLES: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE difference (
    id INTEGER PRIMARY KEY, kind TEXT, how TEXT, is_decisive INTEGER, partition INTEGER,
    inv_key TEXT, first_offset INTEGER, a_units INTEGER, b_units INTEGER, a_minor INTEGER,
    b_minor INTEGER, delta_minor INTEGER, body TEXT
);
CREATE TABLE member (difference INTEGER, dimension TEXT, value TEXT);
"""
_ADD: Final = "INSERT INTO difference VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_MEMBER: Final = "INSERT INTO member VALUES (?, ?, ?)"
# Equal decisions with another explanation are counted, but add nothing to units and money.
_GROUPS: Final = """
SELECT kind, dimension, value,
    count(*), sum(how = 'only_a'), sum(how = 'only_b'), sum(how = 'changed'), sum(how = 'course'),
    sum(how = 'explanation'), sum(a_units * is_decisive), sum(b_units * is_decisive),
    sum(a_minor * is_decisive), sum(b_minor * is_decisive), sum(delta_minor * is_decisive)
FROM difference JOIN member ON member.difference = difference.id
GROUP BY kind, dimension, value
ORDER BY kind DESC, dimension, abs(sum(delta_minor * is_decisive)) DESC, count(*) DESC, value
"""
_RANKED: Final = """
SELECT body FROM difference WHERE kind = ?
ORDER BY is_decisive DESC, abs(delta_minor) DESC, inv_key, first_offset, body LIMIT ? OFFSET ?
"""
_CANONICAL: Final = (
    "SELECT kind, body FROM difference ORDER BY kind, partition, inv_key, first_offset, body"
)
ALL: Final = "all"  # a dimension with one value, for totals


class ScratchUnusable(Damage):
    """The temporary file can't be written: its disk is full or not writable."""

    exit_code = 2


class Scratch:
    """A table of differences that only this process sees.

    Raises:
        ScratchUnusable: any method, if the temporary file can't be written.
    """

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.executescript(_TABLES)
        self._base.execute("BEGIN")
        self._count = 0

    def __enter__(self) -> Self:
        """Return the table."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Delete the file."""
        self._base.close()

    def add(self, found: Difference) -> None:
        """Store one difference."""
        self._count += 1
        row = found.row
        names = ("partition", "inv_key", "first_offset", "a_quantity_units", "b_quantity_units")
        amounts = ("a_amount_minor", "b_amount_minor", "delta_minor")
        cells = [row.get(name, 0) for name in (*names, *amounts)]
        body = json.dumps(row, sort_keys=True, separators=(",", ":"))
        members = [(self._count, name, row[name] or NO_VALUE) for name in DIMENSIONS]
        with _usable():
            self._base.execute(
                _ADD, (self._count, found.kind, found.how, found.is_decisive, *cells, body)
            )
            self._base.executemany(_ADD_MEMBER, [(self._count, ALL, ALL), *members])

    def groups(self) -> Iterator[dict[str, Any]]:
        """Yield one group per kind, dimension and value: for example reorder, supplier and ACME.

        A group has counts and sums of its differences. In each dimension, the group with the
        largest absolute difference in money comes first. The dimension `all` has one group per
        kind, with the kind's totals.
        """
        names = ("kind", "dimension", "value", *COUNTS, *SUMS)
        for cells in self._rows(_GROUPS):
            yield dict(zip(names, cells, strict=True))

    def ranked(self, kind: str, *, limit: int = -1, offset: int = 0) -> Iterator[Row]:
        """Yield the differences of one kind as rows; all of them if `limit` is -1.

        Differing decisions come before differing explanations. Both are sorted by the absolute
        difference in money, largest first.
        """
        for (body,) in self._rows(_RANKED, kind, limit, offset):
            yield json.loads(body)

    def digest(self, history: Mapping[str, object]) -> str:
        """Return the SHA-256 of the compared history and of every row, in one fixed order."""
        digest = hashlib.sha256(json.dumps(history, sort_keys=True).encode())
        for kind, body in self._rows(_CANONICAL):
            digest.update(f"\n{kind} {body}".encode())
        return digest.hexdigest()

    def _rows(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with _usable():
            yield from self._base.execute(statement, values)


@contextmanager
def _usable() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        problem = f"the temporary file of the comparison: {error}"
        step = "free space on its disk or set TMPDIR to another disk, then start the command again"
        raise ScratchUnusable(problem, "no run was changed", step) from error
