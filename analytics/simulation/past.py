"""Compute the outcome of history itself, with the same figures as the outcome of a scenario."""

from typing import Any

from analytics.simulation.assumptions import ESTIMATED, Assumptions
from analytics.simulation.demand import unseen_units
from analytics.simulation.key_history import Event, KeyHistory, row_id
from analytics.simulation.outcome import Meter, Outcome, note_money, note_order
from analytics.simulation.shelf import minor_of, units_of
from inventory.tables.purchase_order_line import TABLE as ORDER_LINES
from inventory.tables.purchase_order_line import parse as parse_order_line
from inventory.tables.sale_line import TABLE as SALES
from inventory.tables.shipment_line import TABLE as SHIPMENTS

TRANSFERS = "(transfers)"  # in place of a supplier


def past_outcome(history: KeyHistory, assumptions: Assumptions, end_us: int) -> Outcome:
    """Return demand, orders, stock and money of one key as they were in history."""
    outcome = Outcome()
    start = history.start
    if start is None:
        return outcome
    meter = Meter(history.start_us, start.on_hand_units, start.policy)
    for event in history.events:
        meter.advance(event.at_us, outcome)
        _note(outcome, history, event)
        meter.note(event.on_hand_units, event.policy)
    meter.close(end_us, outcome)
    if assumptions.demand == ESTIMATED:
        outcome.estimated_units = sum(1 for _ in unseen_units(history, end_us))
        outcome.wanted_units += outcome.estimated_units
    return outcome


def _note(outcome: Outcome, history: KeyHistory, event: Event) -> None:
    record = event.record
    if row_id(record) in history.kept:
        return
    if record.table == SALES.name:
        _note_sale(outcome, event)
    elif record.table == SHIPMENTS.name:
        _note_leg(outcome, event)
    elif record.table == ORDER_LINES.name and record.op == "c":
        image: Any = record.after
        units = parse_order_line(history.key, image).effect(1)
        ordered = 0 if units is None else units.on_order_units
        note_order(outcome, _location(history), image["supplier"], image["ordered_at"], ordered)


def _note_sale(outcome: Outcome, event: Event) -> None:
    before: Any = event.record.before
    after: Any = event.record.after
    is_return = units_of(before) < 0 or units_of(after) < 0
    sold = 0 if is_return else units_of(after) - units_of(before)
    outcome.wanted_units += sold
    outcome.sold_units += sold
    paid, moved = minor_of(after) - minor_of(before), -event.delta_units if is_return else sold
    note_money(outcome, event.policy, amount_minor=paid, moved_units=moved)


def _note_leg(outcome: Outcome, event: Event) -> None:
    record = event.record
    image: Any = record.after
    if image is None:
        return
    if image["leg"] == "transfer_out":
        sent = max(0, -event.delta_units)
        outcome.wanted_units += sent
        outcome.sold_units += sent
        return
    outcome.received_units += event.delta_units
    if image["leg"] == "transfer_in" and record.op == "c":
        ordered = image["shipped_units"] or image["planned_units"]
        location = record.key.partition("|")[0]
        at_us = image.get("shipped_at") or event.at_us
        note_order(outcome, location, TRANSFERS, at_us, ordered)


def _location(history: KeyHistory) -> str:
    return history.key.partition("|")[0]
