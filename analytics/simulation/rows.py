"""Functions that change policy rows and counts of history for a simulated world."""

from typing import Any, Final

from analytics.simulation.assumptions import LATEST
from analytics.simulation.key_history import Event, Image, KeyHistory
from analytics.simulation.simulated_log import Row, SimulatedLog
from inventory.fold.record import Applied
from inventory.parameters.overlay import Overlay, applied
from inventory.tables.item_location import TABLE as POLICIES
from inventory.tables.stock_count import TABLE as COUNTS

# Columns with facts about the item at that time, not parameters.
_FACTS: Final = ("clock_mode", "reviewed_at", "allocated_units")
_PARAMETERS: Final = tuple(name for name, _kind in POLICIES.columns if name not in _FACTS)


def policy_row(history: KeyHistory, row: Image, overlay: Overlay, parameters: str) -> Row:
    """Return a policy row of the log with the parameters of a scenario.

    If `parameters` is `latest`, the parameters that the scenario doesn't change come from the
    item's last policy row.
    """
    if parameters == LATEST:
        latest = history.latest_policy
        row = {**row, **{name: latest[name] for name in _PARAMETERS if name in latest}}
    return applied(row, overlay)


def count_row(log: SimulatedLog, event: Event, before: Row | None) -> Row | None:
    """Return a count's row with changed units, so that its variance is the same as in history.

    The variance is counted minus computed units: the units that were lost or found without a
    record. The simulation loses and finds the same units. But the simulated stock can differ from
    history, and then the counted units must differ, too. A negative variance removes at most the
    units on hand. A count that isn't approved is returned unchanged. For a deleted count, return
    None.
    """
    record, state = event.record, log.state
    image: Any = record.after
    if state is None or image is None or image["status"] != "approved":
        unchanged: Row | None = image
        return unchanged
    on_hand = state.on_hand_units
    wanted = on_hand + max(event.delta_units, -max(0, on_hand))
    guess = {**image, "units": 0}
    tried = log.tried(COUNTS.name, record.op, before, guess, record.commit_us)
    moved_since = tried.state.on_hand_units if isinstance(tried, Applied) else 0
    return {**image, "units": max(0, wanted - moved_since)}
