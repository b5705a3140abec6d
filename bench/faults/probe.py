"""Probe keys: one item per partition, of which the bench sells one unit after a fault.

A key is fresh once the on-hand that a worker returns includes the last sale of the key.
"""

import time
from dataclasses import dataclass, field
from urllib.parse import quote

import httpx
import psycopg

from cdc.contracts.partition import partition_of
from cdc.contracts.topics import PARTITIONS
from cdc.settings import Connections
from cdc.worker_addresses import worker_urls

_ASK_S = 1.0
_POLL_S = 0.05
_SELL = """
INSERT INTO retail.sale_line
    (inv_key, location, sku, source, source_ref, quantity_units, amount_minor, occurred_at)
SELECT %(location)s || '|' || sku, %(location)s, sku, 'faults', %(run)s || '-' || sku, 1, 250,
    clock_timestamp()
FROM unnest(%(skus)s::text[]) AS sku
"""


class NotFresh(Exception):
    """Workers did not show the last sale of some probe keys in time; the message names the keys."""


def sell(settings: Connections, location: str, skus: list[str], run: str) -> None:
    """Commit a sale of one unit of each item, all in one transaction."""
    url = settings.database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        connection.execute(_SELL, {"location": location, "skus": skus, "run": run})


def one_per_partition(location: str) -> list[str]:
    """Return one SKU for each partition, sorted by SKU.

    The key of the SKU at this location is in the partition.
    """
    found: dict[int, str] = {}
    number = 0
    while len(found) < PARTITIONS:
        sku = f"P{number}"
        found.setdefault(partition_of(f"{location}|{sku}".encode()), sku)
        number += 1
    return sorted(found.values())


@dataclass(slots=True)
class Probe:
    """The probe keys of one run, and the number of units sold of each."""

    settings: Connections
    location: str
    sold: int = 0
    skus: list[str] = field(default_factory=list)

    def sell(self) -> None:
        """Sell one more unit of each key."""
        self.skus = self.skus or one_per_partition(self.location)
        self.sold += 1
        sell(self.settings, self.location, self.skus, f"{self.location}-{self.sold}")

    def wait_fresh(self, timeout_s: float) -> None:
        """Wait until workers show the last sale of every key.

        Raises:
            NotFresh: a last sale is not shown after `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        waiting = list(self.skus)
        while waiting := [sku for sku in waiting if not self._is_fresh(sku)]:
            if time.monotonic() > deadline:
                problem = (
                    f"{timeout_s:g} s after their sale, workers still show old numbers of: "
                    f"{', '.join(waiting)}"
                )
                raise NotFresh(problem)
            time.sleep(_POLL_S)

    def _is_fresh(self, sku: str) -> bool:
        token = self.settings.query_token.get_secret_value()
        path = f"/iq/v1/store/on-hand/{quote(f'{self.location}|{sku}')}"
        for url in worker_urls(self.settings).values():
            try:
                answer = httpx.get(
                    f"{url}{path}",
                    headers={"Authorization": f"Bearer {token}"},
                    timeout=_ASK_S,
                    trust_env=False,
                )
            except httpx.HTTPError:
                continue
            if answer.is_success:
                return bool(answer.json()["on_hand_units"] == -self.sold)
        return False
