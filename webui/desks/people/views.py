"""Accounts: list, create, invite, disable, enable; roles and stores of each."""

from typing import Final

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_POST

from ledger.access.scope import EVERYWHERE, within
from ledger.kernel.errors import Conflict, ServiceError
from ledger.kernel.refusal_text import refusal_text
from ledger.kernel.rows import select
from webui.accounts import people as accounts
from webui.accounts.invitations import Invitation
from webui.accounts.people import Person, Places
from webui.accounts.roles import MANAGE_STAFF, requires
from webui.desks.people.commands import Keeper, keeper_of
from webui.readmodel.choices import Choice, locations
from webui.shell.commands import attempt, form_of
from webui.shell.page import render_page

_EVERYWHERE: Final = "everywhere"
_REGIONS: Final = """
SELECT region AS code, string_agg(location, ', ' ORDER BY location) AS name
FROM app.location_region GROUP BY region ORDER BY region
"""
CHANGES: Final = ("disable", "enable", "end-sessions", "roles", "stores")


@require_GET
@requires(MANAGE_STAFF)
def people(request: HttpRequest) -> HttpResponse:
    """Show the accounts that this person may change."""
    return _show(request)


def _show(
    request: HttpRequest, *, refusal: str = "", status: int = 200, link: Invitation | None = None
) -> HttpResponse:
    keeper = _keeper(request)
    with within(EVERYWHERE if keeper.manages_all else keeper.scope):
        places = locations()
        regions = select(_REGIONS, {}, Choice) if keeper.manages_all else []
    context = {
        "people": [person for person in accounts.people() if keeper.may_keep(person)],
        "roles": keeper.roles,
        "manages_all": keeper.manages_all,
        "locations": places,
        "regions": regions,
        "refusal": refusal,
        "refused": request.POST.get("person", "") if refusal else "",
        "link": link,
        "link_url": request.build_absolute_uri(link.path) if link else "",
    }
    return render_page(request, "people/desk.html", context, status=status)


def _keeper(request: HttpRequest) -> Keeper:
    user = request.user
    assert isinstance(user, User)  # noqa: S101 -- `requires` let only people through
    return keeper_of(user)


@require_POST
@requires(MANAGE_STAFF)
@sensitive_variables("link")
def add(request: HttpRequest) -> HttpResponse:
    """Create an account and show its invitation once."""
    keeper, form = _keeper(request), form_of(request)
    roles, places = _roles(request), _places(request)
    keeper.require_grant(roles, places)
    try:
        link = accounts.add_person(
            name=form.get("person", ""), roles=roles, places=places, actor=keeper.name
        )
    except ServiceError as error:
        return _show(request, refusal=refusal_text(error), status=422)
    except Conflict as conflict:
        return _show(request, refusal=f"{conflict}. Nothing was written.", status=409)
    return _show(request, link=link)


@require_POST
@requires(MANAGE_STAFF)
@sensitive_variables("link")
def act(request: HttpRequest) -> HttpResponse:
    """Do one thing to one account."""
    keeper, form = _keeper(request), form_of(request)

    def show(refusal: str, status: int) -> HttpResponse:
        return _show(request, refusal=refusal, status=status)

    if form.get("action") != "invite":
        return attempt(request, lambda: _change(request, keeper), show, reverse("people"))
    try:
        with accounts.locked_person(form.get("person", "")) as person:
            keeper.require(person)
            link = accounts.invite_person(name=person.name, actor=keeper.name)
    except ServiceError as error:
        return show(refusal_text(error), 422)
    except Conflict as conflict:
        return show(f"{conflict}. Nothing was written.", 409)
    return _show(request, link=link)


def _change(request: HttpRequest, keeper: Keeper) -> str:
    with accounts.locked_person(form_of(request).get("person", "")) as person:
        keeper.require(person)
        return _changed(request, keeper, person)


def _changed(request: HttpRequest, keeper: Keeper, person: Person) -> str:
    form, actor = form_of(request), keeper.name
    action = form.get("action", "")
    if action not in CHANGES:
        field, rule = "action", f"one of invite, {', '.join(CHANGES)}"
        raise ServiceError(field, action, rule)
    if form.get("shown_version") != person.version:
        message = f"{person.name} has changed since this page was shown: now {person.version}"
        raise Conflict(message)
    match action:
        case "disable":
            accounts.disable_person(name=person.name, actor=actor)
            return f"{person.name} is disabled. Sessions and open pages end now."
        case "enable":
            accounts.enable_person(name=person.name, actor=actor)
            return f"{person.name} may log in again."
        case "end-sessions":
            ended = accounts.end_sessions_of(name=person.name, actor=actor)
            return f"{person.name} was logged out. Sessions ended: {ended}."
        case "roles":
            keeper.require_grant(_roles(request), person.places)
            accounts.set_roles(name=person.name, roles=_roles(request), actor=actor)
            return f"{person.name} has the roles {', '.join(_roles(request))}."
        case _:
            places = _places(request)
            keeper.require_grant(person.roles, places)
            accounts.set_places(name=person.name, places=places, actor=actor)
            return f"{person.name} works in: {places.text}."


def _roles(request: HttpRequest) -> list[str]:
    return list(dict.fromkeys(request.POST.getlist("roles")))


def _places(request: HttpRequest) -> Places:
    """The stores and regions that were picked; raises nothing, the service checks them."""
    stores = tuple(dict.fromkeys(request.POST.getlist("stores")))
    regions = tuple(dict.fromkeys(request.POST.getlist("regions")))
    return Places(request.POST.get(_EVERYWHERE) == "1", stores, regions)
