"""Rows of one table in Arrow chunks, which need much less memory than Python objects."""

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from analytics.history.columns import HistoryTable

Row = tuple[Any, ...]
_CHUNK_ROWS: Final = 20_000


class Rows:
    """All rows of one table and partition."""

    def __init__(self, table: HistoryTable, rows: Iterable[Row] = ()) -> None:
        self._table = table
        self._waiting: list[Row] = []
        self._chunks = [table.schema.empty_table()]
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Add a row, whose values are in the order of the columns."""
        self._waiting.append(row)
        if len(self._waiting) >= _CHUNK_ROWS:
            self._flush()

    def arrow(self, chosen: Iterable[int] | None = None) -> Any:  # noqa: ANN401 -- pyarrow ships no types
        """Return all rows, or those with row numbers in `chosen`, sorted by the table's `order`."""
        self._flush()
        found = pa.concat_tables(self._chunks)
        if chosen is not None:
            found = found.take(pa.array(chosen, pa.int64()))
        return found.sort_by([(name, "ascending") for name in self._table.order])

    def _flush(self) -> None:
        if self._waiting:
            self._chunks.append(self._table.arrow(self._waiting))
            self._waiting = []


class RowsInForce:
    """The last row of each id, without the rows of deleted ids."""

    def __init__(self, table: HistoryTable) -> None:
        self._rows = Rows(table)
        self._taken = 0
        self._last: dict[int, int] = {}

    def put(self, row_id: int, row: Row) -> None:
        """Store the row in place of the former row with this id."""
        self._rows.add(row)
        self._last[row_id] = self._taken
        self._taken += 1

    def remove(self, row_id: int) -> None:
        """Forget the row of a deleted id."""
        self._last.pop(row_id, None)

    def arrow(self) -> Any:  # noqa: ANN401 -- pyarrow ships no types
        """Return the rows in force, sorted by the table's `order`."""
        return self._rows.arrow(sorted(self._last.values()))
