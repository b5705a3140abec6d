"""The simulated world of one key: demand as in history, orders by the scenario's parameters.

Purchase orders, receipts and transfers from other locations are replaced. A need that the fold
opens is ordered after the approval delay, and its goods arrive after the lead time. The simulation
folds the order line and the receipt as records. All other facts come from history, and the stock on
the simulated shelf limits their units.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from analytics.simulation.assumptions import ESTIMATED, HISTORY, Assumptions
from analytics.simulation.demand import UnseenUnit, unseen_units
from analytics.simulation.facts import Facts
from analytics.simulation.key_history import Event, KeyHistory
from analytics.simulation.lead_times import Experience, drawn_us, planned_us, source_of
from analytics.simulation.outcome import Meter, note_order
from analytics.simulation.placed_orders import PlacedOrder, Simulated
from analytics.simulation.shelf import Shelf
from analytics.simulation.simulated_log import (
    SimulatedLog,
    order_line_row,
    receipt_row,
    sale_row,
)
from inventory.model.arithmetic import DAY_US, MINUTE_US, SECOND_US, day_of
from inventory.model.outputs import ReorderOutput
from inventory.model.policy import ItemLocation
from inventory.parameters.overlay import Overlay
from inventory.replenishment.families import family_of
from inventory.replenishment.transitions import OPEN
from inventory.tables.item_location import TABLE as POLICIES
from inventory.tables.purchase_order_line import TABLE as ORDER_LINES
from inventory.tables.shipment_line import TABLE as SHIPMENTS

REVIEW_US: Final = 15 * MINUTE_US  # after midnight, UTC


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that a key's world needs besides the key's own facts and the scenario."""

    assumptions: Assumptions
    experience: Experience
    by_transfers: bool
    end_us: int


