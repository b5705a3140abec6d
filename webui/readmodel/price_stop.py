"""The kill switch, which stops rule-made prices."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.access.scope import EVERYWHERE, within
from ledger.kernel.rows import select_one

# Other settings are in the same row, so its author may be another person. The row's author is used
# only for a stop that SQL has set: then the newest entry of the audit log has another state.
_STOP: Final = """
SELECT s.price_kill_switch AS is_stopped,
       CASE WHEN last.is_on = s.price_kill_switch THEN last.actor
            WHEN s.price_kill_switch THEN s.updated_by END AS updated_by,
       CASE WHEN last.is_on = s.price_kill_switch THEN last.at ELSE s.updated_at END AS updated_at
FROM app.setting s
LEFT JOIN LATERAL (SELECT actor, at, (detail ->> 'is_on')::boolean AS is_on FROM app.action_log
    WHERE subject = 'settings' AND action = 'price_kill_switch' ORDER BY id DESC LIMIT 1) last
    ON true
WHERE s.id = 1
"""


@dataclass(frozen=True, slots=True)
class PriceStop:
    """The state of the kill switch, with person and time of its last change.

    `updated_by` is None if the switch was never changed, or not by a person.
    """

    is_stopped: bool
    updated_by: str | None
    updated_at: datetime


def price_stop() -> PriceStop | None:
    """Return the state of the kill switch, or None in a database without settings."""
    with within(EVERYWHERE):  # the entry of the audit log belongs to no store
        return select_one(_STOP, {}, PriceStop)
