"""Windows that the late records would have changed (docs/domain.md 3.2).

`stock.late` holds units and amount. The window is only in the source record, which is read again
from `stock.events` at its position. An update has two images, and one or both may be late. This
module chooses the images whose sum equals the units and amount in `stock.late`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import psycopg
from confluent_kafka import TopicPartition

from analytics import kafka
from analytics.verification.cut import Cut
from cdc.contracts.decode import decode
from cdc.contracts.rejects import Late
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from inventory.model.arithmetic import SECOND_US, window_start
from inventory.model.record import Record

_SELECT: Final = """
SELECT inv_key, units, amount_minor, partition, "offset" FROM read_model.late_sale
WHERE %(location)s::text IS NULL OR starts_with(inv_key, %(location)s::text || '|')
ORDER BY partition, "offset"
"""
_DENSE: Final = 2000  # up to this distance in offsets, reading on is cheaper than seeking


@dataclass(frozen=True, slots=True)
class Contribution:
    """Signed counters that an image (row before or after a change) would have added to a window."""

    inv_key: str
    start_us: int
    sold: int
    returned: int
    sale_lines: int
    return_lines: int
    revenue: int


class LateUnexplained(RuntimeError):
    """A late record is inconsistent with its source record."""


def late_contributions(
    connection: psycopg.Connection,
    settings: Connections,
    location: str | None,
    cut: Cut,
    more: Iterable[Late] = (),
) -> list[Contribution]:
    """Return the contribution of each image that came too late for its window, up to the cut.

    `more` are late records that the read model doesn't have yet.
    """
    start = "" if location is None else f"{location}|"
    wanted: dict[int, dict[int, tuple[int, int]]] = {}
    rows = connection.execute(_SELECT, {"location": location}).fetchall()
    rows += [
        (one.inv_key, one.units, one.amount_minor, one.origin.partition, one.origin.offset)
        for one in more
        if one.inv_key.startswith(start)
    ]
    for key, units, amount, number, offset in rows:
        if cut.holds(key, number, offset):
            wanted.setdefault(number, {})[offset] = (units, amount)
    found: list[Contribution] = []
    for number, offsets in wanted.items():
        for record in _source_records(settings, number, sorted(offsets)):
            found += _of_record(record, *offsets[record.offset])
    return found


def parameters(late: list[Contribution]) -> dict[str, list[Any]]:
    """Return the contributions as parameters of the window sums."""
    return {
        "late_keys": [one.inv_key for one in late],
        "late_starts": [one.start_us for one in late],
        "late_sold": [one.sold for one in late],
        "late_returned": [one.returned for one in late],
        "late_sale_lines": [one.sale_lines for one in late],
        "late_return_lines": [one.return_lines for one in late],
        "late_revenue": [one.revenue for one in late],
    }


def _of_record(record: Record, units: int, amount: int) -> list[Contribution]:
    images = [
        _contribution(record.key, image, sign)
        for image, sign in ((record.before, -1), (record.after, 1))
        if isinstance(image, dict)
    ]
    for chosen in product((True, False), repeat=len(images)):
        late = [image for image, is_late in zip(images, chosen, strict=True) if is_late]
        net = (sum(one.sold - one.returned for one in late), sum(one.revenue for one in late))
        if late and net == (units, amount):
            return late
    problem = (
        f"{STOCK_EVENTS}@{record.offset}: no combination of the images of {record.table}, key "
        f"{record.key!r}, gives the recorded late units {units} and amount {amount}"
    )
    raise LateUnexplained(problem)


def _contribution(key: str, image: dict[str, Any], sign: int) -> Contribution:
    business_at = min(image["occurred_at"], image["recorded_at"]) // SECOND_US * SECOND_US
    quantity = image["quantity_units"]
    sale = quantity > 0
    return Contribution(
        inv_key=key,
        start_us=window_start(business_at),
        sold=sign * quantity if sale else 0,
        returned=0 if sale else -sign * quantity,
        sale_lines=sign if sale else 0,
        return_lines=0 if sale else sign,
        revenue=sign * image["amount_minor"],
    )


def _source_records(settings: Connections, number: int, offsets: list[int]) -> Iterator[Record]:
    client = kafka.consumer(settings.kafka_bootstrap)
    try:
        at = -1
        wanted = iter(offsets)
        target = next(wanted, None)
        while target is not None:
            if at < 0 or target - at > _DENSE:
                client.assign([TopicPartition(STOCK_EVENTS, number, target)])
                at = target
            for message in kafka.records(client):
                is_end = message.error() is not None
                if target is None or (message.offset() < target and not is_end):
                    continue
                if is_end or message.offset() > target:
                    at_offset = f"{STOCK_EVENTS}[{number}]@{target}"
                    problem = f"{at_offset}: the topic lacks the record that a late record names"
                    raise LateUnexplained(problem)
                yield decode(message.key(), message.value(), offset=target)
                at, target = target, next(wanted, None)
    finally:
        client.close()
