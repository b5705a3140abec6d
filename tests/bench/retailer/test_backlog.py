"""Hours of trade on the planned demo by the pure rules: the needs left to people stay few."""

from collections import deque
from dataclasses import dataclass, field
from statistics import mean

from bench.retailer.buyers import Habits, to_decide
from bench.retailer.demand import TICKS_PER_S, Demand
from bench.retailer.retailer import PlannedKey
from bench.retailer.scenarios import SCENARIOS
from deploy.stack.trader import LEFT_PERMILLE, PATIENCE_S, RATE
from inventory.replenishment.attention import attention
from ledger.reorders.automatic import SETTLED_AFTER_US
from tests.bench.retailer.folded import Folded, Row, folded_demo, need_facts
from tests.bench.retailer.test_plausible_demo import OPENS

FEW_STORES = ("BERLIN-1", "DUBLIN-1", "PORTO-1")
SECOND_US = 1_000_000
HOURS = 2
HOUR_S = 3600
ROUND_S = 10
DELIVERED_AFTER_S = 10


@dataclass(slots=True)
class Trade:
    """A shop that sells each second what the demand plans, and buys what its needs ask for."""

    keys: list[PlannedKey]
    folded: Folded
    # By key: the id of its open need, and the second in which it opened.
    opened: dict[str, tuple[str, int]] = field(default_factory=dict)
    on_the_road: deque[tuple[int, Row]] = field(default_factory=deque)
    lines: int = 0

    def sell(self, key: PlannedKey, units: int, second: int) -> None:
        on_shelf = self.folded.states[key.inv_key].stock.on_hand_units
        sold = min(units, on_shelf)
        if sold > 0:
            self.lines += 1
            row: Row = {"source": "till", "source_ref": str(self.lines)}
            row |= {"quantity_units": sold, "amount_minor": sold, "condition": "resaleable"}
            self.folded.write("sale_line", key.inv_key, row | {"occurred_at": self.folded.now_us})
            self.note(key.inv_key, second)

    def note(self, inv_key: str, second: int) -> None:
        """Store the second in which the key's need opened; forget a closed need."""
        episode = self.folded.states[inv_key].episode
        if episode.state != "open" or episode.id is None:
            self.opened.pop(inv_key, None)
        elif self.opened.get(inv_key, ("", 0))[0] != episode.id:
            self.opened[inv_key] = (episode.id, second)

    def order(self, inv_key: str, second: int) -> None:
        """Write the order line that answers the key's need."""
        reorder_id, _ = self.opened[inv_key]
        episode = self.folded.states[inv_key].episode
        row: Row = {"order_ref": reorder_id, "supplier": "S", "status": "confirmed"}
        row |= {"ordered_units": episode.quantity_units, "ordered_at": self.folded.now_us}
        line = self.folded.write("purchase_order_line", inv_key, row | {"reorder_id": reorder_id})
        self.on_the_road.append((second + DELIVERED_AFTER_S, line))
        self.note(inv_key, second)

    def receive(self, second: int) -> None:
        while self.on_the_road and self.on_the_road[0][0] <= second:
            _, line = self.on_the_road.popleft()
            units = line["ordered_units"]
            row: Row = {"leg": "supplier_in", "status": "received", "received_units": units}
            row |= {"order_units": units, "received_at": self.folded.now_us}
            self.folded.write("shipment_line", line["inv_key"], row)
            self.note(line["inv_key"], second)

    def due(self, second: int, waited_s: int) -> list[tuple[str, str]]:
        """Return the needs that have waited longer than `waited_s`, the oldest first."""
        waiting = sorted(self.opened.items(), key=lambda item: item[1][1])
        return [(name, key) for key, (name, at) in waiting if at < second - waited_s]

    def is_automatic(self, inv_key: str) -> bool:
        facts = need_facts(self.folded.states[inv_key])
        return facts.auto_max_minor > 0 and not attention(facts)


def test_open_needs_stay_few_over_hours_of_trade(demo) -> None:
    keys, history = demo
    chosen = [key for key in keys if key.location in FEW_STORES]
    sellers = sorted(chosen, key=lambda key: -key.daily_units)
    trade = Trade(chosen, folded_demo(chosen, history, OPENS))
    demand = Demand(
        seed=1, keys=len(sellers), rate=RATE * TICKS_PER_S, scenario=SCENARIOS["normal"]
    )
    habits = Habits(PATIENCE_S, at_once=20, left_permille=LEFT_PERMILLE)
    for key in chosen:
        trade.note(key.inv_key, 0)

    open_needs = []
    for second in range(HOURS * HOUR_S):
        trade.folded.now_us += SECOND_US
        for line in demand.tick(second).lines:
            trade.sell(sellers[line.key], line.units, second)
        trade.receive(second)
        open_needs.append(len(trade.opened))
        if second % ROUND_S:
            continue
        for _, key in trade.due(second, SETTLED_AFTER_US // SECOND_US):
            if trade.is_automatic(key):
                trade.order(key, second)
        for _, key in to_decide(trade.due(second, PATIENCE_S), habits):
            trade.order(key, second)

    first, last = open_needs[600:HOUR_S], open_needs[-HOUR_S:]
    # Twelve needs are left to people. The rules order the others once they are a minute old.
    assert max(open_needs) <= 50
    assert mean(last) <= mean(first) + 5
    assert min(last) >= 10
