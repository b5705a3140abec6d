"""Repeated checks of all open streams of a web process, by one task and one thread.

Each check reads the sessions, persons and stores of all streams, and ends the streams that their
persons may not follow any more. If a check fails or takes long, no stream ends. If streams ended,
an outage of the database would make all pages reconnect at once. Until a check succeeds again, the
streams send neither figures nor the event `age`. A page shows Offline after 4 s without this event.
"""

import asyncio
import contextvars
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import structlog
from django.db import DatabaseError

from webui.live.access import Asked, Refusal
from webui.live.hub import Subscriber

# Time from the beginning of one check to the beginning of the next.
CHECK_EVERY_S: Final = 5.0
# Time from the beginning of a failed check to the beginning of the next.
RETRY_S: Final = 1.0
# A stream sends figures for this time after the beginning of its last successful check. It is
# longer than `CHECK_EVERY_S`, because a check takes time itself.
CONFIRMED_S: Final = 6.0

log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class Following:
    """An open stream. Its last successful check began at `confirmed_at` (`time.monotonic`)."""

    asked: Asked
    subscriber: Subscriber[bytes]
    confirmed_at: float
    is_over: bool = False
    is_refused: bool = False

    def is_confirmed(self, now: float) -> bool:
        """Return True if the stream may send figures at `now`, in seconds of `time.monotonic`."""
        return now - self.confirmed_at <= CONFIRMED_S

    def end(self) -> None:
        """Wake the stream, so that it ends."""
        self.is_over = True
        self.subscriber.changed.set()


class Watch:
    """The open streams of this process. A task checks them repeatedly while there are any."""

    def __init__(self, refusals: Callable[[Sequence[Asked]], Sequence[Refusal | None]]) -> None:
        self._refusals = refusals
        self._open: dict[int, Following] = {}
        self._task: asyncio.Task[None] | None = None
        # A thread of its own, so that a check doesn't wait for streams that open.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live-check")
        self._fails = False

    def add(self, following: Following) -> None:
        """Check this stream from now on, every `CHECK_EVERY_S` seconds."""
        self._open[id(following)] = following
        if self._task is None or self._task.done():
            # The task outlives the stream that starts it. So it gets an empty context, and not the
            # context of the stream's request.
            self._task = asyncio.create_task(self._run(), context=contextvars.Context())

    def remove(self, following: Following) -> None:
        """Forget a stream that has ended."""
        self._open.pop(id(following), None)

    async def _run(self) -> None:
        try:
            began = time.monotonic()
            while self._open:
                due = began + (RETRY_S if self._fails else CHECK_EVERY_S)
                await asyncio.sleep(due - time.monotonic())
                began = time.monotonic()
                await self._check(began)
        finally:
            # End all streams after an unexpected error, too: no stream may continue unchecked.
            for following in self._open.values():
                following.end()

    async def _check(self, began: float) -> None:
        """Confirm or end every open stream. `began` is the present `time.monotonic`."""
        checked = list(self._open.values())
        asked = [following.asked for following in checked]
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._thread, self._refusals, asked)
        except DatabaseError as failure:
            if not self._fails:
                log.warning(
                    "open streams pause: the database doesn't answer their check",
                    streams=len(checked),
                    error=type(failure).__name__,
                )
            self._fails = True
            return
        if self._fails:
            log.info("open streams continue", streams=len(checked))
        self._fails = False
        for following, refusal in zip(checked, found, strict=True):
            if refusal is None:
                following.confirmed_at = began
            else:
                following.is_refused = True
                following.end()
