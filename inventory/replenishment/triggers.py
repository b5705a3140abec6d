"""The parts of a record that can trigger a change of a need (domain.md 5.3).

`inventory.tables` imports the replenishment families, so this package can't import
`inventory.tables`. A protocol therefore describes the decision row.
"""

from typing import Protocol

from inventory.model.value import value


class NeedDecision(Protocol):
    """The columns of a `reorder_decision` row that replenishment reads."""

    @property
    def reorder_id(self) -> str:
        """Return the id of the need that the row decides on."""
        ...

    @property
    def action(self) -> str:
        """Return `approve`, `reject`, `snooze` or `resume`."""
        ...

    @property
    def until_at_us(self) -> int | None:
        """Return the end of a snooze in µs since 1970 UTC; None means stream time + 7 days."""
        ...

    @property
    def reason(self) -> str | None:
        """Return the reason that a person gave, None if they gave none."""
        ...


@value
class ReplenishmentTrigger:
    """The parts of one record that can trigger a replenishment decision.

    `answered_ids` has the `reorder_id` of an order line or `transfer_in` row, if the row's
    before-image had a different `reorder_id` or none. `decision` is an inserted `reorder_decision`
    row. `reviewed` is True if the record raised the policy's daily review mark `reviewed_at`.
    `columns_changed` is True if the record changed a replenishment column (domain.md 2.6).
    """

    answered_ids: tuple[str, ...] = ()
    decision: NeedDecision | None = None
    reviewed: bool = False
    columns_changed: bool = False
