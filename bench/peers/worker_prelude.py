"""Records before the sales in the worker's own input: policy, price and first count of each key.

Without these records the rules would have nothing to decide. The input of the other peers has no
such records, because these peers process sale lines only.
"""

from collections.abc import Iterator

import orjson

from bench.fold_retailer import Retailer


def opening(keys: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of three opening records per key."""
    return ((event.key, event.value) for event in Retailer(keys, seed=1).opening())


def opening_units(keys: int) -> dict[bytes, int]:
    """Return the units of the first count of each key."""
    rows = (orjson.loads(event.value) for event in Retailer(keys, seed=1).opening())
    return {
        row["after"]["inv_key"].encode(): row["after"]["units"]
        for row in rows
        if row["source"]["table"] == "stock_count"
    }
