"""Ten kinds of invalid records, written directly into `stock.events`.

Workers must reject each with a reason, or ignore it without an effect. No worker may end.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Producer

from bench.faults.fault import Expected, Fault, Status, never_broken
from bench.faults.stack_under_test import StackUnderTest, wait_for

KEY: Final = "POISON|K1"
_COUNT: Final = "SELECT count(*) FROM read_model.rejected WHERE value = %s"
_ALL: Final = "SELECT count(*) FROM read_model.rejected"
_SEEN_S: Final = 60.0


def faults() -> Iterator[Fault]:
    """Yield one fault for each kind: `status` counts one more rejected record and is well."""
    for kind in KINDS:
        yield Fault(f"poison: {kind.name}", kind.send, _expected)


def _expected(stack: StackUnderTest) -> Expected:
    before = int(stack.sql(_ALL)[0][0])

    def is_shown(status: Status) -> bool:
        return status["exit_code"] == 0 and (status.get("rejected") or 0) > before

    return Expected(never_broken, is_shown)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of poison: the record's key and value."""

    name: str
    value: bytes
    key: bytes | None = KEY.encode()

    def send(self, stack: StackUnderTest) -> None:
        """Write the record and wait until the read model lists it as rejected."""
        before = self._rejected(stack)
        producer = Producer(
            {
                "bootstrap.servers": stack.variables["INVENTORY_KAFKA_BOOTSTRAP"],
                "partitioner": "murmur2_random",
            }
        )
        producer.produce("stock.events", self.value, self.key)
        producer.flush(30)
        wait_for(lambda: self._rejected(stack) > before, f"rejection of {self.name}", _SEEN_S)

    def _rejected(self, stack: StackUnderTest) -> int:
        return int(stack.sql(_COUNT, self.value)[0][0])


def _sale(**changes: Any) -> bytes:  # noqa: ANN401 -- values that no column takes
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
    source = {"table": "sale_line", "lsn": 1 << 50, "ts_us": now_us, "schema": "retail"}
    envelope: dict[str, Any] = {
        "before": None,
        "after": row | changes.pop("row", {}),
        "source": source | changes.pop("source", {}),
        "op": "c",
        "ts_us": now_us,
    }
    return json.dumps(envelope | changes).encode()


KINDS: Final = (
    Kind("bytes", b"\x00\xff not a document"),
    Kind("cut off", _sale()[:-30]),
    Kind("a list", b"[1, 2, 3]"),
    Kind("nested", b'{"after":' + b"[" * 20_000 + b"]" * 20_000 + b"}"),
    Kind("key of another item", _sale(), key=b"POISON|OTHER"),
    Kind("no key", _sale(), key=None),
    Kind("key without item", _sale(), key=b"POISON"),
    Kind("fraction", _sale(row={"quantity_units": 1.5})),
    Kind("operation", _sale(op="x")),
    Kind("negative place", _sale(source={"lsn": -1})),
)
