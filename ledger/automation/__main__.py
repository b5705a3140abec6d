"""Run every automation job in turn until a signal arrives: `python -m ledger.automation`.

Each run of a job is limited in size, and a repeated run changes nothing. Two processes may run the
same job at once, so no leader election is needed. After a lost database connection the loop
reconnects. Any other error ends the process, and the supervisor restarts it.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import django
import structlog

from cdc.logs import configure_logging
from cdc.processes import RETRY_AFTER_S, stop_event
from ledger.kernel.service_process import limit_connections, report_alive

SERVICE: Final = "automation"
PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 300.0  # a run can take long because it waits for a lock
_PAUSE_FACTOR: Final = 49  # a job with many items takes at most 1 / (1 + 49) of the time


class Job(NamedTuple):
    """A periodic job. `work` returns the number of changes.

    A run begins `every_s` seconds after the end of the last one, or `pause_factor` times the
    duration of the last one if that is longer. The pause is at most `_LONGEST_PAUSE_S`.
    """

    work: Callable[[], int]
    every_s: float
    pause_factor: int = 0

    def pause_s(self, took_s: float) -> float:
        """Return the seconds to wait after a run that took `took_s` seconds."""
        return max(self.every_s, min(_LONGEST_PAUSE_S, self.pause_factor * took_s))


log = structlog.get_logger(__name__)


def jobs() -> dict[str, Job]:
    """Return the jobs by name, in the order in which `run` executes them."""
    from ledger.automation import (  # noqa: PLC0415 -- after setup
        prices,
        reorders,
        scorecard,
        sends,
        tasks,
    )

    return {
        "sends": Job(sends.send_due, 1.0),
        "reorders": Job(reorders.approve_due, 2.0),
        "prices": Job(prices.write_due, 2.0),
        "tasks": Job(tasks.refresh_quick, 5.0),
        "open tasks": Job(tasks.refresh_slow, 30.0, _PAUSE_FACTOR),
        "tasks of all items": Job(tasks.Sweep().advance, 1.0, _PAUSE_FACTOR),
        "scorecard": Job(scorecard.write_back, 60.0),
    }


def run(due: Mapping[str, Job], stop: threading.Event, *, pause_s: float = PAUSE_S) -> None:
    """Run each job when it is due, until `stop` is set. Each round first writes a heartbeat row."""
    from django.db import InterfaceError, OperationalError, connection  # noqa: PLC0415 -- after setup

    done: dict[str, int] = dict.fromkeys(due, 0)
    next_s: dict[str, float] = dict.fromkeys(due, 0.0)
    while not stop.is_set():
        try:
            report_alive(SERVICE, done)
            for name, job in due.items():
                if not stop.is_set() and time.monotonic() >= next_s[name]:
                    started_s = time.monotonic()
                    done[name] = _timed(name, job)
                    ended_s = time.monotonic()
                    next_s[name] = ended_s + job.pause_s(ended_s - started_s)
            stop.wait(pause_s)
        except (OperationalError, InterfaceError) as problem:
            log.warning("database_lost", error=str(problem).strip())
            connection.close()
            stop.wait(RETRY_AFTER_S)


def _timed(name: str, job: Job) -> int:
    started = time.monotonic()
    changed = job.work()
    if changed:
        milliseconds = round((time.monotonic() - started) * 1000)
        log.info("job_done", job=name, changed=changed, milliseconds=milliseconds)
    return changed


def main() -> None:
    """Run the automation jobs until SIGTERM or SIGINT."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.config.settings")
    django.setup()
    configure_logging(service=SERVICE)
    limit_connections(SERVICE, statement_s=60)
    stop = stop_event()
    due = jobs()
    log.info("automation_started", jobs=list(due))
    run(due, stop)


if __name__ == "__main__":
    main()
