"""Answers of a worker about a key, a partition and itself, as plain documents.

Every answer about state also has its extent: worker, partition, offset, as-of time and revision.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import orjson

from cdc.contracts import answers as contract
from cdc.contracts.answers import Document
from cdc.contracts.state import encode_level, encode_state
from cdc.contracts.topics import APP_ID, PARTITIONS
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION
from streams.engine.ownership import Ownership
from streams.engine.store import OwnedPartition
from streams.query.metrics import Metrics
from streams.settings import WorkerSettings

RUNNING: Final = "RUNNING"
RESTORING: Final = "RESTORING"
UNKNOWN: Final = "UNKNOWN"
SECOND_US: Final = 1_000_000

Span = tuple[int | None, int | None]


class Queryable(Protocol):
    """The attributes of a worker that are needed to answer a query.

    `ends` maps a partition to its end offset. `code` is the hash of the worker's imported sources.
    `loop_seen_s` is the last time at which the event loop ran, in seconds of a monotonic clock.
    """

    settings: WorkerSettings
    ownership: Ownership
    metrics: Metrics
    loop_seen_s: float
    ends: dict[int, int]
    code: str


def is_ready(worker: Queryable) -> bool:
    """Return True if this worker has an assignment, and all assigned partitions are restored."""
    return worker.ownership.all_ready


def extent(worker: Queryable, owned: OwnedPartition) -> Document:
    """Return the fields that every answer from this partition has.

    They are worker, partition, state of the partition, next offset, as-of time, lag and revision.
    """
    records, seconds = lag(owned, worker.ends, time.time_ns() // 1000)
    return {
        "worker": worker.settings.worker_id,
        "partition": owned.number,
        "state": RUNNING,
        "next_offset": owned.published_offset,
        "as_of_us": owned.as_of_us,
        "lag_records": records,
        "lag_seconds": seconds,
        "logic_revision": LOGIC_REVISION,
    }


def of_key(about: Document, state: KeyState) -> Document:
    """Return the fields in `about` (the result of `extent`), the key, and its state's position."""
    position = {
        "generation": state.position.generation,
        "partition": about["partition"],
        "offset": state.position.offset,
    }
    return about | {"inv_key": state.inv_key, "position": position}


def full_state(state: KeyState, _span: Span) -> Document:
    """Return the complete state of a key, with all retained window rows."""
    return {"value": orjson.Fragment(encode_state(state))}


def level(state: KeyState, _span: Span) -> Document:
    """Return a key's units on hand and available to sell, and its state without window rows."""
    return {
        "on_hand_units": state.on_hand_units,
        "available_to_sell_units": state.available_to_sell_units,
        "value": orjson.Fragment(encode_level(state, ())),
    }


def sales_windows(state: KeyState, span: Span) -> Document:
    """Return the retained window rows that start in `span` = [from, to), in µs since 1970 UTC.

    A None in `span` means no limit on that side.
    """
    first_us, last_us = span
    chosen = [
        start
        for start in state.windows
        if (first_us is None or start >= first_us) and (last_us is None or start < last_us)
    ]
    return {"windows": orjson.loads(encode_level(state, chosen))["rows"]}


@dataclass(frozen=True, slots=True)
class Store:
    """A view of a key's state in the HTTP API.

    `kind` names the schema of the answer, and `document_of` builds the answer's fields. A request
    may have the query parameters `parameters`.
    """

    kind: str
    document_of: Callable[[KeyState, Span], Document]
    parameters: tuple[str, ...] = ()


FULL_STATE: Final = Store(contract.KEY, full_state)
STORES: Final[Mapping[str, Store]] = {
    "on-hand": Store(contract.ON_HAND, level),
    "sales-windows": Store(contract.SALES_WINDOWS, sales_windows, ("from", "to")),
}


def lag(owned: OwnedPartition, ends: Mapping[int, int], now_us: int) -> tuple[int, float]:
    """Return the number of waiting records, and the longest time (s) that any may have waited.

    The time is the age of the partition's as-of time, because no record can wait longer. It is 0 if
    no record is waiting, even if nothing was sold for long.
    """
    records = max(0, ends.get(owned.number, 0) - owned.published_offset)
    if records == 0 or owned.as_of_us is None:
        return records, 0.0
    return records, max(0, now_us - owned.as_of_us) / SECOND_US


def partitions(worker: Queryable, trusted: Callable[[OwnedPartition], bool]) -> Iterator[Document]:
    """Yield one row per assigned partition, in order.

    A partition that is not ready, or for which `trusted` returns False, has state RESTORING.
    """
    for number in sorted(worker.ownership.assigned):
        owned = worker.ownership.ready.get(number)
        if owned is None or not trusted(owned):
            yield {
                "worker": worker.settings.worker_id,
                "partition": number,
                "state": RESTORING,
                "logic_revision": LOGIC_REVISION,
            }
            continue
        yield extent(worker, owned) | {
            "end_offset": max(worker.ends.get(number, 0), owned.published_offset),
            "keys": len(owned.published),
        }


def complete_map(rows: Iterable[Document]) -> list[Document]:
    """Return one row for every partition of the log: the row of the worker with the best claim.

    The best claim is the one with the highest `claim_order`. A partition that no worker claims has
    state UNKNOWN.
    """
    best: dict[int, Document] = {}
    for row in rows:
        known = best.get(row["partition"])
        if known is None or claim_order(row) > claim_order(known):
            best[row["partition"]] = row
    unowned = {"worker": None, "state": UNKNOWN}
    return [best.get(number, {"partition": number, **unowned}) for number in range(PARTITIONS)]


def claim_order(row: Document) -> tuple[bool, int]:
    """Return the rank of a worker's claim to a partition, as a pair that can be compared.

    The first value is True if the partition's state is RUNNING. The second value is its next
    offset. The worker with the highest rank is taken as the owner.
    """
    return row["state"] == RUNNING, row.get("next_offset", -1)


def about_worker(worker: Queryable) -> Document:
    """Return this worker's id and state, with the fields of `revision`."""
    return {
        "worker": worker.settings.worker_id,
        "state": RUNNING if is_ready(worker) else RESTORING,
        **revision(worker),
    }


def revision(worker: Queryable) -> Document:
    """Return the logic revision, consumer group and log generation of this worker."""
    return {
        "logic_revision": LOGIC_REVISION,
        "group": APP_ID,
        "generation": worker.settings.generation,
    }


def rules(worker: Queryable) -> Document:
    """Return the fields of `revision`, and `code`: the hash of the worker's imported sources."""
    return revision(worker) | {"code": worker.code}


def total_lag(rows: list[Document]) -> Document:
    """Return the sum of the rows' waiting records, and the longest wait (s) in any row."""
    return {
        "lag_records": sum(row.get("lag_records", 0) for row in rows),
        "lag_seconds": max((row.get("lag_seconds", 0.0) for row in rows), default=0.0),
    }
