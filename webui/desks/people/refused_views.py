"""Page of refused requests: account, network address, URL, reason and number of times."""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from ledger.kernel.errors import ServiceError
from webui.accounts import people as accounts
from webui.accounts.roles import SEE_REFUSED, requires
from webui.desks.people import queries as selectors
from webui.desks.people.forms import DayForm
from webui.desks.people.queries import Refused, RefusedFilters
from webui.shell.commands import query_text
from webui.shell.fields import is_digits
from webui.shell.page import render_page
from webui.shell.refusals import refused_text


@require_GET
@requires(SEE_REFUSED, company=True)
def refused(request: HttpRequest) -> HttpResponse:
    """Show refused requests of all stores, newest first. Equal requests in one hour share a row."""
    account = query_text(request, "account", accounts.LONGEST_NAME)
    try:
        day = DayForm({"day": query_text(request, "day", 40)}).cleaned()["day"]
    except ServiceError as error:
        said = gettext(
            "%(error)s No row is shown. Choose a day, or leave the field empty for all days."
        ) % {"error": refused_text(error)}
        return _show_refused(request, RefusedFilters(account, None), [], refusal=said, status=422)
    filters, text = RefusedFilters(account, day), query_text(request, "before", 40)
    before = int(text) if is_digits(text) else None
    found = selectors.refused_requests(filters, before=before)
    return _show_refused(request, filters, found, is_later=bool(before))


def _show_refused(
    request: HttpRequest,
    filters: RefusedFilters,
    found: list[Refused],
    *,
    status: int = 200,
    **also: object,
) -> HttpResponse:
    rows = found[: selectors.PAGE_ROWS]
    older = f"{filters.query}&before={rows[-1].id}" if len(found) > len(rows) else ""
    context = {"filters": filters, "rows": rows, "older": older.lstrip("&"), **also}
    return render_page(request, "people/refused.html", context, status=status)
