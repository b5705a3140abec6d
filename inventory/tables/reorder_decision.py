"""`reorder_decision`: a decision on a need, by a person or by an automatic rule."""

from typing import Final

from inventory.model.fact import WithoutEffect, WithoutTimes
from inventory.model.value import value
from inventory.tables.captured import BIGINT, TEXT, TIME, CapturedTable
from inventory.tables.columns import (
    Row,
    check_origin,
    choice,
    integer,
    optional_integer,
    optional_text,
    text,
)

ACTIONS: Final = ("approve", "reject", "snooze", "resume")


@value
class ReorderDecision(WithoutEffect, WithoutTimes):
    """A decision on a need (domain.md 5.3).

    `until_at_us` is the end of a snooze in µs since 1970 UTC, None for stream time + 7 days.
    """

    id: int
    reorder_id: str
    action: str
    until_at_us: int | None
    reason: str | None


def parse(_: str, row: Row) -> ReorderDecision:
    """Return the decision in `row`, or raise `Rejected` if a column breaks a limit."""
    check_origin(row)
    optional_integer(row, "need_revision")
    return ReorderDecision(
        integer(row, "id"),
        text(row, "reorder_id"),
        choice(row, "action", ACTIONS),
        optional_integer(row, "until_at"),
        optional_text(row, "reason"),
    )


TABLE: Final = CapturedTable(
    name="reorder_decision",
    columns=(
        ("reorder_id", TEXT),
        ("action", TEXT),
        ("until_at", TIME),
        ("reason", TEXT),
        ("need_revision", BIGINT),
    ),
    parse=parse,
)
