"""Approval of reorder proposals: writes their order lines, for up to 500 proposals at once.

Every approval takes its locks in the same order: proposals by id, then their items by key, then the
orders that get the lines. So concurrent approvals wait for each other without a deadlock.

All proposals are checked before the first write. Those that pass are then written together, in a
few statements.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.access.scope import current, require_key
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, LedgerError, ServiceError, refuse
from ledger.kernel.proposal_rows import REORDERS, NeedProposal, locked_needs
from ledger.kernel.proposals import Decision, refuse_if_moved
from ledger.kernel.transactions import database_now, execute, insert_rows, log_actions
from ledger.kernel.unscoped_rows import read_all
from ledger.ordering.lines import refuse_odd_units
from ledger.ordering.orders import automatic_order, draft_order, refuse_inactive, sent_order
from ledger.ordering.status import due_day
from ledger.ordering.supplier_terms import Terms, below_minimum, terms_of
from ledger.reorders.approvals import (
    Approver,
    ApproveReorder,
    Ordered,
    OrderedBefore,
    OrderedItem,
    Part,
    ToOrder,
)

MOST_AT_ONCE: Final = 500
MOST_PARTS: Final = 10


@dataclass(frozen=True, slots=True)
class _Answer:
    """The order line that has a reorder id."""

    id: int
    reorder_id: str
    ordered_units: int
    order_ref: str


@dataclass(frozen=True, slots=True)
class _Plan:
    row: NeedProposal
    item: OrderedItem
    parts: tuple[Part, ...]

    @property
    def units(self) -> int:
        return sum(part.units for part in self.parts)

    @property
    def groups(self) -> set[tuple[str, str]]:
        """The supplier and location of each order that gets a line."""
        return {(str(part.supplier), self.row.location) for part in self.parts}


@dataclass(frozen=True, slots=True)
class _Known:
    """All rows that a batch reads: proposals by id, items by key, terms by supplier.

    `ordered` has the order lines that exist already, by reorder id.
    """

    now: datetime
    proposals: dict[str, NeedProposal]
    items: dict[str, OrderedItem]
    terms: dict[str, Terms]
    ordered: dict[str, _Answer]


def order_all(
    approvals: Sequence[ApproveReorder], approver: Approver, *, is_bulk: bool = False
) -> list[Ordered | OrderedBefore | LedgerError]:
    """Order each need that can be ordered; return the outcomes in the order of `approvals`.

    A `LedgerError` in the result is the reason why this need was not ordered. Call this inside
    `ledger_transaction`. Raise `ServiceError` unless there are 1 to 500 approvals.

    A need of another store raises `OutOfScope`. With `is_bulk` it counts as unknown, so that it
    doesn't stop the others.
    """
    known = _known(approvals, is_bulk=is_bulk)
    found = _plans(approvals, approver, known)
    written = _write([plan for plan in found if isinstance(plan, _Plan)], approver, known)
    return [written[f.row.id] if isinstance(f, _Plan) else f for f in found]


def check_all(
    approvals: Sequence[ApproveReorder], approver: Approver
) -> list[ToOrder | OrderedBefore | LedgerError]:
    """Return what `order_all` would do now with each need in bulk; write nothing.

    The needs stay locked until the transaction ends.
    """
    found = _plans(approvals, approver, _known(approvals, is_bulk=True))
    return [
        ToOrder(
            f.row.id,
            f.row.location,
            str(f.parts[0].supplier),
            f.units,
            f.units * f.item.cost_minor,
        )
        if isinstance(f, _Plan)
        else f
        for f in found
    ]


def _known(approvals: Sequence[ApproveReorder], *, is_bulk: bool) -> _Known:
    if not 1 <= len(approvals) <= MOST_AT_ONCE:
        refuse("approvals", len(approvals), f"1 to {MOST_AT_ONCE} proposals at once")
    known = _read(approvals)
    if is_bulk:
        for need in [*known.proposals.values()]:
            if not current().allows_key(need.inv_key):
                del known.proposals[need.id]
    return known


def _plans(
    approvals: Sequence[ApproveReorder], approver: Approver, known: _Known
) -> list[_Plan | OrderedBefore | LedgerError]:
    found: list[_Plan | OrderedBefore | LedgerError] = []
    seen: set[str] = set()
    for approval in approvals:
        found.append(_plan(approval, approver, known, seen))
        seen.add(approval.reorder_id)
    if not approver.sends or approver.below_minimum_allowed:
        return found
    small = _below_minimum([plan for plan in found if isinstance(plan, _Plan)], known)
    return [
        next((small[group] for group in sorted(f.groups & small.keys())), f)
        if isinstance(f, _Plan)
        else f
        for f in found
    ]


def _below_minimum(plans: Sequence[_Plan], known: _Known) -> dict[tuple[str, str], ServiceError]:
    worth: dict[tuple[str, str], int] = defaultdict(int)
    for plan in plans:
        for part in plan.parts:
            worth[str(part.supplier), plan.row.location] += part.units * plan.item.cost_minor
    return below_minimum(worth, known.terms)


def _read(approvals: Sequence[ApproveReorder]) -> _Known:
    ids = sorted({approval.reorder_id for approval in approvals})
    proposals = locked_needs(ids)
    items = read_all(
        OrderedItem,
        "SELECT inv_key, supplier, pack_units, cost_minor, lead_time_centidays"
        " FROM retail.item_location WHERE inv_key = ANY(%s) ORDER BY inv_key FOR SHARE",
        sorted({need.inv_key for need in proposals}),
    )
    ordered = read_all(
        _Answer,
        "SELECT id, reorder_id, ordered_units, order_ref FROM retail.purchase_order_line"
        " WHERE reorder_id = ANY(%s)",
        ids,
    )
    suppliers = {need.supplier for need in proposals if need.supplier}
    suppliers |= {item.supplier for item in items if item.supplier}
    parts = [part for approval in approvals for part in approval.parts or ()]
    chosen = {part.supplier for part in parts if part.supplier}
    return _Known(
        database_now(),
        {need.id: need for need in proposals},
        {item.inv_key: item for item in items},
        terms_of(suppliers | chosen),
        {line.reorder_id: line for line in ordered},
    )


def _plan(
    approval: ApproveReorder, approver: Approver, known: _Known, seen: set[str]
) -> _Plan | OrderedBefore | LedgerError:
    try:
        if approval.reorder_id in seen:
            refuse("reorder_id", approval.reorder_id, "each need only once at a time")
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
            message = f"order line {known.ordered[approval.reorder_id].id} answers this already"
            raise Conflict(message)
        item = known.items.get(row.inv_key)
        if item is None:
            refuse("inv_key", row.inv_key, "must be ranged first")
        return _Plan(row, item, _parts(approval, row, item, approver, known))
    except LedgerError as refusal:
        return refusal


def _parts(
    approval: ApproveReorder,
    row: NeedProposal,
    item: OrderedItem,
    approver: Approver,
    known: _Known,
) -> tuple[Part, ...]:
    """Return the order lines to write, each with its supplier.

    Raise `ServiceError` for parts that don't add up, odd units, an unknown or inactive supplier, or
    a due day that is past.
    """
    asked = row.quantity_units if approval.units is None else approval.units
    total = checks.integer("units", asked, 1)
    wanted = (Part(total),) if approval.parts is None else tuple(approval.parts)
    if not wanted:
        refuse("parts", 0, "at least one order line")
    if sum(part.units for part in wanted) != total:
        refuse(
            "parts", sum(part.units for part in wanted), f"order lines that add up to {total} units"
        )
    if len(wanted) > MOST_PARTS:
        refuse("parts", len(wanted), f"at most {MOST_PARTS} order lines for one need")
    checked = []
    for part in wanted:
        checks.integer("units", part.units, 1)
        refuse_odd_units("units", part.units, item.pack_units, allowed=approver.odd_units_allowed)
        supplier = part.supplier or row.supplier or item.supplier
        if not supplier:
            refuse("supplier", None, "an order needs a supplier: set one on the item first")
        if part.supplier and not known.terms[supplier].is_named:
            refuse("supplier", supplier, "a supplier that we know; add it first")
        refuse_inactive(known.terms[supplier])
        checks.not_past("due_on", part.due_on, known.now)
        checked.append(Part(part.units, supplier, part.due_on))
    return tuple(checked)


def _first_approval(row: NeedProposal, approval: ApproveReorder, known: _Known) -> OrderedBefore:
    """Return the order line of an earlier approval.

    Raise `Conflict` if that was a transfer, or if another quantity was ordered than asked for now.
    """
    line = known.ordered.get(row.id)
    if line is None and row.decided_units is None:  # a transfer answered the need
        who, at = row.decider, row.decision_time
        message = f"{who} has already answered it with a transfer, {at}"
        raise Conflict(message)
    if line is None or approval.units not in (None, row.decided_units):
        who, at = row.decider, row.decision_time
        message = f"{who} has already ordered {row.decided_units}, {at}"
        raise Conflict(message)
    units = line.ordered_units if row.decided_units is None else row.decided_units
    return OrderedBefore(row.id, (line.id,), units, line.order_ref)


def _write(plans: Sequence[_Plan], approver: Approver, known: _Known) -> dict[str, Ordered]:
    if not plans:
        return {}
    refs = _orders(plans, approver)
    _write_decisions(plans, approver.actor)
    documents = list(_documents(plans, approver, known, refs))
    ids = iter(insert_rows("purchase_order_line", documents))
    done = {}
    for plan in plans:
        line_ids = tuple(next(ids) for _ in plan.parts)
        ref = refs[str(plan.parts[0].supplier), plan.row.location]
        done[plan.row.id] = Ordered(plan.row.id, line_ids, plan.units, ref)
    _log(plans, approver, done, refs)
    return done


def _orders(plans: Sequence[_Plan], approver: Approver) -> dict[tuple[str, str], str]:
    """Return the `order_ref` by supplier and location; lock the orders in sorted order."""
    groups = sorted(set[tuple[str, str]]().union(*(plan.groups for plan in plans)))
    return {group: _order_of(*group, approver) for group in groups}


def _order_of(supplier: str, location: str, approver: Approver) -> str:
    if approver.automatic:
        return automatic_order(supplier=supplier, location=location)
    if approver.sends:
        return sent_order(supplier=supplier, location=location, actor=approver.actor)
    return draft_order(supplier=supplier, location=location, actor=approver.actor)


def _write_decisions(plans: Sequence[_Plan], actor: str | None) -> None:
    insert_rows(
        "reorder_decision",
        [
            {
                **plan.row.key_columns,
                "reorder_id": plan.row.id,
                "action": "approve",
                "need_revision": plan.row.revision,
                "recorded_by": actor,
            }
            for plan in plans
        ],
    )
    execute(
        "UPDATE app.reorder_proposal AS p SET decided_action = 'approve', decided_by = %s,"
        " decided_at = clock_timestamp(), decided_units = said.units"
        " FROM unnest(%s::text[], %s::bigint[]) AS said (id, units) WHERE p.reorder_id = said.id",
        actor,
        [plan.row.id for plan in plans],
        [plan.units for plan in plans],
    )


def _documents(
    plans: Sequence[_Plan], approver: Approver, known: _Known, refs: dict[tuple[str, str], str]
) -> Iterable[dict[str, object]]:
    for plan in plans:
        for number, part in enumerate(plan.parts):
            supplier = str(part.supplier)
            due_on = part.due_on
            if approver.sends_at_once and due_on is None:
                terms = known.terms[supplier]
                due_on = due_day(
                    known.now,
                    lead_time_centidays=plan.item.lead_time_centidays or terms.lead_time_centidays,
                    order_days_mask=terms.order_days_mask,
                )
            yield {
                **plan.row.key_columns,
                "order_ref": refs[supplier, plan.row.location],
                # The id is unique among order lines, so only the first line has it.
                "reorder_id": plan.row.id if number == 0 else None,
                "supplier": supplier,
                "status": "sent" if approver.sends_at_once else "draft",
                "ordered_units": part.units,
                "cancelled_units": 0,
                "ordered_at": known.now,
                "due_on": due_on,
                "cost_minor": plan.item.cost_minor,
                "pack_units": plan.item.pack_units,
                "recorded_by": approver.actor,
            }


def _log(
    plans: Sequence[_Plan],
    approver: Approver,
    done: dict[str, Ordered],
    refs: dict[tuple[str, str], str],
) -> None:
    entries: list[tuple[str, str, Mapping[str, object]]] = []
    for plan in plans:
        ordered = done[plan.row.id]
        approved: dict[str, object] = {
            "revision": plan.row.revision,
            "units": plan.units,
            "reason": None,
        }
        if approver.automatic:
            approved["automatic"] = True
        entries.append(("approve", plan.row.id, approved))
        for line_id, part in zip(ordered.line_ids, plan.parts, strict=True):
            ref = refs[str(part.supplier), plan.row.location]
            line = {"line": line_id, "units": part.units, "order": ref}
            entries.append(("order", plan.row.inv_key, line))
    if approver.sends:
        entries += [("send_order", ref, sent) for ref, sent in _sent(plans, refs).items()]
    log_actions(actor=approver.actor, entries=entries)


def _sent(plans: Sequence[_Plan], refs: dict[tuple[str, str], str]) -> dict[str, dict[str, object]]:
    """Return the log entry of each order as `send_order` writes it, by `order_ref`."""
    sent: dict[str, dict[str, object]] = {}
    for (supplier, location), ref in refs.items():
        lines = [
            (part.units, plan.item.cost_minor)
            for plan in plans
            for part in plan.parts
            if (part.supplier, plan.row.location) == (supplier, location)
        ]
        sent[ref] = {
            "order": ref,
            "order_ref": ref,
            "lines": len(lines),
            "units": sum(units for units, _ in lines),
            "value_minor": sum(units * cost for units, cost in lines),
        }
    return sent
