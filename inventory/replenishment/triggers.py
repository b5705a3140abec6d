"""The triggers of a replenishment decision.

The rules of replenishment know policies and states, and no captured table: a table's limits depend
on the family. So a decision row is described by the columns that they read.
"""

from typing import Protocol

from inventory.model.value import value


class NeedDecision(Protocol):
    """The columns of a `reorder_decision` row."""

    @property
    def reorder_id(self) -> str:
        """Return the id of the need that it decides."""
        ...

    @property
    def action(self) -> str:
        """Return `approve`, `reject`, `snooze` or `resume`."""
        ...

    @property
    def until_at_us(self) -> int | None:
        """Return the end of a snooze."""
        ...

    @property
    def reason(self) -> str | None:
        """Return the person's reason."""
        ...


@value
class ReplenishmentTrigger:
    """The triggers of a replenishment decision in the record.

    `answered_ids` are the reorder ids that the after-image carries and the before-image did not.
    `decision` is an inserted row only. `reviewed` is True if the record raised `reviewed_at`.
    `columns_changed` is True if a replenishment column changed (domain.md 2.6).
    """

    answered_ids: tuple[str, ...] = ()
    decision: NeedDecision | None = None
    reviewed: bool = False
    columns_changed: bool = False
