"""A thread that writes a batch to Postgres while the sink reads and decodes the next one."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias

from streams.sinks.positions import Connection

# Writes a batch and the positions after it, in a transaction that the caller has begun.
Write: TypeAlias = Callable[[Connection], None]


class Writer:
    """Commits batches one after the other, each in one transaction.

    Between `start` and the end of `wait`, no other code may use the connection.
    """

    def __init__(self, connection: Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread
        self._running: Future[None] | None = None

    def start(self, write: Write) -> None:
        """Begin to write a batch. Between two calls of `start`, `wait` must have returned."""
        self._running = self._thread.submit(self._commit, write)

    def wait(self) -> bool:
        """Wait until the last batch is committed.

        Return False if no batch was started since the last call.

        Raises:
            Exception: the batch wasn't committed, because `write` or Postgres raised this error.
        """
        running, self._running = self._running, None
        if running is None:
            return False
        running.result()
        return True

    def _commit(self, write: Write) -> None:
        with self._connection.transaction():
            write(self._connection)


@contextmanager
def writing(connection: Connection) -> Iterator[Writer]:
    """Yield a writer. At the end of the block, wait until a running transaction has ended."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer") as thread:
        yield Writer(connection, thread)
