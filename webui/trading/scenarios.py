"""Trading days to choose from: how demand spreads over keys, and how untidy reality is."""

from dataclasses import dataclass
from typing import Final

from webui.ledger.services import ServiceError


@dataclass(frozen=True, slots=True)
class Scenario:
    """Shares are of the sale lines; the rest of the day comes per hundred lines."""

    returned: float = 0.05
    on_one_key: float = 0.0
    late: float = 0.0
    late_mean_s: float = 30.0
    ahead: float = 0.0
    transfers_per_100: float = 0.5
    counts_per_100: float = 0.5
    adjustments_per_100: float = 0.5


SCENARIOS: Final = {
    "everyday": Scenario(),
    "flash_sale": Scenario(on_one_key=0.5),
    "disorder": Scenario(late=0.05, ahead=0.001),
    "sales_only": Scenario(
        returned=0.0, transfers_per_100=0.0, counts_per_100=0.0, adjustments_per_100=0.0
    ),
}


def scenario_named(name: str) -> Scenario:
    """The scenario of that name."""
    if name not in SCENARIOS:
        field = "scenario"
        raise ServiceError(field, name, f"one of {', '.join(sorted(SCENARIOS))}")
    return SCENARIOS[name]
