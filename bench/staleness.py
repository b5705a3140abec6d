"""The time from a sale until a worker shows it, measured while the workers change.

A thread sells one key per partition at a fixed interval. One thread per key queries the workers
until they show the last sale. A worker that owns a partition but doesn't process it yet still shows
the on-hand before the sale. So the measured time includes a rebalance and a restore.
"""

import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import quote

import httpx
import psycopg

from bench.errors import BenchFailed
from bench.faults.probe import one_per_partition, sell
from cdc.settings import Connections
from cdc.worker_addresses import worker_urls

SELL_EVERY_S: Final = 0.25
_QUERY_EVERY_S: Final = 0.05
_QUERY_TIMEOUT_S: Final = 1.0


@dataclass(slots=True)
class _Key:
    """The sales of one key: times of their commits, and times when a worker first showed them."""

    sku: str
    committed: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)


class Staleness:
    """Threads that sell and that query the workers, until the end of the `with` block.

    If Postgres fails during a sale, the selling thread ends. That sale may have been committed, so
    the bench couldn't tell which sales a later on-hand figure includes.
    """

    def __init__(self, settings: Connections) -> None:
        self._settings = settings
        self._location = f"BENCH-{uuid.uuid4().hex[:8].upper()}"
        self._keys = [_Key(sku) for sku in one_per_partition(self._location)]
        self._ends = threading.Event()
        self._failed_sale: psycopg.OperationalError | None = None
        work = [self._sell, *(lambda key=key: self._query(key) for key in self._keys)]
        self._threads = [threading.Thread(target=each, daemon=True) for each in work]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def delays(self, since: float, until: float, timeout_s: float) -> list[float]:
        """Return the sorted seconds until workers showed the sales of a time span.

        The seconds of a sale begin with its commit. The call waits until workers show all sales
        committed from `since` to `until`, which are values of `time.monotonic`.

        Raises:
            BenchFailed: Postgres refused a sale, or workers don't show one within `timeout_s`
                seconds.
        """
        if self._failed_sale is not None:
            problem = f"a sale failed, so the measurement ended: {self._failed_sale}"
            raise BenchFailed(problem)
        deadline = time.monotonic() + timeout_s
        found = []
        for key in self._keys:
            sales = [at for at in list(key.committed) if at <= until]
            while len(key.shown) < len(sales):
                if time.monotonic() > deadline:
                    problem = f"after {timeout_s:g} s no worker shows the sales of {key.sku}"
                    raise BenchFailed(problem)
                time.sleep(_QUERY_EVERY_S)
            shown = zip(sales, key.shown, strict=False)  # later sales may be shown already
            # A worker may show a sale before this process has seen its commit.
            found += [max(0.0, seen - at) for at, seen in shown if at >= since]
        return sorted(found)

    def _sell(self) -> None:
        skus, number = [key.sku for key in self._keys], 0
        while not self._ends.wait(SELL_EVERY_S):
            try:
                sell(self._settings, self._location, skus, f"{self._location}-{number}")
            except psycopg.OperationalError as error:
                self._failed_sale = error
                return
            now, number = time.monotonic(), number + 1
            for key in self._keys:
                key.committed.append(now)

    def _query(self, key: _Key) -> None:
        token = self._settings.query_token.get_secret_value()
        path = f"/iq/v1/store/on-hand/{quote(f'{self._location}|{key.sku}')}"
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(headers=headers, timeout=_QUERY_TIMEOUT_S, trust_env=False) as client:
            while not self._ends.wait(_QUERY_EVERY_S):
                if len(key.shown) < len(key.committed):
                    sold = self._sold(client, path)
                    key.shown += [time.monotonic()] * (sold - len(key.shown))

    def _sold(self, client: httpx.Client, path: str) -> int:
        """Return the units sold according to the first worker that answers; 0 if none answers."""
        for url in worker_urls(self._settings).values():
            try:
                answer = client.get(f"{url}{path}")
            except httpx.HTTPError:
                continue
            if answer.is_success:
                return -int(answer.json()["on_hand_units"])
        return 0
