"""Approval of reorder proposals: write the order lines of up to 500 proposals at once.

Every approval takes its locks in the same order: proposals by id, then their items by key, then the
orders that get the lines. So concurrent approvals wait for each other without a deadlock.

All proposals are checked before the first write. The order lines of all valid proposals are then
written together, in a few statements.
"""

from collections.abc import Iterable, Mapping, Sequence

from ledger.kernel.errors import LedgerError
from ledger.kernel.transactions import execute, insert_rows, log_actions
from ledger.ordering.orders import automatic_order, draft_order, sent_order
from ledger.ordering.status import due_day
from ledger.reorders.approval_plans import Known, Plan, known_rows, plans_of
from ledger.reorders.approvals import Approver, ApproveReorder, Ordered, OrderedBefore, ToOrder


def order_all(
    approvals: Sequence[ApproveReorder], approver: Approver, *, is_bulk: bool = False
) -> list[Ordered | OrderedBefore | LedgerError]:
    """Order each need that can be ordered; return the outcomes in the order of `approvals`.

    A need is a proposed reorder. A `LedgerError` in the result is the reason why that need was not
    ordered. Call this inside `ledger_transaction`. Raise `ServiceError` unless there are 1 to 500
    approvals.

    A need of a store in which the person doesn't work raises `OutOfScope`, so nothing is ordered.
    With `is_bulk`, such a need is refused as if it didn't exist, and the other needs are ordered.
    """
    known = known_rows(approvals, is_bulk=is_bulk)
    found = plans_of(approvals, approver, known)
    written = _write([plan for plan in found if isinstance(plan, Plan)], approver, known)
    return [written[f.row.id] if isinstance(f, Plan) else f for f in found]


def check_all(
    approvals: Sequence[ApproveReorder], approver: Approver
) -> list[ToOrder | OrderedBefore | LedgerError]:
    """Check needs as `order_all` with `is_bulk` does; write nothing.

    Return the outcomes that `order_all` would return, with `ToOrder` in place of `Ordered`. The
    needs stay locked until the transaction ends.
    """
    found = plans_of(approvals, approver, known_rows(approvals, is_bulk=True))
    return [
        ToOrder(
            f.row.id,
            f.row.location,
            str(f.parts[0].supplier),
            f.units,
            f.units * f.item.cost_minor,
        )
        if isinstance(f, Plan)
        else f
        for f in found
    ]


def _write(plans: Sequence[Plan], approver: Approver, known: Known) -> dict[str, Ordered]:
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


def _orders(plans: Sequence[Plan], approver: Approver) -> dict[tuple[str, str], str]:
    """Lock or create the orders that get the lines; return {(supplier, location): `order_ref`}.

    The orders are locked sorted by supplier and location, to prevent deadlocks.
    """
    groups = sorted(set[tuple[str, str]]().union(*(plan.groups for plan in plans)))
    return {group: _order_of(*group, approver) for group in groups}


def _order_of(supplier: str, location: str, approver: Approver) -> str:
    if approver.automatic:
        return automatic_order(supplier=supplier, location=location)
    if approver.sends:
        return sent_order(supplier=supplier, location=location, actor=approver.actor)
    return draft_order(supplier=supplier, location=location, actor=approver.actor)


def _write_decisions(plans: Sequence[Plan], actor: str | None) -> None:
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
        " decided_at = clock_timestamp(), decided_units = plan.units"
        " FROM unnest(%s::text[], %s::bigint[]) AS plan (id, units) WHERE p.reorder_id = plan.id",
        actor,
        [plan.row.id for plan in plans],
        [plan.units for plan in plans],
    )


def _documents(
    plans: Sequence[Plan], approver: Approver, known: Known, refs: dict[tuple[str, str], str]
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
                # A reorder id is unique among order lines, so only the first line of a need has it.
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
    plans: Sequence[Plan],
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


def _sent(plans: Sequence[Plan], refs: dict[tuple[str, str], str]) -> dict[str, dict[str, object]]:
    """Return {`order_ref`: details for the audit log}, with the fields that `send_order` logs."""
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
