"""Refused requests and logins, for operators: the newest first, by account and day."""

from dataclasses import dataclass
from datetime import date
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from ledger.kernel.refusal_text import refusal_text
from ledger.kernel.rows import select
from ledger.services import ServiceError
from webui.accounts.people import LONGEST_NAME
from webui.accounts.refusals import Refusal
from webui.accounts.roles import SEE_REFUSED, requires
from webui.desks.people.forms import DayForm
from webui.shell.commands import query_text
from webui.shell.fields import is_digits
from webui.shell.page import render_page

PAGE_ROWS: Final = 50
WORDS: Final = {
    "malformed": "Not understood",
    "forbidden": "Not allowed",
    "too many": "Too many attempts",
    "login": "Login failed",
}
# Ids rise with time: a row keeps its place on the pages while its count grows.
_PAGE: Final = """
SELECT id, kind, account, source, address, reason, times, first_at, last_at FROM app.refusal
WHERE (%(account)s = '' OR account = %(account)s)
  AND (%(day)s::date IS NULL OR (hour >= %(day)s::date::timestamp AT TIME ZONE 'UTC'
       AND hour < (%(day)s::date + 1)::timestamp AT TIME ZONE 'UTC'))
  AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
ORDER BY id DESC LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Refused(Refusal):
    """A row of the list, which is ordered by `id`."""

    id: int

    @property
    def words(self) -> str:
        """The kind of refusal, as shown on the page."""
        return WORDS.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True)
class Filters:
    """Account and day of the list; empty and None for all."""

    account: str
    on: date | None

    @property
    def query(self) -> str:
        """The filters as a query string."""
        on = {"day": self.on.isoformat()} if self.on else {}
        account = {"account": self.account} if self.account else {}
        return urlencode(account | on)


@require_GET
@requires(SEE_REFUSED, company=True)
def refused(request: HttpRequest) -> HttpResponse:
    """Show refused requests of every store: who, from where, which address, why, how often."""
    account = query_text(request, "account", LONGEST_NAME)
    try:
        day = DayForm({"day": query_text(request, "day", 40)}).cleaned()["day"]
    except ServiceError as error:
        said = f"{refusal_text(error)} No row was read. Choose a day, or none for all days."
        return _shown(request, Filters(account, None), [], refusal=said, status=422)
    filters, text = Filters(account, day), query_text(request, "before", 40)
    before = int(text) if is_digits(text) else None
    parameters = {"account": account, "day": filters.on, "before": before, "most": PAGE_ROWS + 1}
    return _shown(request, filters, select(_PAGE, parameters, Refused), is_later=bool(before))


def _shown(
    request: HttpRequest,
    filters: Filters,
    found: list[Refused],
    *,
    status: int = 200,
    **also: object,
) -> HttpResponse:
    rows = found[:PAGE_ROWS]
    older = f"{filters.query}&before={rows[-1].id}" if len(found) > len(rows) else ""
    context = {"filters": filters, "rows": rows, "older": older.lstrip("&"), **also}
    return render_page(request, "people/refused.html", context, status=status)
