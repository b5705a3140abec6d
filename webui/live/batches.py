"""Database reads that answer many streams at once.

When a web server restarts, every open page reconnects within a second. If each stream had a thread
with a connection, the streams would need more connections than Postgres allows. So one thread with
one connection answers all questions that wait.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Batches(Generic[Q, A]):
    """One thread that answers questions in batches of up to `most`.

    Questions that arrive during a batch wait for the next one. `read` runs in the thread. It
    returns one answer per question, in order, and has to close its database connection.
    """

    def __init__(self, name: str, read: Callable[[Sequence[Q]], Sequence[A]], most: int) -> None:
        self._read = read
        self._most = most
        self._waiting: deque[tuple[Q, Future[A]]] = deque()
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def ask(self, question: Q) -> A:
        """Return the answer to `question`, from a batch that begins after this call.

        Raises:
            Exception: `read` failed. Every question of the batch gets the same error.
        """
        future: Future[A] = Future()
        with self._lock:
            self._waiting.append((question, future))
        # A batch answers all questions that wait. So a later run of `_answer` may find none.
        self._thread.submit(self._answer)
        return await asyncio.wrap_future(future)

    def _answer(self) -> None:
        with self._lock:
            number = min(self._most, len(self._waiting))
            asked = [self._waiting.popleft() for _ in range(number)]
        # Leave out a cancelled question: its client has disconnected.
        wanted = [(each, future) for each, future in asked if future.set_running_or_notify_cancel()]
        if not wanted:
            return
        try:
            answers = self._read([each for each, _ in wanted])
            for (_, future), answer in zip(wanted, answers, strict=True):
                future.set_result(answer)
        except Exception as failure:  # noqa: BLE001 -- each waiting request raises it
            for _, future in wanted:
                if not future.done():
                    future.set_exception(failure)
