"""The store that a page shows if its URL names none."""

from django.http import HttpRequest

from ledger.access.scope import stores_of
from ledger.kernel.checks import location_problem


def home_store(request: HttpRequest) -> str:
    """Return the person's only store, or an empty text if they don't have exactly one."""
    scope = stores_of(request.user)
    return "" if scope.everywhere or len(scope.stores) != 1 else next(iter(scope.stores))


def chosen_store(request: HttpRequest) -> str:
    """Return the store in the URL's parameter `location`; without one, the person's only store.

    Return an empty text if the parameter can't be the code of a location. Without the parameter,
    return an empty text if the person doesn't have exactly one store.
    """
    given = request.GET.get("location", "").strip()[:24]
    if not given:
        return home_store(request)
    return "" if location_problem(given) else given
