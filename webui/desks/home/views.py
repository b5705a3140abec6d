"""The home page: the work that waits for a person's roles at their store."""

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from ledger.access.roles import ROLES
from ledger.access.scope import stores_of
from webui.accounts.roles import SEE, abilities, requires, roles_of
from webui.desks.home.waiting import NOW, ranked
from webui.desks.home.work import work_for
from webui.desks.tasks.views import STALE_US, own_roles
from webui.readmodel.choices import locations
from webui.shell.page import render_page


@require_GET
@requires(SEE)
def home(request: HttpRequest) -> HttpResponse:
    """Show the work that waits for the person, ordered by urgency and then by money."""
    given = request.GET.get("location")
    location = own_store(request.user) if given is None else given[:24]
    lines = ranked(work_for(abilities(request.user), own_roles(request.user), location))
    context = {
        "lines": lines,
        "urgent": sum(line.urgency == NOW for line in lines),
        "location": location,
        "locations": locations(),
        "roles": role_labels(request.user),
        "stale_us": STALE_US,
    }
    return render_page(request, "home/desk.html", context)


def own_store(user: User | AnonymousUser) -> str:
    """Return the only store of a person, or "" for a person of several stores or of all."""
    scope = stores_of(user)
    return next(iter(scope.stores)) if not scope.everywhere and len(scope.stores) == 1 else ""


def role_labels(user: User | AnonymousUser) -> list[str]:
    """Return the labels of the person's roles, in the language of the page."""
    mine = roles_of(user) if isinstance(user, User) else frozenset()
    return [gettext(role.label) for role in ROLES if role.code in mine]
