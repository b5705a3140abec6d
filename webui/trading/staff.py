"""Everybody who works while customers buy: a thread of its own, so that tills keep their rate."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog
from django.db import OperationalError, connection
from typing_extensions import override

from webui.trading import buyers
from webui.trading.buyers import Habits
from webui.trading.counting import Counting
from webui.trading.goods import Goods
from webui.trading.tally import Traded

ROUND_S: Final = 1.0
# As long as a restart of Postgres on a busy machine may take.
PATIENCE_S: Final = 60.0

log = structlog.get_logger()


@dataclass(slots=True)
class Staff:
    """One round: lorries, desks, counts; `look` reads the shelf labels again now and then."""

    seed: int
    habits: Habits
    goods: Goods
    counting: Counting
    done: Traded
    look: Callable[[], None]
    rounds: int = field(default=0)

    def work(self) -> None:
        """One round of everybody's work."""
        self.goods.work()
        buyers.buy(self.seed, self.habits, self.done)
        buyers.price(self.seed, self.habits, self.done)
        self.counting.work()
        self.rounds += 1
        if self.rounds % 15 == 0:
            self.look()


class StaffThread(threading.Thread):
    """Works rounds until it is asked to stop; what ends it is raised by `finish`."""

    def __init__(self, staff: Staff) -> None:
        super().__init__(name="staff", daemon=True)
        self._staff = staff
        self._stopping = threading.Event()
        self._problem: Exception | None = None

    @override
    def run(self) -> None:
        """Work until the tills close."""
        try:
            while not self._stopping.wait(ROUND_S):
                patiently(self._staff.work)
            patiently(self._staff.counting.work)
        except Exception as problem:  # noqa: BLE001 -- the edge of the thread: raised by `finish`
            self._problem = problem
        finally:
            connection.close()

    @property
    def is_broken(self) -> bool:
        """Whether it has ended because of an error."""
        return self._problem is not None

    def finish(self) -> None:
        """Let the round end; raises what ended the thread, if it was an error."""
        self._stopping.set()
        self.join()
        if self._problem is not None:
            raise self._problem


def patiently(work: Callable[[], None]) -> None:
    """Do `work`; a database that restarts is waited for, and the work is done again.

    So `work` must be repeatable: its commands carry ids.
    """
    gives_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            work()
        except OperationalError as problem:
            if time.monotonic() > gives_up:
                raise
            log.warning("database_lost", error=str(problem).strip())
            connection.close()
            time.sleep(1)
        else:
            return
