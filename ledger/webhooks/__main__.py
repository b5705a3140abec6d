"""Run the sender of webhooks until a signal arrives: `python -m ledger.webhooks`.

Up to 8 threads send. Each thread sends the messages of one webhook, so a slow receiver occupies one
thread only. Two such processes may run at once, because they lock the rows that they send. After a
lost database connection the loop reconnects. Any other error ends the process, and the supervisor
restarts it.
"""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final

import django
import structlog

from cdc.logs import configure_logging
from cdc.processes import RETRY_AFTER_S, stop_event
from ledger.kernel.service_process import limit_connections, report_alive
from ledger.webhooks.metrics import SenderMetrics, served

SERVICE: Final = "webhooks"
PAUSE_S: Final = 0.5
CLEAN_EVERY_S: Final = 300.0
MOST_THREADS: Final = 8
MOST_A_TURN: Final = 50

log = structlog.get_logger(__name__)


class Sender:
    """The loop of the process; `sending` has the unfinished tasks by webhook id."""

    def __init__(self, stop: threading.Event) -> None:
        self.stop = stop
        self.sending: dict[int, Future[int]] = {}
        self.sent = 0
        self.metrics = SenderMetrics()
        self._clean_at_s = 0.0

    def run(self) -> None:
        """Queue and send messages until `stop` is set, then wait for the running requests."""
        from django.db import InterfaceError, OperationalError, connection  # noqa: PLC0415 -- after setup

        with ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="webhook") as pool:
            while not self.stop.is_set():
                try:
                    self.step(pool)
                    self.stop.wait(PAUSE_S)
                except (OperationalError, InterfaceError) as problem:
                    log.warning("database_lost", error=str(problem).strip())
                    connection.close()
                    self.stop.wait(RETRY_AFTER_S)

    def step(self, pool: ThreadPoolExecutor) -> None:
        """Execute one round.

        Report that the process is alive. Stop the webhooks of ended tokens and disabled accounts.
        Every 5 minutes, expire and delete old messages. Turn new events into messages. Then start a
        task for each webhook that has a message to send now and no task yet.
        """
        from ledger.webhooks import queue, sender  # noqa: PLC0415 -- after setup

        report_alive(SERVICE, {"sending": len(self.sending), "sent": self.sent})
        self._collect()
        sender.end_revoked()
        if time.monotonic() >= self._clean_at_s:
            sender.expire_waiting()
            sender.delete_old()
            self._clean_at_s = time.monotonic() + CLEAN_EVERY_S
        queue.queue_all()
        for webhook_id in sender.due_webhooks():
            if webhook_id not in self.sending:
                send_next = partial(sender.send_next, attempted=self.metrics.attempted)
                self.sending[webhook_id] = pool.submit(self._drain, webhook_id, send_next)

    def _collect(self) -> None:
        """Remove ended tasks; raise the error of a task that failed."""
        for webhook_id, done in [*self.sending.items()]:
            if done.done():
                del self.sending[webhook_id]
                self.sent += done.result()

    def _drain(self, webhook_id: int, send_next: Callable[[int], bool]) -> int:
        """Attempt to send up to 50 messages of one webhook; return the number of attempts."""
        from django.db import connection  # noqa: PLC0415 -- after setup

        tried = 0
        try:
            while tried < MOST_A_TURN and not self.stop.is_set() and send_next(webhook_id):
                tried += 1
            return tried
        finally:
            connection.close()


def main() -> None:
    """Run the sender of webhooks until SIGTERM or SIGINT."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.config.settings")
    django.setup()
    configure_logging(service=SERVICE)
    limit_connections(SERVICE, statement_s=30)
    stop = stop_event()
    log.info("webhooks_started")
    from django.conf import settings  # noqa: PLC0415 -- after setup

    sender = Sender(stop)
    host, port = settings.WEBHOOK_METRICS_HOST, settings.WEBHOOK_METRICS_PORT
    with served(sender.metrics, host, port):
        sender.run()


if __name__ == "__main__":
    main()
