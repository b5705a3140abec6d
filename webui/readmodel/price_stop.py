"""The kill switch, which stops rule-made prices."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.kernel.rows import select_one

_STOP: Final = """
SELECT price_kill_switch AS is_stopped, updated_by, updated_at FROM app.setting WHERE id = 1
"""


@dataclass(frozen=True, slots=True)
class PriceStop:
    """The state of the kill switch, with person and time of the last change of any setting."""

    is_stopped: bool
    updated_by: str | None
    updated_at: datetime


def price_stop() -> PriceStop | None:
    """Return the state of the kill switch, or None in a database without settings."""
    return select_one(_STOP, {}, PriceStop)
