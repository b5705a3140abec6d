"""DuckDB queries of a history's tables, in this process. Queries read only the tables' files.

The views name each file. After they exist, DuckDB may open these files only, and its settings are
locked. But a COPY statement could still overwrite one of these files. So this module refuses every
statement other than SELECT and EXPLAIN of a SELECT. DuckDB's own parser tells them apart.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow.parquet as pq

from analytics.damage import Damage
from analytics.history.questions import question

# Functions of Spark, so that a statement runs unchanged in DuckDB and in Spark.
_MACROS: Final = (
    "CREATE MACRO unix_seconds(moment) AS CAST(floor(epoch_us(moment) / 1000000) AS BIGINT)",
    "CREATE MACRO unix_micros(moment) AS epoch_us(moment)",
    "CREATE MACRO get_json_object(document, path) AS json_extract_string(document, path)",
)
_CONFIG: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",  # a name in a statement never means a Python variable
}
_EXPLAIN: Final = re.compile(r"\s*explain\s+(analyze\s+)?", re.IGNORECASE)
_CHUNK_ROWS: Final = 10_000
_LONGEST: Final = 300
_KEPT: Final = "nothing was changed"
_LISTS: Final = '`inventory sql --history "show tables"` lists the tables'


class QueryRefused(Damage):
    """DuckDB can't run a statement, or the statement does more than read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One statement that DuckDB has accepted. Its rows are computed when they are read."""

    columns: tuple[str, ...]
    _connection: Any
    _statement: Any

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield all rows.

        Raises:
            QueryRefused: DuckDB fails while it computes them.
        """
        with _refusals():
            result = self._connection.execute(self._statement)
            while rows := result.fetchmany(_CHUNK_ROWS):
                yield from rows

    def write_parquet(self, path: Path) -> int:
        """Write all rows to a file. The complete file replaces an earlier one. Return their number.

        Raises:
            QueryRefused: DuckDB fails while it computes them.
        """
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            rows = self._written(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        return rows

    def _written(self, path: Path) -> int:
        with _refusals():
            reader = self._connection.sql(self._statement.query).to_arrow_reader(_CHUNK_ROWS)
            rows = 0
            with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(batch)
                    rows += batch.num_rows
        return rows


class DuckHistory:
    """A session over the tables, for statements one after another."""

    def __init__(self, files: Mapping[str, Sequence[str]], spill: Path) -> None:
        self._connection = duckdb.connect(":memory:", config=dict(_CONFIG))
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute(f"SET temp_directory = {_quoted(str(spill))}")
        for macro in _MACROS:
            self._connection.execute(macro)
        for name, paths in files.items():
            self._connection.execute(_view(name, paths))
        every = ", ".join(_quoted(path) for paths in files.values() for path in paths)
        self._connection.execute(f"SET allowed_paths = [{every}]")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def run(self, text: str) -> Iterator[Answer]:
        """Run the statements of `text` and yield each answer. Read it before you request the next.

        Raises:
            QueryRefused: a statement has a syntax error or is no query; then no statement has run.
                Or DuckDB refuses one later, for example because of an unknown column.
        """
        with _refusals():
            statements = self._connection.extract_statements(text)
            for statement in statements:
                self._check(statement)
        for statement in statements:
            with _refusals():
                columns = tuple(self._connection.sql(statement.query).columns)
            yield Answer(columns, self._connection, statement)

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Return the rows of one statement by column name, for notebooks and programs.

        Raises:
            QueryRefused: DuckDB refuses it, or it is no query.
        """
        return [
            dict(zip(answer.columns, row, strict=True))
            for answer in self.run(statement)
            for row in answer.rows()
        ]

    def ask(self, name: str) -> list[dict[str, Any]]:
        """Return the answer to a question of `analytics/questions`.

        Raises:
            UnknownQuestion: no file answers a question of this name.
        """
        return self.rows(question(name).statement)

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    def _check(self, statement: Any) -> None:  # noqa: ANN401 -- a statement of DuckDB
        if statement.type == duckdb.StatementType.SELECT:
            return
        if statement.type == duckdb.StatementType.EXPLAIN and self._explains(statement.query):
            return
        problem = f"{_short(statement.query)}: {statement.type.name} is no query"
        step = "write a SELECT; --csv, --json or --parquet writes its rows"
        raise QueryRefused(problem, _KEPT, step)

    def _explains(self, text: str) -> bool:
        """Return True if `text` is an EXPLAIN or EXPLAIN ANALYZE of one SELECT."""
        start = _EXPLAIN.match(text)
        if start is None:  # also if a comment precedes EXPLAIN: such a statement is refused
            return False
        found = self._connection.extract_statements(text[start.end() :])
        return [one.type for one in found] == [duckdb.StatementType.SELECT]


def _view(name: str, paths: Sequence[str]) -> str:
    listed = ", ".join(map(_quoted, paths))
    read = f"read_parquet([{listed}], hive_partitioning = false)"
    return f"CREATE VIEW {name} AS FROM {read}"


@contextmanager
def _refusals() -> Iterator[None]:
    """Replace errors of DuckDB by their message and the next step."""
    try:
        yield
    except duckdb.Error as error:
        text = "\n".join(line.rstrip() for line in str(error).strip().splitlines() if line.strip())
        is_unknown = isinstance(error, duckdb.CatalogException | duckdb.BinderException)
        step = _LISTS if is_unknown else "correct the statement"
        problem = f"DuckDB: {text}"
        raise QueryRefused(problem, _KEPT, step) from error


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
