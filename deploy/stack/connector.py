"""Restarts the connector's failed task as a person would: not at once, and not for ever."""

import contextlib
from typing import Final

import httpx

from cdc.capture.client import ConnectClient
from deploy.stack.context import Context
from deploy.stack.supervisor import Supervisor

_EVERY_S: Final = 5.0
_FAILED_FOR_S: Final = 10.0
_RESTARTS_PER_HOUR: Final = 5
_HOUR_S: Final = 3600.0


class Patience:
    """When a task that fails is to be restarted: after a while, and a few times an hour only.

    A poison row fails for ever, and each restart reads the log from the last commit on.
    """

    def __init__(self) -> None:
        self._restarts: list[float] = []
        self._failed_since: float | None = None

    def is_over(self, now: float, *, failed: bool) -> bool:
        """Whether to restart at `now` a task that was seen to be failed, or not."""
        if not failed:
            self._failed_since = None
            return False
        self._failed_since = self._failed_since or now
        self._restarts = [at for at in self._restarts if now - at < _HOUR_S]
        long_enough = now - self._failed_since >= _FAILED_FOR_S
        return long_enough and len(self._restarts) < _RESTARTS_PER_HOUR

    def restarted(self, now: float) -> None:
        """Count a restart."""
        self._restarts.append(now)
        self._failed_since = None


class ConnectorWatch:
    """Restarts the connector's failed task."""

    def __init__(self, context: Context, supervisor: Supervisor) -> None:
        self._client = ConnectClient(context.connect_url, context.secrets["connect"], timeout_s=5.0)
        self._supervisor = supervisor
        self._patience = Patience()
        self._next_look = 0.0

    def look(self, now: float) -> None:
        """Ask now and then, and restart the task when patience is over."""
        if now < self._next_look:
            return
        self._next_look = now + _EVERY_S
        if not self._patience.is_over(now, failed=self._client.state().failed):
            return
        # In a rebalance or a restart of Connect's worker it refuses; the next look finds it again.
        with contextlib.suppress(httpx.HTTPError):
            self._client.restart_failed()
            self._patience.restarted(now)
            restarts = self._supervisor.runtime.connector_restarts + 1
            self._supervisor.note(connector_restarts=restarts)
