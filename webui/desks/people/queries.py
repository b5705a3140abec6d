"""Queries of the people desk: regions, and refused requests by account and day."""

from dataclasses import dataclass
from datetime import date
from typing import Final
from urllib.parse import urlencode

from ledger.kernel.rows import select
from ledger.messages import gettext_noop
from webui.accounts.refusals import Refusal
from webui.readmodel.choices import Choice

PAGE_ROWS: Final = 50
WORDS: Final = {
    "malformed": gettext_noop("Not valid"),
    "forbidden": gettext_noop("Not allowed"),
    "too many": gettext_noop("Too many attempts"),
    "login": gettext_noop("Login failed"),
}
_REGIONS: Final = """
SELECT region AS code, string_agg(location, ', ' ORDER BY location) AS name
FROM app.location_region GROUP BY region ORDER BY region
"""
# Sort by id, which rises with the time of the first refusal. A further equal refusal changes
# `last_at` and `times`, and must not move the row to another page.
_REFUSED: Final = """
SELECT id, kind, account, source, address, reason, times, first_at, last_at FROM app.refusal
WHERE (%(account)s = '' OR account = %(account)s)
  AND (%(day)s::date IS NULL OR (hour >= %(day)s::date::timestamp AT TIME ZONE 'UTC'
       AND hour < (%(day)s::date + 1)::timestamp AT TIME ZONE 'UTC'))
  AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
ORDER BY id DESC LIMIT %(most)s
"""


def regions() -> list[Choice]:
    """Return a choice for each region: `code` is the region, `name` lists its locations."""
    return select(_REGIONS, {}, Choice)


@dataclass(frozen=True, slots=True)
class Refused(Refusal):
    """A refused request of the list, which is sorted by `id`."""

    id: int

    @property
    def words(self) -> str:
        """The kind of refusal, as shown on the page."""
        return WORDS.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True)
class RefusedFilters:
    """The filters of the list: an account and a day.

    An empty `account` selects the refusals of all accounts. None as the day `on` selects all days.
    """

    account: str
    on: date | None

    @property
    def query(self) -> str:
        """The filters as a query string."""
        on = {"day": self.on.isoformat()} if self.on else {}
        account = {"account": self.account} if self.account else {}
        return urlencode(account | on)


def refused_requests(filters: RefusedFilters, *, before: int | None) -> list[Refused]:
    """Return up to 51 refusals, newest first: one more than a page, to show whether more follow.

    With `before`, return only refusals with a lower id.
    """
    parameters = {"account": filters.account, "day": filters.on, "before": before}
    return select(_REFUSED, parameters | {"most": PAGE_ROWS + 1}, Refused)
