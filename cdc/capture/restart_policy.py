"""The limits of automatic restarts of a failed connector or task."""

from typing import Final

_FAILED_FOR_S: Final = 5.0
_RESTARTS_PER_HOUR: Final = 5
_HOUR_S: Final = 3600.0


class RestartPolicy:
    """The rule for restarts of a failed task: 5 s after its failure, at most five in an hour.

    There is a limit because every restart fails if the connector can't process a row. Each restart
    also reads Postgres' write-ahead log again, from the last confirmed position.
    """

    def __init__(self) -> None:
        self._restarts: list[float] = []
        self._failed_since: float | None = None

    def is_restart_due(self, now: float, *, failed: bool) -> bool:
        """Return True if the task has been FAILED for ≥ 5 s, with < 5 restarts in the last hour.

        Call this regularly. `now` is in seconds of a monotonic clock. `failed` is True if the task
        is in state FAILED at this time.
        """
        if not failed:
            self._failed_since = None
            return False
        if self._failed_since is None:
            self._failed_since = now
        self._restarts = [at for at in self._restarts if now - at < _HOUR_S]
        long_enough = now - self._failed_since >= _FAILED_FOR_S
        return long_enough and len(self._restarts) < _RESTARTS_PER_HOUR

    def count_restart(self, now: float) -> None:
        """Count a restart at `now`."""
        self._restarts.append(now)
        self._failed_since = None
