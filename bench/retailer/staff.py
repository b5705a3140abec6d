"""Simulated staff of a run. Their thread is separate, so that sales keep their planned rate."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog
from django.db import OperationalError, connection
from typing_extensions import override

from bench.retailer import buyers
from bench.retailer.buyers import Habits
from bench.retailer.counting import Counting
from bench.retailer.deliveries import Deliveries
from bench.retailer.tally import Traded

ROUND_S: Final = 1.0
# A restart of Postgres on a busy machine may take this long.
RETRY_S: Final = 60.0

log = structlog.get_logger()


@dataclass(slots=True)
class Staff:
    """Rounds of deliveries, decisions and counts. Prices are read again every 15 rounds."""

    seed: int
    habits: Habits
    deliveries: Deliveries
    counting: Counting
    done: Traded
    reload_prices: Callable[[], None]
    rounds: int = field(default=0)

    def work(self) -> None:
        """Execute one round."""
        self.deliveries.work()
        buyers.decide_reorders(self.seed, self.habits, self.done)
        buyers.decide_prices(self.seed, self.habits, self.done)
        self.counting.work()
        self.rounds += 1
        if self.rounds % 15 == 0:
            self.reload_prices()


class StaffThread(threading.Thread):
    """A thread that executes rounds of `Staff` until `finish` is called or an error ends it."""

    def __init__(self, staff: Staff) -> None:
        super().__init__(name="staff", daemon=True)
        self._staff = staff
        self._stopping = threading.Event()
        self._problem: Exception | None = None

    @override
    def run(self) -> None:
        """Execute a round every second until `finish` is called. Then submit the last counts."""
        try:
            while not self._stopping.wait(ROUND_S):
                retry_on_database_loss(self._staff.work)
            retry_on_database_loss(self._staff.counting.work)
        except Exception as problem:  # noqa: BLE001 -- the edge of the thread: raised by `finish`
            self._problem = problem
        finally:
            connection.close()

    @property
    def is_broken(self) -> bool:
        """Return True if the thread has ended with an error."""
        return self._problem is not None

    def finish(self) -> None:
        """Stop after the current round; raise the error that ended the thread, if any."""
        self._stopping.set()
        self.join()
        if self._problem is not None:
            raise self._problem


def retry_on_database_loss(work: Callable[[], None]) -> None:
    """Execute `work`. After a lost database connection, wait 1 s and execute it again, up to 60 s.

    So `work` must be idempotent: its commands have ids.

    Raises:
        OperationalError: the database is still lost after 60 s.
    """
    deadline = time.monotonic() + RETRY_S
    while True:
        try:
            work()
        except OperationalError as problem:
            if time.monotonic() > deadline:
                raise
            log.warning("database_lost", error=str(problem).strip())
            connection.close()
            time.sleep(1)
        else:
            return
