"""The second model learns demand from whole days. Other tests use the tables of docs/domain.md."""

from typing import Any

from tests.oracle.builders import KEY, History, at, count, policy, sale
from tests.oracle.partition import Model, state_of
from tests.oracle.stock import Sums


class Run:
    """A history that is folded while it is written."""

    def __init__(self) -> None:
        self.history, self.model = History(), Model()

    def put(self, table: str, op: str, commit: int, **images: Any) -> dict[str, Any]:
        return self.model.apply(self.history.put(table, op, commit, **images))

    @property
    def state(self) -> dict[str, Any]:
        return state_of(self.model.keys[KEY])


def test_the_model_computes_demand_and_quiet_windows_from_whole_days() -> None:
    run = Run()
    hours = {"trading_windows": 72, "trading_from_window": 48}
    run.put("item_location", "c", at(0), after=policy(at(0), **hours))
    run.put("stock_count", "c", at(7), after=count(1, 40, at(7)))
    run.put("sale_line", "c", at(9, days=1), after=sale(1, 8, at(9, days=1)))
    run.put("sale_line", "c", at(9, days=2), after=sale(2, 12, at(9, days=2)))
    run.put("stock_count", "c", at(7, days=3), after=count(2, 3, at(7, days=3)))
    run.put("sale_line", "c", at(13, 55, days=3), after=sale(3, 3, at(13, 55, days=3)))
    run.put("sale_line", "c", at(0, 10, days=4), after=sale(4, 1, at(0, 9, days=4)))
    state = run.state
    assert (state["rate"], state["mad"], state["quiet_windows"]) == (8_187_500, 3_812_500, 0)
    assert state["observed_days"] == 3
    sums = Sums(run.model.keys[KEY].ledger)
    assert (sums.on_hand_before(at(7)), sums.on_hand_before(at(7, 10))) == (None, 40)
