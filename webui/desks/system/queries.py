"""Rows of the system pages: sums of late sales, and partitions with worker, lag and age."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cdc.contracts.topics import ON_HAND_CHANGELOG, PARTITIONS
from ledger.kernel.rows import select
from ledger.kernel.sink_positions import as_of_by_partition

RUNNING, UNKNOWN = "RUNNING", "UNKNOWN"
# {state of a partition in a worker's answer: state of the partition on the page}
STATES = {RUNNING: "ok", "RESTORING": "slow", UNKNOWN: "down"}
MOST_BEHIND_S = 30.0  # the alarm threshold of docs/roles/operator.md
_URGENCY: Final = ("down", "slow", "ok")


@dataclass(frozen=True, slots=True)
class LateSales:
    """Sums over the sales that no window counts, because they arrived too late."""

    records: int
    units: int
    amount_minor: int


def late_sales() -> LateSales:
    """Return the sums over all late sales."""
    sql = """SELECT count(*) AS records, coalesce(sum(units), 0)::bigint AS units,
                    coalesce(sum(amount_minor), 0)::bigint AS amount_minor
             FROM read_model.late_sale"""
    [found] = select(sql, {}, LateSales)
    return found


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition. The figures that its worker reports are None while no worker serves it.

    `lag_text` is the time for which records wait: `0.4 s`. `age_us` is the age of the worker's
    states in µs, and `read_model_age_us` the age of the read model's rows.
    """

    number: int
    worker: str | None
    state_text: str
    state: str
    keys: int | None
    lag_records: int | None
    lag_text: str
    age_us: int | None
    read_model_age_us: int | None
    next_offset: int | None = None
    end_offset: int | None = None


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker: its partitions as text (`0, 3, 7`), sums over them, and their largest age."""

    worker: str
    partitions: str
    keys: int
    lag_records: int
    age_us: int | None


def partition_rows(answered: Sequence[dict[str, Any]], now_us: int) -> list[PartitionRow]:
    """Return a row for each partition. `answered` is a worker's answer, one dict per partition.

    If no worker has answered, `answered` is empty, and the rows name no worker.
    """
    read_model = as_of_by_partition(ON_HAND_CHANGELOG)
    held = answered or tuple(_without_worker(range(PARTITIONS)))
    return [_partition_row(row, now_us, read_model.get(row["partition"])) for row in held]


def _without_worker(numbers: Iterable[int]) -> Iterable[dict[str, Any]]:
    return ({"partition": number, "worker": None, "state": UNKNOWN} for number in numbers)


def _partition_row(row: dict[str, Any], now_us: int, read_model_us: int | None) -> PartitionRow:
    seconds = row.get("lag_seconds")
    state = STATES[row["state"]]
    return PartitionRow(
        number=row["partition"],
        worker=row["worker"],
        state_text=row["state"].lower(),
        state="slow" if state == "ok" and (seconds or 0) > MOST_BEHIND_S else state,
        keys=row.get("keys"),
        lag_records=row.get("lag_records"),
        lag_text="" if seconds is None else f"{seconds:.1f} s",
        age_us=_age(row.get("as_of_us"), now_us),
        read_model_age_us=_age(read_model_us, now_us),
        next_offset=row.get("next_offset"),
        end_offset=row.get("end_offset"),
    )


def by_urgency(held: Iterable[PartitionRow]) -> list[PartitionRow]:
    """Return partitions without a worker first, then restoring and slow ones, then the rest.

    Within each of these groups, order them by lag in records, largest first, then by number.
    """
    return sorted(
        held, key=lambda row: (_URGENCY.index(row.state), -(row.lag_records or 0), row.number)
    )


def _age(at_us: int | None, now_us: int) -> int | None:
    return None if at_us is None else max(0, now_us - at_us)


def worker_rows(held: list[PartitionRow]) -> list[WorkerRow]:
    """Return a row for each worker, sorted by name."""
    names = sorted({each.worker for each in held if each.worker is not None})
    return [_worker_row(name, [each for each in held if each.worker == name]) for name in names]


def _worker_row(name: str, mine: list[PartitionRow]) -> WorkerRow:
    ages = [each.age_us for each in mine if each.age_us is not None]
    return WorkerRow(
        worker=name,
        partitions=", ".join(str(each.number) for each in mine),
        keys=sum(each.keys or 0 for each in mine),
        lag_records=sum(each.lag_records or 0 for each in mine),
        age_us=max(ages, default=None),
    )
