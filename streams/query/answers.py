"""What a worker says of a key, a partition and itself, as plain documents.

Every answer about state says how far it reaches: worker, partition, position, as-of and revision.
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
    """What queries read of a worker; `ends` are end offsets of `stock.events` by partition."""

    settings: WorkerSettings
    ownership: Ownership
    metrics: Metrics
    loop_seen_s: float
    ends: dict[int, int]


def is_ready(worker: Queryable) -> bool:
    """Whether the group gave partitions out and all of ours are restored."""
    return worker.ownership.settled


def reach(worker: Queryable, owned: OwnedPartition) -> Document:
    """How far everything reaches that is said of this partition, and what it has not reached."""
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
    """`about` a partition, and the position that the key's state includes."""
    position = {
        "generation": state.position.generation,
        "partition": about["partition"],
        "offset": state.position.offset,
    }
    return about | {"inv_key": state.inv_key, "position": position}


def whole(state: KeyState, _span: Span) -> Document:
    """Level and all retained window rows, as one state at one position."""
    return {"value": orjson.Fragment(encode_state(state))}


def level(state: KeyState, _span: Span) -> Document:
    """The level, without window rows."""
    return {
        "on_hand_units": state.on_hand_units,
        "available_to_sell_units": state.available_to_sell_units,
        "value": orjson.Fragment(encode_level(state, ())),
    }


def sales_windows(state: KeyState, span: Span) -> Document:
    """Retained window rows whose start lies in `span`, in order of time; an open end is None."""
    first_us, last_us = span
    chosen = [
        start
        for start in state.windows
        if (first_us is None or start >= first_us) and (last_us is None or start < last_us)
    ]
    return {"windows": orjson.loads(encode_level(state, chosen))["rows"]}


@dataclass(frozen=True, slots=True)
class Store:
    """What is said of a key, in which form, and by which parameters it may be narrowed."""

    kind: str
    say: Callable[[KeyState, Span], Document]
    parameters: tuple[str, ...] = ()


WHOLE: Final = Store(contract.KEY, whole)
STORES: Final[Mapping[str, Store]] = {
    "on-hand": Store(contract.ON_HAND, level),
    "sales-windows": Store(contract.SALES_WINDOWS, sales_windows, ("from", "to")),
}


def lag(owned: OwnedPartition, ends: Mapping[int, int], now_us: int) -> tuple[int, float]:
    """Records that wait, and for how many seconds the oldest of them may have waited.

    Nothing waits longer than the partition's as-of is old, and a partition without waiting records
    is not behind, however long nothing was sold.
    """
    records = max(0, ends.get(owned.number, 0) - owned.published_offset)
    if records == 0 or owned.as_of_us is None:
        return records, 0.0
    return records, max(0, now_us - owned.as_of_us) / SECOND_US


def partitions(worker: Queryable, trusted: Callable[[OwnedPartition], bool]) -> Iterator[Document]:
    """One row for each assigned partition, in order; `trusted` says which may be shown as ours."""
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
        yield reach(worker, owned) | {
            "end_offset": max(worker.ends.get(number, 0), owned.published_offset),
            "keys": len(owned.published),
        }


def whole_map(rows: Iterable[Document]) -> list[Document]:
    """One row for every partition of the log; state UNKNOWN where nobody claims it."""
    best: dict[int, Document] = {}
    for row in rows:
        known = best.get(row["partition"])
        if known is None or standing(row) > standing(known):
            best[row["partition"]] = row
    nobody = {"worker": None, "state": UNKNOWN}
    return [best.get(number, {"partition": number, **nobody}) for number in range(PARTITIONS)]


def standing(row: Document) -> tuple[bool, int]:
    """Orders rows of workers that claim one partition: who serves it, then who is further."""
    return row["state"] == RUNNING, row.get("next_offset", -1)


def about_worker(worker: Queryable) -> Document:
    """Identity and state of one worker."""
    return {
        "worker": worker.settings.worker_id,
        "state": RUNNING if is_ready(worker) else RESTORING,
        **revision(worker),
    }


def revision(worker: Queryable) -> Document:
    """Which rules and which incarnation of the log this worker works by."""
    return {
        "logic_revision": LOGIC_REVISION,
        "group": APP_ID,
        "generation": worker.settings.generation,
    }


def total_lag(rows: list[Document]) -> Document:
    """Records behind in all of `rows`, and the most seconds of one of them."""
    return {
        "lag_records": sum(row.get("lag_records", 0) for row in rows),
        "lag_seconds": max((row.get("lag_seconds", 0.0) for row in rows), default=0.0),
    }
