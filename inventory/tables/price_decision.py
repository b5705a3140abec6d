"""`price_decision`: a decision on a price proposal, by a person or by an automatic rule."""

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

ACTIONS: Final = ("approve", "reject", "snooze")


@value
class PriceDecision(WithoutEffect, WithoutTimes):
    """A decision on a price proposal (domain.md 6.3).

    `until_at_us` is the end of a snooze in µs since 1970 UTC. None means that the snooze lasts for
    one cool-down (`cooldown_hours`).
    """

    id: int
    proposal_id: str
    action: str
    until_at_us: int | None
    reason: str | None


def parse(_: str, row: Row) -> PriceDecision:
    """Return the decision in `row`, or raise `Rejected` if a column breaks a limit."""
    check_origin(row)
    optional_integer(row, "price_revision")
    return PriceDecision(
        integer(row, "id"),
        text(row, "proposal_id"),
        choice(row, "action", ACTIONS),
        optional_integer(row, "until_at"),
        optional_text(row, "reason"),
    )


TABLE: Final = CapturedTable(
    name="price_decision",
    columns=(
        ("proposal_id", TEXT),
        ("action", TEXT),
        ("until_at", TIME),
        ("reason", TEXT),
        ("price_revision", BIGINT),
    ),
    parse=parse,
)
