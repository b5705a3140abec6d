"""Facts of history in a simulated world: demand, returns, counts, adjustments, policies, prices.

Each record takes effect at its position in the log. Sales, losses and shipments take at most the
units on the simulated shelf. If receipts are the same as in history, the simulated stock is the
same, too.
"""

from typing import Any

from analytics.simulation.assumptions import Assumptions
from analytics.simulation.key_history import Event, KeyHistory, row_id
from analytics.simulation.outcome import note_money
from analytics.simulation.rows import count_row, policy_row
from analytics.simulation.shelf import Shelf, minor_of, units_of
from analytics.simulation.simulated_log import Row
from inventory.fold.record import Refused
from inventory.parameters.overlay import Overlay
from inventory.tables.item_location import TABLE as POLICIES
from inventory.tables.price_change import TABLE as PRICES
from inventory.tables.sale_line import TABLE as SALES
from inventory.tables.shipment_line import TABLE as SHIPMENTS
from inventory.tables.stock_adjustment import TABLE as ADJUSTMENTS
from inventory.tables.stock_count import TABLE as COUNTS


class Facts:
    """A reader of one item's records, which it applies to the simulated shelf.

    `problem` is the reason why the rules first refused a changed policy row, or "". `is_changed` is
    True if the scenario has changed the parameters of a policy row.
    """

    def __init__(
        self, history: KeyHistory, overlay: Overlay, assumptions: Assumptions, shelf: Shelf
    ) -> None:
        self.problem = ""
        self.is_changed = False
        self._history = history
        self._overlay = overlay
        self._parameters = assumptions.parameters
        self._shelf = shelf

    def take(self, event: Event) -> None:
        """Apply one record.

        Ignore orders and receipts, except rows in `history.kept`, such as orders that began before
        the simulated period.
        """
        table = event.record.table
        if table == POLICIES.name:
            self._rule(event)
        elif row_id(event.record) in self._history.kept or table == PRICES.name:
            self._keep(event)
        elif table == SALES.name:
            self._sell(event)
        elif table == ADJUSTMENTS.name:
            self._adjust(event)
        elif table == COUNTS.name:
            self._count(event)
        elif table == SHIPMENTS.name:
            self._send(event)

    def _keep(self, event: Event) -> None:
        """Fold the record as it is."""
        record = event.record
        before: Any = record.before
        after: Any = record.after
        self._append(event, before, after)

    def _append(self, event: Event, before: Row | None, after: Row | None) -> str:
        """Fold the record with the images `before` and `after`.

        Return the detail if the fold refuses the record, else "".
        """
        record = event.record
        done = self._shelf.log.append(record.table, record.op, before, after, record.commit_us)
        return done.detail if isinstance(done, Refused) else ""

    def _rule(self, event: Event) -> None:
        """Fold a policy row with the scenario's parameters.

        If a limit forbids these parameters, fold the row as logged.
        """
        identity, rows = row_id(event.record), self._shelf.rows
        own: Any = event.record.before
        before = None if own is None else rows.get(identity, own)
        after: Any = event.record.after
        if after is None:
            self._append(event, before, None)
            return
        same = policy_row(self._history, after, (), self._parameters)
        changed = policy_row(self._history, after, self._overlay, self._parameters)
        problem = self._append(event, before, changed)
        if problem:
            self.problem = self.problem or problem
            self._shelf.outcome.refused_policies = 1
            changed = after
            self._append(event, before, changed)
        else:
            self.is_changed = self.is_changed or changed != same
        rows[identity] = changed

    def _count(self, event: Event) -> None:
        identity, rows = row_id(event.record), self._shelf.rows
        own: Any = event.record.before
        before = None if own is None else rows.get(identity, own)
        after = count_row(self._shelf.log, event, before)
        self._append(event, before, after)
        if after is not None:
            rows[identity] = after

    def _sell(self, event: Event) -> None:
        """Sell at most the units on the shelf, or all units if a later count includes the sale."""
        before: Any = event.record.before
        after: Any = event.record.after
        if units_of(before) < 0 or units_of(after) < 0:
            self._bring_back(event, after)
            return
        shelf, identity = self._shelf, row_id(event.record)
        more = units_of(after) - units_of(before)
        sold = units_of(shelf.rows.get(identity))
        shelf.outcome.wanted_units += more
        is_free = event.delta_units == 0 or more <= 0
        units = sold + (more if is_free else min(more, shelf.units))
        units = min(max(0, units), units_of(after))
        shelf.sell(identity, after, units, event.record.commit_us)

    def _bring_back(self, event: Event, after: Row | None) -> None:
        """Book a return of goods, as in history."""
        shelf, identity = self._shelf, row_id(event.record)
        paid = minor_of(after) - minor_of(shelf.rows.get(identity))
        shelf.change(identity, after, event.record.commit_us)
        moved = -event.delta_units
        note_money(shelf.outcome, shelf.state.policy, amount_minor=paid, moved_units=moved)

    def _adjust(self, event: Event) -> None:
        """Book an adjustment. A loss takes at most the units on the shelf."""
        shelf, identity = self._shelf, row_id(event.record)
        after: Any = event.record.after
        if after is not None and event.delta_units < 0:
            most = shelf.units + units_of(shelf.rows.get(identity))
            units = min(units_of(after), most)
            after = {**after, "quantity_units": units} if units else None
        shelf.change(identity, after, event.record.commit_us)

    def _send(self, event: Event) -> None:
        """Ship a transfer to another location, at most the units on the shelf."""
        image: Any = event.record.after
        if image is None or image["leg"] != "transfer_out" or event.delta_units >= 0:
            return
        shelf, wanted = self._shelf, -event.delta_units
        sent = min(wanted, shelf.units)
        shelf.outcome.wanted_units += wanted
        shelf.outcome.sold_units += sent
        if sent:
            row = {**image, "status": "shipped", "shipped_units": sent}
            shelf.fold(SHIPMENTS.name, None, row, event.record.commit_us)
