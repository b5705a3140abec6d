"""`pipeline_heartbeat`: one row per partition, which a job updates every second."""

from typing import Final

from inventory.model.arithmetic import MAX_STORED
from inventory.model.fact import WithoutEffect, WithoutTimes
from inventory.model.value import value
from inventory.tables.captured import BIGINT, TIME, CapturedTable
from inventory.tables.columns import Row, check_origin, integer, optional_integer, within


@value
class Heartbeat(WithoutEffect, WithoutTimes):
    """A heartbeat row. It moves the as-of time of its partition, but changes no item's state."""

    id: int
    beat: int


def parse(_: str, row: Row) -> Heartbeat:
    """Return the heartbeat in `row`, or raise `Rejected` if a column breaks a limit."""
    check_origin(row)
    optional_integer(row, "occurred_at")
    return Heartbeat(integer(row, "id"), within(row, "beat", -MAX_STORED, MAX_STORED, 0))


TABLE: Final = CapturedTable(
    name="pipeline_heartbeat",
    columns=(("beat", BIGINT), ("occurred_at", TIME)),
    parse=parse,
)
