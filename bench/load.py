"""Sale lines at a planned rate, written directly into Postgres by multi-row statements.

Open loop: the time of every statement is planned from the start, and a late sender never skips. So
a pipeline that falls behind shows as delay and not as a lower rate.
"""

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import psycopg

from cdc.contracts.partition import partition_of

_INSERT: Final = """
INSERT INTO retail.sale_line
    (source, source_ref, inv_key, location, sku, quantity_units, amount_minor, occurred_at)
SELECT %(source)s, line.ref, %(location)s || '|' || line.sku, %(location)s, line.sku, 1, 100,
    clock_timestamp()
FROM unnest(%(refs)s::text[], %(skus)s::text[]) line (ref, sku)
"""


@dataclass(slots=True)
class Load:
    """A writer of lines under a separate location, so that a benchmark touches no other key."""

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
        """Return one SKU per partition.

        The caller writes one line of each SKU after all others. Its arrival proves that all earlier
        lines of its partition arrived.
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


def planned(rate: int, seconds: float, batch: int) -> Iterator[float]:
    """Yield the planned second of every batch when it is due, counted from the first."""
    started = time.monotonic()
    for number in range(int(rate * seconds) // batch):
        due = number * batch / rate
        ahead = due - (time.monotonic() - started)
        if ahead > 0:
            time.sleep(ahead)
        yield due


def percentile(ordered: Sequence[float], per_mille: int) -> float:
    """Return the nearest-rank percentile of sorted values."""
    rank = -(-len(ordered) * per_mille // 1000)
    return ordered[max(0, rank - 1)]
