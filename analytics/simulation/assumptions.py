"""The assumptions of a simulation that are no policy parameters, such as the approval delay."""

from typing import Any, Final

from inventory.model.arithmetic import DAY_US, MINUTE_US, weekday_of
from inventory.model.value import value

RECORDED, ESTIMATED = "recorded", "estimated"
DEMANDS: Final = (ESTIMATED, RECORDED)
LOG, LATEST = "log", "latest"
PARAMETERS: Final = (LOG, LATEST)
HISTORY, POLICY = "history", "policy"
LEAD_TIMES: Final = (HISTORY, POLICY)
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY: Final = 127


@value
class Assumptions:
    """Assumptions of a simulation about approvals, order days, lead times and demand.

    `order_days_mask` has Monday in bit 0. `lead_times` is one of `LEAD_TIMES`, `demand` one of
    `DEMANDS`, and `parameters` one of `PARAMETERS`. `seed` determines which past lead time each
    order gets.
    """

    approval_minutes: int = 0
    order_days_mask: int = EVERY_DAY
    lead_times: str = HISTORY
    demand: str = ESTIMATED
    parameters: str = LOG
    seed: int = 1

    def order_time_us(self, opened_us: int) -> int:
        """Return the time of the order for a need (proposed reorder) that opened at `opened_us`.

        It is the end of the approval delay. If the delay ends on no order day, it is 00:00 UTC of
        the next order day.
        """
        at_us = opened_us + self.approval_minutes * MINUTE_US
        while not self.order_days_mask >> weekday_of(at_us) & 1:
            at_us = (at_us // DAY_US + 1) * DAY_US
        return at_us

    def as_json(self) -> dict[str, Any]:
        """Return the assumptions as a JSON object. The digest in a simulation's name covers it."""
        days = [name for bit, name in enumerate(WEEKDAYS) if self.order_days_mask >> bit & 1]
        return {
            "approval_minutes": self.approval_minutes,
            "order_days": days,
            "lead_times": self.lead_times,
            "demand": self.demand,
            "parameters": self.parameters,
            "seed": self.seed,
        }