@dataclass(frozen=True, slots=True)
class _Due:
    """A pending entry of the simulation: the order for `need` (a proposed reorder) is due."""

    need: ReorderOutput


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A pending entry of the simulation: the goods of an order line arrive."""

    line: int
    units: int


@dataclass(frozen=True, slots=True)
class _Review:
    """A pending entry of the simulation: the daily review, at which periodic families decide."""


_Pending = _Due | _Arrival | _Review | UnseenUnit


class World:
    """The simulation of one key in one scenario. Call `run` once."""

    def __init__(self, history: KeyHistory, overlay: Overlay, around: Surroundings) -> None:
        self._history = history
        self._around = around
        self._log = SimulatedLog(history.key, history.generation)
        self._shelf = Shelf(self._log, history.start_unbooked_units)
        self._facts = Facts(history, overlay, around.assumptions, self._shelf)
        self._orders: list[PlacedOrder] = []
        self._pending: list[tuple[int, int, _Pending]] = []
        self._pushed = 0
        self._ordered_need = ""
        self._meter: Meter | None = None

    def run(self) -> Simulated:
        """Simulate the key's period up to the end of the history. Return outcome and orders."""
        history, end_us = self._history, self._around.end_us
        for record in history.preamble:
            self._facts.take(Event(record, 0, 0, 0, None, 0))
        start_us = history.start_us
        self._meter = Meter(start_us, self._shelf.state.on_hand_units, self._shelf.state.policy)
        self._plan(start_us, end_us)
        self._watch(start_us)
        for event in history.events:
            self._live_until(event.at_us)
            self._shelf.unbooked_units = event.unbooked_units
            self._facts.take(event)
            self._after(event.at_us)
        self._live_until(end_us)
        self._meter.close(end_us, self._shelf.outcome)
        facts = self._facts
        return Simulated(self._shelf.outcome, self._orders, facts.problem, facts.is_changed)

    def _plan(self, start_us: int, end_us: int) -> None:
        self._push(start_us // DAY_US * DAY_US + DAY_US + REVIEW_US, _Review())
        if self._around.assumptions.demand == ESTIMATED:
            for unit in unseen_units(self._history, end_us):
                self._push(unit.at_us, unit)

    def _push(self, at_us: int, pending: _Pending) -> None:
        self._pushed += 1
        heappush(self._pending, (at_us, self._pushed, pending))

    def _live_until(self, limit_us: int) -> None:
        """Process what is due up to `limit_us`: orders, goods, reviews, estimated demand."""
        while self._pending and self._pending[0][0] <= limit_us:
            at_us, _, pending = heappop(self._pending)
            if at_us < self._free_us and isinstance(pending, _Arrival | UnseenUnit):
                self._push(self._free_us, pending)
                continue
            self._measure(at_us)
            match pending:
                case _Due():
                    self._place(pending.need, at_us)
                case _Arrival():
                    self._receive(pending, at_us)
                case _Review():
                    self._review(at_us)
                case UnseenUnit():
                    self._shelf.outcome.estimated_units += 1
                    self._shelf.outcome.wanted_units += 1
                    row = sale_row(self._log.offset, 1, pending.price_minor, at_us)
                    self._shelf.serve(row, at_us)
            self._after(at_us)
        self._measure(limit_us)

    @property
    def _free_us(self) -> int:
        """Return the earliest time for arriving goods and estimated demand, in µs since 1970 UTC.

        It is one second after the last count, or 0 without a count. A count includes all movements
        before it, so a movement before the count wouldn't change on-hand.
        """
        count = self._shelf.state.stock.last_count
        return 0 if count is None else count.at_us + SECOND_US

    def _measure(self, at_us: int) -> None:
        if self._meter is not None:
            self._meter.advance(at_us, self._shelf.outcome)

    def _after(self, at_us: int) -> None:
        """Note the stock, and plan an order for a need (proposed reorder) that has just opened."""
        if self._meter is not None:
            self._meter.note(self._shelf.state.on_hand_units, self._shelf.state.policy)
        self._watch(at_us)

    def _watch(self, at_us: int) -> None:
        opened, self._log.opened = self._log.opened, []
        for need in opened:
            if need.id != self._ordered_need:
                self._ordered_need = need.id
                self._push(self._around.assumptions.order_time_us(at_us), _Due(need))

    def _place(self, need: ReorderOutput, at_us: int) -> None:
        """Order the current quantity of the need (proposed reorder). Do nothing if it is closed."""
        episode, policy = self._shelf.state.episode, self._shelf.state.policy
        if episode.state != OPEN or episode.id != need.id or policy is None:
            return
        units, line = episode.quantity_units or 0, self._log.offset
        supplier = policy.supplier or ""
        received_us = at_us + self._lead_us(policy, at_us)
        row = order_line_row(line, need, units, supplier, at_us)
        self._shelf.fold(ORDER_LINES.name, None, row, at_us)
        self._push(received_us, _Arrival(line, units))
        note_order(self._shelf.outcome, self._location, supplier, at_us, units)
        placed = PlacedOrder(need.id, supplier, at_us, received_us, units, policy.cost_minor)
        self._orders.append(placed)

    def _lead_us(self, policy: ItemLocation, ordered_us: int) -> int:
        around = self._around
        source = source_of(self._location, policy, by_transfers=around.by_transfers)
        times = around.experience.get(source, ())
        if around.assumptions.lead_times == HISTORY and times:
            return drawn_us(times, self._history.key, ordered_us, around.assumptions.seed)
        return planned_us(policy)

    @property
    def _location(self) -> str:
        return self._history.key.partition("|")[0]

    def _receive(self, arrival: _Arrival, at_us: int) -> None:
        row = receipt_row(self._log.offset, arrival.line, arrival.units, at_us)
        self._shelf.fold(SHIPMENTS.name, None, row, at_us)
        self._shelf.outcome.received_units += arrival.units

    def _review(self, at_us: int) -> None:
        """Review a key of a periodic family, unless history has a review of this day.

        The simulation calls this once a day.
        """
        self._push(at_us + DAY_US, _Review())
        policy = self._shelf.state.policy
        if policy is None or not family_of(policy).is_periodic:
            return
        reviewed_us = policy.reviewed_at_us
        if reviewed_us is not None and day_of(reviewed_us) >= day_of(at_us):
            return
        identity = POLICIES.name, policy.id
        after = {**self._shelf.rows[identity], "reviewed_at": at_us}
        self._shelf.change(identity, after, at_us)
