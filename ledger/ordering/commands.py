"""Dataclasses of the commands on purchase-order lines, and of their results."""

from dataclasses import asdict, dataclass
from datetime import date, datetime
from uuid import UUID

from ledger.access.scope import require_store
from ledger.kernel import checks
from ledger.kernel.transactions import ColumnValues
from ledger.ordering.status import STATUSES, Action


@dataclass(frozen=True, slots=True)
class LineCommand:
    """An action on one line, its actor, and the version of the line that the actor saw.

    With `shown_version` None, changes by others are not detected.
    """

    line_id: int
    action: Action
    actor: str | None
    command_id: UUID | None = None
    shown_version: str | None = None


@dataclass(frozen=True, slots=True)
class PlaceOrderLine:
    """A new order line; `ordered_at` None means now.

    With `reorder_id`, the line orders the need (proposed reorder) with this id.
    """

    location: str
    sku: str
    supplier: str
    ordered_units: int
    order_ref: str
    reorder_id: str | None = None
    status: str = "sent"
    ordered_at: datetime | None = None
    due_on: date | None = None

    def check(self) -> str:
        """Return the checked `inv_key`; raise `ServiceError` with the field that breaks a rule."""
        inv_key = checks.key(self.location, self.sku)
        require_store(self.location)
        checks.text("supplier", self.supplier)
        checks.text("order_ref", self.order_ref)
        checks.integer("ordered_units", self.ordered_units)
        checks.one_of("status", self.status, STATUSES)
        return inv_key


@dataclass(frozen=True, slots=True)
class ChangeOrderLine:
    """A change of the ordered units of a draft line.

    The units must be full packs, unless `odd_units_allowed`. Without `is_confirmed`, a quantity far
    beyond the line's present units is refused (`ledger.ordering.plausibility`).
    """

    line_id: int
    ordered_units: int
    odd_units_allowed: bool = False
    is_confirmed: bool = True
    shown_version: str | None = None


@dataclass(frozen=True, slots=True)
class ConfirmOrderLine:
    """The units that the supplier has confirmed for a line, and a new due day or None.

    More units than were ordered need `beyond_order_allowed`. 0 units close the line and need
    `closing_allowed`. Pages and the API set `closing_allowed` only after the person has confirmed
    that the line closes. Other callers keep the default True.
    """

    line_id: int
    confirmed_units: int
    due_on: date | None = None
    beyond_order_allowed: bool = False
    closing_allowed: bool = True
    shown_version: str | None = None


@dataclass(frozen=True, slots=True)
class LineChanges:
    """The columns of a line that an action writes; None leaves a column unchanged."""

    ordered_units: int | None = None
    confirmed_units: int | None = None
    cancelled_units: int | None = None
    due_on: date | None = None

    def by_column(self) -> ColumnValues:
        """Return the values to write, by column."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class LineChanged:
    """The status of a line after a command, and its open units before and after."""

    line_id: int
    status: str
    open_before: int
    open_units: int


@dataclass(frozen=True, slots=True)
class LineDeleted:
    """A draft line that was deleted, and its ordered units."""

    line_id: int
    units: int
