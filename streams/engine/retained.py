"""A check that a restore found as many window rows of each key as its level counts.

Without this check, a key whose last rows are missing would look as if it had sold nothing. No
worker deletes rows from the changelog. But an operator may truncate the changelog, and a broker may
lose records.
"""

from collections.abc import Container
from typing import Final, NamedTuple

from cdc.contracts.progress import Headers
from cdc.contracts.retained import retained_in
from cdc.contracts.topics import SALES_WINDOWS_CHANGELOG, WINDOW_RETENTION_MS
from inventory.model.arithmetic import DAY_US
from inventory.model.ids import InvKey
from streams.engine.mismatch import REPAIR, LogMismatch

_DAY_MS: Final = DAY_US // 1000
# The broker deletes a row `WINDOW_RETENTION_MS` after its last write. The level of a key without
# later records still counts this row. A level counts only rows that were written in the 10 days
# before it. So all its rows exist until the level is this many days old.
_AGED_DAYS: Final = WINDOW_RETENTION_MS // _DAY_MS - 10


class _Count(NamedTuple):
    """Numbers of window rows of a key: `rows`, by its level's header, and `in_level` in its level.

    `day` is the day on which the level was written, in days since 1970 UTC.
    """

    rows: int
    in_level: int
    day: int


class Retained:
    """The number of window rows that each key must have, by the header of its newest level.

    A level is the changelog's record of a key's state. A level without the header `retained` is not
    checked. It contains all rows of its key, or a release without that header wrote it.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._counts: dict[InvKey, _Count] = {}
        # One object for each distinct value saves memory: a million keys have few distinct values.
        self._shared: dict[_Count, _Count] = {}
        self._newest_day = 0

    def store_count(self, key: InvKey, headers: Headers, at_ms: int, *, rows_in_level: int) -> None:
        """Store the row count from the `headers` of the key's next level.

        `at_ms` is the time at which the level was written, in ms since 1970 UTC. The level itself
        contains `rows_in_level` of the key's window rows.

        Raises:
            UnreadableRecord: the header is of an unknown version.
        """
        rows, day = retained_in(headers), at_ms // _DAY_MS
        self._newest_day = max(self._newest_day, day)
        if rows is None:
            self._counts.pop(key, None)
        else:
            counted = _Count(rows, rows_in_level, day)
            self._counts[key] = self._shared.setdefault(counted, counted)

    def check(self, key: InvKey, found: int) -> None:
        """Compare the row count of the key's level with `found`, the number of rows found.

        Raises:
            LogMismatch: the numbers differ, and all rows are too young for the broker to have
                deleted them.
        """
        count = self._counts.get(key)
        if count is not None and found != count.rows and not self._is_aged(count.day):
            problem = (
                f"{SALES_WINDOWS_CHANGELOG}[{self._number}] has {found} of the {count.rows} rows "
                f"of {key}: it was truncated, or has lost records; {REPAIR}"
            )
            raise LogMismatch(problem)

    def check_others(self, checked: Container[InvKey]) -> None:
        """Check the keys that are not in `checked`. All their window rows must be in their levels.

        Raises:
            LogMismatch: a level counts another number of rows than it contains; see `check`.
        """
        for key, count in self._counts.items():
            if key not in checked:
                self.check(key, count.in_level)

    def _is_aged(self, day: int) -> bool:
        return self._newest_day - day >= _AGED_DAYS
