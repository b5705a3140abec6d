"""Runs functions at the same time, each on its own database connection."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

PATIENCE_S = 120.0


def at_the_same_time(*calls: Callable[[], object]) -> list[Any]:
    """Run the calls at the same time. Return their results or exceptions in the same order."""
    gate = Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        connection.ensure_connection()
        gate.wait(PATIENCE_S)
        try:
            return call()
        except Exception as problem:  # noqa: BLE001 -- the outcome is what the test looks at
            return problem
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls, timeout=PATIENCE_S))
