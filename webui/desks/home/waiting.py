"""One line of the home page, and the order of the lines."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from django.utils.translation import gettext

from ledger.messages import gettext_noop

NOW, TODAY, LATER = 0, 1, 2
URGENCY_LABELS: Final = {
    NOW: gettext_noop("Now"),
    TODAY: gettext_noop("Today"),
    LATER: gettext_noop("Later"),
}
# Largest number of rows that a query counts; a page shows it as "1,000+".
COUNTED_TO: Final = 1_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work of one kind that waits: how much, since when, and the one next action.

    `urgency` is `NOW`, `TODAY` or `LATER`. Deliveries have their earliest due day in `due_on`, and
    no `oldest`. `money_minor` is None if the work has no amount, or if a cost is unknown.
    """

    urgency: int
    what: str
    items: int
    note: str
    step: str
    url: str
    oldest: datetime | None = None
    money_minor: int | None = None
    due_on: date | None = None

    @property
    def urgency_label(self) -> str:
        """The urgency in one word."""
        return gettext(URGENCY_LABELS[self.urgency])

    @property
    def items_text(self) -> str:
        """The number of items as text, capped at "1,000+"."""
        return f"{COUNTED_TO:,}+" if self.items >= COUNTED_TO else str(self.items)


def ranked(lines: Iterable[Waiting]) -> list[Waiting]:
    """Return the lines, most urgent first; equal urgencies by most money, then by most items."""
    return sorted(lines, key=lambda line: (line.urgency, -(line.money_minor or 0), -line.items))
