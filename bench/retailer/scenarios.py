"""Scenarios of simulated trading: the spread of demand over keys, and rates of irregularities."""

from dataclasses import dataclass
from typing import Final

from ledger.services import ServiceError


@dataclass(frozen=True, slots=True)
class Scenario:
    """Kinds of events in simulated trade, and how often they happen.

    `returned`, `on_one_key`, `on_hot_keys`, `late` and `ahead` are shares of the sale lines. Hot
    keys are the most popular keys; `hot_permille` is their number per thousand keys. Fields named
    `…_per_100` count events per hundred lines.

    With `is_limited`, customers buy only the units on the shelf, and goods are bought before the
    run. Each item's stock is raised to a random share of its expected sales. `bought_in` has the
    least and the greatest share, in permille.
    Simulated buyers, suppliers, store staff and managers work during the run. Without `is_limited`,
    none of them works, counts are not submitted, and stock may fall below zero.
    """

    about: str
    is_limited: bool = True
    bought_in: tuple[int, int] = (800, 2000)
    returned: float = 0.05
    on_one_key: float = 0.0
    on_hot_keys: float = 0.0
    hot_permille: int = 50
    waves: float = 0.0  # relative swing of the rate around its mean, in waves of a minute
    late: float = 0.0
    late_mean_s: float = 30.0
    ahead: float = 0.0
    transfers_per_100: float = 0.5
    counts_per_100: float = 0.5
    adjustments_per_100: float = 0.3
    thefts_per_100: float = 0.3
    prices_per_100: float = 0.0
    hot_cut_permille: int = 0  # price cut of hot items from the next window on, in permille
    strike_permille: int = 0  # share of suppliers that neither confirm nor ship
    offline_permille: int = 0  # share of stores whose tills are offline at any time
    untidy: int = 1  # factor on the rates of late, short and damaged deliveries


SCENARIOS: Final = {
    "normal": Scenario("an ordinary day"),
    "black-friday": Scenario(
        "customers come in waves, and most want a few reduced items; shelves run empty",
        bought_in=(500, 1500),
        returned=0.02,
        on_hot_keys=0.6,
        waves=0.5,
        thefts_per_100=0.6,
        hot_cut_permille=200,
        untidy=2,
    ),
    "supplier-strike": Scenario(
        "most suppliers neither confirm nor ship; the others deliver late more often",
        bought_in=(200, 1000),
        strike_permille=600,
        untidy=4,
    ),
    "till-offline": Scenario(
        "stores lose their connection for a while and send their sales late",
        offline_permille=350,
        late=0.02,
        late_mean_s=2700.0,
    ),
    "price-war": Scenario(
        "pricing managers follow the prices of a competitor, down to the price floor",
        on_hot_keys=0.4,
        prices_per_100=1.0,
    ),
    "flash_sale": Scenario(
        "for measurements: half of all lines on one item", is_limited=False, on_one_key=0.5
    ),
    "disorder": Scenario(
        "for measurements: late lines and clocks that run ahead",
        is_limited=False,
        late=0.05,
        ahead=0.001,
    ),
    "sales_only": Scenario(
        "for measurements: sale lines and nothing else",
        is_limited=False,
        returned=0.0,
        transfers_per_100=0.0,
        counts_per_100=0.0,
        adjustments_per_100=0.0,
        thefts_per_100=0.0,
    ),
}
# Former name of a scenario.
ALIASES: Final = {"everyday": "normal"}


def scenario_named(name: str) -> Scenario:
    """Return the scenario of that name; raise `ServiceError` if unknown."""
    found = SCENARIOS.get(ALIASES.get(name, name))
    if found is None:
        field = "scenario"
        raise ServiceError(field, name, f"one of {', '.join(SCENARIOS)}")
    return found
