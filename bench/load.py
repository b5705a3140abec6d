"""Sale lines at a planned rate, written directly into Postgres by multi-row statements.

The load is open loop: each statement has a planned time, and a late sender catches up instead of
skipping statements. So a slow pipeline causes longer delays, not a lower rate.
"""

import random
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import psycopg

from cdc.contracts.partition import partition_of

_LARGEST_BATCH: Final = 100
_STATEMENTS_A_SECOND: Final = 10
_INSERT: Final = """
INSERT INTO retail.sale_line
    (source, source_ref, inv_key, location, sku, quantity_units, amount_minor, occurred_at)
SELECT %(source)s, line.ref, %(location)s || '|' || line.sku, %(location)s, line.sku, 1, 100,
    clock_timestamp()
FROM unnest(%(refs)s::text[], %(skus)s::text[]) line (ref, sku)
"""


@dataclass(slots=True)
class Load:
    """A writer of sale lines at a new location, so that a benchmark changes no other key."""

    connection: psycopg.Connection
    location: str = field(default_factory=lambda: f"BENCH-{uuid.uuid4().hex[:8].upper()}")
    written: int = 0

    def insert(self, skus: Sequence[str]) -> None:
        """Write one line per SKU in one statement and transaction."""
        refs = [str(self.written + number) for number in range(len(skus))]
        asked = {"source": self.location, "location": self.location, "refs": refs, "skus": skus}
        self.connection.execute(_INSERT, asked)
        self.written += len(skus)

    def markers(self, partitions: int) -> dict[str, int]:
        """Return one SKU per partition, mapped to its partition.

        The caller writes one line of each SKU after all other lines. When this line arrives, all
        earlier lines of its partition have arrived.
        """
        found: dict[str, int] = {}
        number = 0
        while len(found) < partitions:
            sku = f"M{number}"
            place = partition_of(f"{self.location}|{sku}".encode(), partitions)
            if place not in found.values():
                found[sku] = place
            number += 1
        return found


def batch_of(rate: int) -> int:
    """Return the number of lines in one statement: `rate` / 10, but at least 1 and at most 100.

    With larger statements, a short run at a low rate would write fewer lines than planned.
    """
    return max(1, min(_LARGEST_BATCH, rate // _STATEMENTS_A_SECOND))


def planned(rate: int, seconds: float, batch: int) -> Iterator[float]:
    """Wait until each batch is due, then yield its planned time: seconds after the first batch."""
    started = time.monotonic()
    for number in range(int(rate * seconds) // batch):
        due = number * batch / rate
        ahead = due - (time.monotonic() - started)
        if ahead > 0:
            time.sleep(ahead)
        yield due


def baskets(rate: int, lines: int, most: int, seed: int = 1) -> Iterator[int]:
    """Yield the sizes of baskets (1 to `most` lines) at the pace of `rate` lines a second.

    The function yields a size when its basket is due. The sizes add up to `lines`, and equal seeds
    give equal sizes.
    """
    drawn = random.Random(seed)  # noqa: S311 -- a repeatable load, no secret
    started, sold = time.monotonic(), 0
    while sold < lines:
        ahead = sold / rate - (time.monotonic() - started)
        if ahead > 0:
            time.sleep(ahead)
        size = min(drawn.randint(1, most), lines - sold)
        yield size
        sold += size


def percentile(ordered: Sequence[float], per_mille: int) -> float:
    """Return the nearest-rank percentile of values in rising order; 990 per mille is p99."""
    rank = -(-len(ordered) * per_mille // 1000)
    return ordered[max(0, rank - 1)]
