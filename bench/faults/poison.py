"""Ten kinds of invalid records, written directly into `stock.events`.

Workers must reject each record with a reason, and keep running.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final

from confluent_kafka import Producer

from bench.faults.fault import Expected, Fault, Status, never_broken
from bench.faults.stack_under_test import StackUnderTest, wait_for

KEY: Final = "POISON|K1"
_COUNT: Final = "SELECT count(*) FROM read_model.rejected WHERE value = %s"
_ALL: Final = "SELECT count(*) FROM read_model.rejected"
_SEEN_S: Final = 60.0
# Each record needs its own LSN. Workers treat two records of a partition as one change that Connect
# sent twice if table, row id, op and LSN are equal.
_POSITIONS: Final = count(1 << 50)


def faults() -> Iterator[Fault]:
    """Yield a fault per kind. After each, `status` must count more rejections and exit with 0."""
    for kind in KINDS:
        yield Fault(f"poison: {kind.name}", kind.send, _expected)


def _expected(stack: StackUnderTest) -> Expected:
    before = int(stack.sql(_ALL)[0][0])

    def is_shown(status: Status) -> bool:
        return status["exit_code"] == 0 and (status.get("rejected") or 0) > before

    return Expected(never_broken, is_shown)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of invalid record: its key, and a function that returns its value."""

    name: str
    value: Callable[[], bytes]
    key: bytes | None = KEY.encode()

    def send(self, stack: StackUnderTest) -> None:
        """Write the record and wait until the read model lists it as rejected."""
        value = self.value()
        before = _rejected(stack, value)
        producer = Producer(
            {
                "bootstrap.servers": stack.variables["INVENTORY_KAFKA_BOOTSTRAP"],
                "partitioner": "murmur2_random",
                "log_level": 0,
            }
        )
        producer.produce("stock.events", value, self.key)
        producer.flush(30)
        wait_for(lambda: _rejected(stack, value) > before, f"rejection of {self.name}", _SEEN_S)


def _rejected(stack: StackUnderTest, value: bytes) -> int:
    return int(stack.sql(_COUNT, value)[0][0])


def _sale(**changes: Any) -> bytes:  # noqa: ANN401 -- invalid column values
    now_us = time.time_ns() // 1000
    row = {
        "id": 1 << 41,
        "inv_key": KEY,
        "location": "POISON",
        "sku": "K1",
        "source": "poison",
        "source_ref": "1",
        "quantity_units": 1,
        "amount_minor": 100,
        "occurred_at": now_us,
        "recorded_at": now_us,
    }
    source = {"table": "sale_line", "lsn": next(_POSITIONS), "ts_us": now_us, "schema": "retail"}
    envelope: dict[str, Any] = {
        "before": None,
        "after": row | changes.pop("row", {}),
        "source": source | changes.pop("source", {}),
        "op": "c",
        "ts_us": now_us,
    }
    return json.dumps(envelope | changes).encode()


def _kind(name: str, key: str | None = KEY, **changes: Any) -> Kind:  # noqa: ANN401 -- as `_sale`
    """Return a kind of record: a valid sale in which `key` and `changes` replace valid values."""
    return Kind(name, partial(_sale, **changes), None if key is None else key.encode())


KINDS: Final = (
    Kind("bytes", lambda: b"\x00\xff not a document"),
    Kind("cut off", lambda: _sale()[:-30]),
    Kind("a list", lambda: b"[1, 2, 3]"),
    Kind("nested", lambda: b'{"after":' + b"[" * 20_000 + b"]" * 20_000 + b"}"),
    _kind("key of another item", "POISON|OTHER"),
    _kind("no key", None),
    _kind("key without item", "POISON"),
    _kind("fraction", row={"quantity_units": 1.5}),
    _kind("operation", op="x"),
    _kind("negative LSN", source={"lsn": -1}),
)
