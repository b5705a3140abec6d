"""Decisions of two runs, record by record in offset order. No partition is held in memory.

A run has one sorted file per partition and key bucket. The files of both runs are merged, so the
runs may differ in engine and number of buckets. Memory holds one batch of each file, and the needs
and price proposals that are open at the current record.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter

from analytics.backfill.diff.compared_runs import ComparedRuns
from analytics.backfill.diff.pairing import A, B, KeyPairs, Pair
from analytics.backfill.diff.revised import KINDS, Revised, price, reorder
from analytics.engines.results import OUTPUTS, read_rows
from analytics.engines.unit import ManifestRow
from cdc.contracts.decisions import NotADecision, decode_price, decode_reorder

Entry = tuple[int, int, bytes, Revised]  # offset, side, key, revision of a decision
Tracked = dict[tuple[str, bytes], KeyPairs]


def partitions_of(runs: ComparedRuns) -> Sequence[int]:
    """Return the partitions that have records, in order."""
    return sorted({row.partition for row in runs.a.rows})


def pairs_of(runs: ComparedRuns, partition: int, key: bytes | None = None) -> Iterator[Pair]:
    """Yield every pair of one partition, or of one key. Pairs open at the end come last."""
    sides = ((A, runs.a.units(partition)), (B, runs.b.units(partition)))
    files = (_rows(unit, side, key) for side, units in sides for unit in units)
    merged = heapq.merge(*files, key=itemgetter(0))
    return paired(
        (offset, side, found, decoded(content)) for offset, side, found, content in merged
    )


def paired(entries: Iterable[Entry]) -> Iterator[Pair]:
    """Pair the decisions of both runs in `entries`, which are in offset order.

    Yield each pair when it is closed. Pairs open at the end come last.
    """
    tracked: Tracked = {}
    for offset, found in groupby(entries, key=itemgetter(0)):
        yield from _taken(tracked, offset, list(found))
    for _name, pairs in sorted(tracked.items(), key=itemgetter(0)):
        yield from pairs.rest()


def _rows(
    unit: ManifestRow, side: int, key: bytes | None
) -> Iterator[tuple[int, int, bytes, bytes]]:
    for found, offset, content in read_rows(unit, OUTPUTS):
        if key is None or found == key:
            yield offset, side, found, content


def _taken(tracked: Tracked, offset: int, entries: Sequence[Entry]) -> Iterator[Pair]:
    """Apply the decisions that one record caused. Yield the pairs that the record closes.

    All these decisions belong to the key of the record.
    """
    key = entries[0][2]
    for kind in KINDS:
        sides = [[e[3] for e in entries if (e[1], e[3].kind) == (s, kind)] for s in (A, B)]
        for revised in zip_longest(*sides):
            pairs = tracked.setdefault((kind, key), KeyPairs())
            yield from pairs.take(offset, revised)
            if pairs.is_empty:
                del tracked[kind, key]


def decoded(content: bytes) -> Revised:
    """Return the revision that an output of a run holds."""
    try:
        return reorder(decode_reorder(content))
    except NotADecision:
        return price(decode_price(content))
