"""The process of a worker: its signals and its end.

SIGTERM stops a worker that will be started again: it stays a member of its group, so that a restart
moves no partition. `LEAVE_SIGNAL` stops a worker that won't be started again. This worker leaves
the group before it saves its snapshots, so that other workers continue at once.
"""

import asyncio
import signal
from typing import Any, Final

import faust
from typing_extensions import override

from streams.stop_signals import LEAVE_SIGNAL

_CANCELLED_S: Final = 1.0  # time limit for cancelled tasks, after all services have stopped


class WorkerProcess(faust.Worker):
    """Faust's worker with one more signal. It ends as soon as all services have stopped.

    After its services have stopped, Faust by default waits for other tasks for a second and sleeps
    another second. The partitions of a restarting worker would be idle for these two seconds.

    `is_leaving` is True after `LEAVE_SIGNAL`.
    """

    def __init__(self, app: faust.App) -> None:
        super().__init__(app, loglevel="WARNING", redirect_stdouts=False, quiet=True)
        self.spinner = None  # Faust's spinner would write into the log
        self.override_logging = False  # Faust's own lines are JSON too
        self.is_leaving = False
        self._stopping: asyncio.Task[Any] | None = None

    @override
    def install_signal_handlers(self) -> None:
        """Handle `LEAVE_SIGNAL` besides Faust's signals."""
        super().install_signal_handlers()
        self.loop.add_signal_handler(LEAVE_SIGNAL, self._leave)

    def _leave(self) -> None:
        self.is_leaving = True
        signal.raise_signal(signal.SIGTERM)

    @override
    async def stop(self) -> None:
        """Stop all services, and return when they have stopped.

        A further call doesn't stop them again. It waits for the same stop.
        """
        if self._stopping is None:
            self._stopping = asyncio.create_task(super().stop())
        await self._stopping

    @override
    def stop_and_shutdown(self) -> None:
        """Stop all services, cancel the tasks that are left, and close the event loop."""
        if not self.crashed:
            self.loop.run_until_complete(self._end())
        if self.crashed:
            super().stop_and_shutdown()  # raises the error that ended the worker
        self.loop.close()

    async def _end(self) -> None:
        await self.stop()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest, timeout=_CANCELLED_S)
