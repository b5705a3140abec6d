"""A simulation that keeps the receipts of history has the outcome of history, for any log."""

import pytest

from analytics.simulation.assumptions import RECORDED, Assumptions
from analytics.simulation.key_history import KeyHistory, key_history, row_id
from analytics.simulation.past import past_outcome
from analytics.simulation.world import Surroundings, World
from cdc.contracts.decode import Malformed, decode
from inventory.fold.partition import Partition
from inventory.log.dedupe import Admission, Ring
from inventory.model.record import Record
from inventory.parameters.overlay import OverlayRule
from tests.analytics.histories import Generated
from tests.analytics.two_runs import a_history

NO_ORDERS = (OverlayRule((), (("replenish_family", "off"),)),)


def records_by_key(log: Generated) -> dict[str, list[tuple[Record, Admission]]]:
    """Return each key's records in log order, each with its verdict, as the archive has them."""
    found: dict[str, list[tuple[Record, Admission]]] = {}
    for arrivals in log.log.values():
        ring = Ring()
        for arrival in arrivals:
            try:
                record = decode(arrival.key, arrival.value, offset=arrival.offset)
            except Malformed:
                continue
            found.setdefault(record.key, []).append((record, ring.admit(record)))
    return found


def kept_as_it_was(history: KeyHistory) -> KeyHistory:
    """Return the history with all orders and receipts marked as kept in the simulation."""
    inbound = ("purchase_order_line", "shipment_line")
    history.kept |= {row_id(e.record) for e in history.events if e.record.table in inbound}
    return history


@pytest.mark.parametrize("seed", range(4))
def test_a_simulation_with_the_recorded_receipts_reproduces_the_recorded_stock(seed: int) -> None:
    assumptions = Assumptions(demand=RECORDED)
    seen = 0

    for key, records in records_by_key(a_history(seed, steps=400)).items():
        history = kept_as_it_was(key_history(key, 1, records))
        end_us = history.events[-1].at_us
        around = Surroundings(assumptions, {}, by_transfers=False, end_us=end_us)
        done = World(history, NO_ORDERS, around).run().outcome
        past = past_outcome(history, assumptions, end_us)

        seen += len(history.events)
        assert done.lost_units == 0
        assert (done.wanted_units, done.sold_units) == (past.wanted_units, past.sold_units)
        assert (done.revenue_minor, done.period_us) == (past.revenue_minor, past.period_us)
        assert (done.stock_units, done.out_us) == (past.stock_units, past.out_us)
    assert seen > 200


def test_the_simulated_history_has_the_facts_that_the_fold_applied() -> None:
    for key, records in records_by_key(a_history(2)).items():
        partition = Partition(1)
        results = [partition.apply_admitted(*one).verdict for one in records]
        history = key_history(key, 1, records)

        applied = len(history.preamble) + len(history.events)
        assert applied == results.count("applied")
