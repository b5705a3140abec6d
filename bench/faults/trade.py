"""Load during a fault: ten sale lines in one transaction, five times a second."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg

from bench.faults.stack_under_test import StackUnderTest

_EVERY_S: Final = 0.2
_SELL: Final = """
INSERT INTO retail.sale_line
    (inv_key, location, sku, source, source_ref, quantity_units, amount_minor, occurred_at)
SELECT 'FAULTS|F' || n, 'FAULTS', 'F' || n, 'faults', %s || '-' || n, 1, 250, clock_timestamp()
FROM generate_series(1, 10) AS n
"""


@dataclass(slots=True)
class Load:
    """Numbers of transactions that Postgres committed, and that it refused or didn't answer."""

    committed: int = 0
    refused: int = 0


@contextmanager
def trading(stack: StackUnderTest, load: Load) -> Iterator[None]:
    """Sell in a thread until the block ends, and count the transactions in `load`."""
    stopped = threading.Event()

    def trade() -> None:
        while not stopped.wait(_EVERY_S):
            try:
                stack.sql(_SELL, uuid.uuid4().hex, role="app_rw")
            except (psycopg.Error, OSError, ValueError, KeyError):
                load.refused += 1  # no retry: the next transaction is a new sale
            else:
                load.committed += 1

    thread = threading.Thread(target=trade, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
