"""Demand health: how well the demand behind orders is known, and where the method misleads."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from cdc.contracts.times import us_of
from ledger.kernel.transactions import database_now
from webui.accounts.roles import SEE, requires
from webui.readmodel import demand as demand_selectors
from webui.readmodel.choices import locations
from webui.shell.page import render_page


@require_GET
@requires(SEE)
def demand(request: HttpRequest) -> HttpResponse:
    """Show keys by the state of their demand estimate, with hints at better methods."""
    location = request.GET.get("location", "")[:24]
    now_us = us_of(database_now())
    context = {
        "known": demand_selectors.estimate_counts(location),
        "gaps": demand_selectors.gaps(location, now_us),
        "hints": demand_selectors.hints(location, now_us),
        "location": location,
        "locations": locations(),
        "days": demand_selectors.DAYS,
    }
    return render_page(request, "system/demand.html", context)
