"""Bytes that a load adds to each topic and table, and to the write-ahead log (WAL) of Postgres.

A topic's bytes are those of its files, so compaction reduces them. A table's bytes include its
indexes, and the space of replaced row versions that vacuum has not freed yet.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

TOPIC: Final = "topic"
TABLE: Final = "table"
WAL: Final = "WAL"
_SMALLEST: Final = 1.0  # bytes per line; smaller rates are left out
_TABLES: Final = """
SELECT schemaname || '.' || relname, pg_total_relation_size(relid)
FROM pg_stat_user_tables WHERE schemaname IN ('retail', 'app', 'read_model')
"""
_WAL: Final = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes by which a topic, a table or the WAL grew, per line that the benchmark wrote."""

    kind: str
    name: str
    line_bytes: float


class ByteMeter:
    """A meter of a running stack; `broker` is the directory of the broker's topics, if known."""

    def __init__(self, url: str, broker: Path | None) -> None:
        self._url = url
        self._broker = broker
        self._before: Counter[tuple[str, str]] = Counter()

    def start(self) -> None:
        """Begin to measure the bytes of a load."""
        self._before = self._sizes()

    def per_line(self, lines: int) -> tuple[Written, ...]:
        """Return the topics, tables and WAL that grew by 1 byte per line or more, largest first."""
        grown = {place: size - self._before[place] for place, size in self._sizes().items()}
        rows = [Written(*place, size / lines) for place, size in grown.items()]
        shown = [row for row in rows if row.line_bytes >= _SMALLEST]
        return tuple(sorted(shown, key=lambda row: -row.line_bytes))

    def _sizes(self) -> Counter[tuple[str, str]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            tables = connection.execute(_TABLES).fetchall()
            [(wal,)] = connection.execute(_WAL).fetchall()
        found = Counter({(TABLE, name): size for name, size in tables})
        found[WAL, "Postgres"] = int(wal)
        for name, size in self._topics():
            found[TOPIC, name] += size
        return found

    def _topics(self) -> Iterator[tuple[str, int]]:
        """Yield topic and bytes of each segment file, from directories named `TOPIC-PARTITION`."""
        if self._broker is None:
            return
        for segment in self._broker.glob("*-*/*.log"):
            with suppress(FileNotFoundError):  # the broker may just have compacted it
                yield segment.parent.name.rpartition("-")[0], segment.stat().st_size


def as_table(rows: tuple[Written, ...]) -> list[str]:
    """Return `rows` as a text table, one string per line."""
    return [
        "written                                       bytes per line",
        *(f"{f'{row.kind} {row.name}':<46}{row.line_bytes:>14.0f}" for row in rows),
    ]
