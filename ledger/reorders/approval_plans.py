"""Checks of a batch of approvals: read and lock the batch's rows, and plan its order lines.

Nothing is written here. `ledger.reorders.approval` writes the planned order lines.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.access.scope import current, require_key
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, LedgerError, ServiceError, refuse
from ledger.kernel.proposal_rows import REORDERS, NeedProposal, locked_needs
from ledger.kernel.proposals import Decision, refuse_if_moved
from ledger.kernel.transactions import database_now
from ledger.kernel.unscoped_rows import read_all
from ledger.messages import Message
from ledger.nouns import counted
from ledger.ordering.lines import refuse_odd_units
from ledger.ordering.order_minimum import below_minimum
from ledger.ordering.orders import refuse_inactive
from ledger.ordering.plausibility import require_plausible_units
from ledger.ordering.supplier_terms import Terms, terms_of
from ledger.reorders.approvals import (
    Approver,
    ApproveReorder,
    OrderedBefore,
    OrderedItem,
    Part,
    ordered_text,
)

MOST_AT_ONCE: Final = 500
MOST_PARTS: Final = 10


@dataclass(frozen=True, slots=True)
class Answer:
    """An existing order line for the need (proposed reorder) `reorder_id`."""

    id: int
    reorder_id: str
    ordered_units: int
    order_ref: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A proposal that can be ordered, with the order lines to write, each with its supplier."""

    row: NeedProposal
    item: OrderedItem
    parts: tuple[Part, ...]

    @property
    def units(self) -> int:
        """The sum of the units of all order lines."""
        return sum(part.units for part in self.parts)

    @property
    def groups(self) -> set[tuple[str, str]]:
        """The supplier and location of each order that gets a line."""
        return {(str(part.supplier), self.row.location) for part in self.parts}


@dataclass(frozen=True, slots=True)
class Known:
    """All rows that a batch reads: proposals by id, items by key, suppliers (`terms`) by code.

    `ordered` has the order lines that exist already, by reorder id.
    """

    now: datetime
    proposals: dict[str, NeedProposal]
    items: dict[str, OrderedItem]
    terms: dict[str, Terms]
    ordered: dict[str, Answer]


def known_rows(approvals: Sequence[ApproveReorder], *, is_bulk: bool) -> Known:
    """Read and return all rows that the checks of `approvals` use; lock proposals and items.

    If `is_bulk`, leave out needs of stores in which the person doesn't work. Raise
    `ServiceError` unless there are 1 to 500 approvals.
    """
    if not 1 <= len(approvals) <= MOST_AT_ONCE:
        refuse(
            "approvals",
            len(approvals),
            Message("1 to %(most_at_once)s proposals at once", most_at_once=MOST_AT_ONCE),
        )
    known = _read(approvals)
    if is_bulk:
        for need in [*known.proposals.values()]:
            if not current().allows_key(need.inv_key):
                del known.proposals[need.id]
    return known


def plans_of(
    approvals: Sequence[ApproveReorder], approver: Approver, known: Known
) -> list[Plan | OrderedBefore | LedgerError]:
    """Return one result per approval, in order: a plan, an earlier order, or a refusal.

    If the approver sends the orders, refuse needs whose order would be below the supplier's
    minimum, unless `below_minimum_allowed`.
    """
    found: list[Plan | OrderedBefore | LedgerError] = []
    seen: set[str] = set()
    for approval in approvals:
        found.append(_plan(approval, approver, known, seen))
        seen.add(approval.reorder_id)
    if not approver.sends or approver.below_minimum_allowed:
        return found
    small = _below_minimum([plan for plan in found if isinstance(plan, Plan)], known)
    return [
        next((small[group] for group in sorted(f.groups & small.keys())), f)
        if isinstance(f, Plan)
        else f
        for f in found
    ]


def _below_minimum(plans: Sequence[Plan], known: Known) -> dict[tuple[str, str], ServiceError]:
    worth: dict[tuple[str, str], int] = defaultdict(int)
    for plan in plans:
        for part in plan.parts:
            worth[str(part.supplier), plan.row.location] += part.units * plan.item.cost_minor
    return below_minimum(worth, known.terms)


def _read(approvals: Sequence[ApproveReorder]) -> Known:
    ids = sorted({approval.reorder_id for approval in approvals})
    proposals = locked_needs(ids)
    items = read_all(
        OrderedItem,
        "SELECT inv_key, supplier, pack_units, cost_minor, lead_time_centidays"
        " FROM retail.item_location WHERE inv_key = ANY(%s) ORDER BY inv_key FOR SHARE",
        sorted({need.inv_key for need in proposals}),
    )
    ordered = read_all(
        Answer,
        "SELECT id, reorder_id, ordered_units, order_ref FROM retail.purchase_order_line"
        " WHERE reorder_id = ANY(%s)",
        ids,
    )
    suppliers = {need.supplier for need in proposals if need.supplier}
    suppliers |= {item.supplier for item in items if item.supplier}
    parts = [part for approval in approvals for part in approval.parts or ()]
    chosen = {part.supplier for part in parts if part.supplier}
    return Known(
        database_now(),
        {need.id: need for need in proposals},
        {item.inv_key: item for item in items},
        terms_of(suppliers | chosen),
        {line.reorder_id: line for line in ordered},
    )


def _plan(
    approval: ApproveReorder, approver: Approver, known: Known, seen: set[str]
) -> Plan | OrderedBefore | LedgerError:
    try:
        if approval.reorder_id in seen:
            refuse("reorder_id", approval.reorder_id, "each need at most once in one request")
        row = known.proposals.get(approval.reorder_id)
        if row is None:
            refuse("reorder_id", approval.reorder_id, "no such proposal")
        require_key(row.inv_key)
        if row.decided_action == "approve":
            return _first_approval(row, approval, known)
        decision = Decision(
            REORDERS, approval.reorder_id, "approve", approval.shown_revision, approver.actor
        )
        refuse_if_moved(row, decision, allowed=("open",))
        if approval.reorder_id in known.ordered:
            message = Message(
                "order line %(id)s orders this need already",
                id=known.ordered[approval.reorder_id].id,
            )
            raise Conflict(message)
        item = known.items.get(row.inv_key)
        if item is None:
            refuse("inv_key", row.inv_key, "not ranged at this location: range the item first")
        parts = _parts(approval, row, item, approver, known)
        if not approval.is_confirmed and row.quantity_units is not None:
            require_plausible_units(sum(part.units for part in parts), row.quantity_units)
        return Plan(row, item, parts)
    except LedgerError as refusal:
        return refusal


def _parts(
    approval: ApproveReorder,
    row: NeedProposal,
    item: OrderedItem,
    approver: Approver,
    known: Known,
) -> tuple[Part, ...]:
    """Return the order lines (*parts*) to write for a need, each with its supplier.

    Raise `ServiceError` if the parts don't add up to the quantity. Raise it also for a part with an
    unknown or inactive supplier, with a due day in the past, or with units that are no multiple of
    the pack (unless `odd_units_allowed`).
    """
    asked = row.quantity_units if approval.units is None else approval.units
    total = checks.integer("units", asked, 1)
    wanted = (Part(total),) if approval.parts is None else tuple(approval.parts)
    if not wanted:
        refuse("parts", 0, "at least one order line")
    if sum(part.units for part in wanted) != total:
        refuse(
            "parts",
            sum(part.units for part in wanted),
            Message("parts whose units add up to %(total)s", total=total),
        )
    if len(wanted) > MOST_PARTS:
        refuse(
            "parts",
            len(wanted),
            Message("at most %(most_parts)s order lines for one need", most_parts=MOST_PARTS),
        )
    checked = []
    for part in wanted:
        checks.integer("units", part.units, 1)
        refuse_odd_units("units", part.units, item.pack_units, allowed=approver.odd_units_allowed)
        supplier = part.supplier or row.supplier or item.supplier
        if not supplier:
            refuse("supplier", None, "an order needs a supplier: set one on the item first")
        if part.supplier and not known.terms[supplier].is_named:
            refuse(
                "supplier", supplier, "no such supplier: add the supplier first, or check the code"
            )
        refuse_inactive(known.terms[supplier])
        checks.not_past("due_on", part.due_on, known.now)
        checked.append(Part(part.units, supplier, part.due_on))
    return tuple(checked)


def _first_approval(row: NeedProposal, approval: ApproveReorder, known: Known) -> OrderedBefore:
    """Return the order line that an earlier approval of the need wrote.

    Raise `Conflict` if that line no longer exists, if a transfer answered the need, or if the
    earlier approval ordered another quantity than `approval` asks for.
    """
    line, who, at = known.ordered.get(row.id), row.decider, row.decision_time
    if line is None:
        if row.decided_units is None:
            message = Message(
                "%(who)s has already answered this need with a transfer, %(at)s", who=who, at=at
            )
            raise Conflict(message)
        message = Message(
            "%(who)s has already ordered %(units)s, %(at)s",
            who=who,
            units=counted(row.decided_units, "unit"),
            at=at,
        )
        raise Conflict(message)
    units = line.ordered_units if row.decided_units is None else row.decided_units
    if approval.units not in (None, units):
        raise Conflict(ordered_text(who=who, units=units, order_ref=line.order_ref, at=at))
    return OrderedBefore(row.id, (line.id,), units, line.order_ref)
