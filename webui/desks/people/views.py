"""Pages that list and create accounts, invite people, and change accounts, roles and stores."""

from typing import Final

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_POST

from ledger.access.scope import EVERYWHERE, within
from ledger.kernel.errors import Conflict, ServiceError
from ledger.messages import Message
from webui.accounts import people as accounts
from webui.accounts.invitations import Invitation
from webui.accounts.person import Person, all_people
from webui.accounts.roles import MANAGE_STAFF, requires
from webui.desks.people import queries as selectors
from webui.desks.people.account_manager import AccountManager, account_manager_of
from webui.desks.people.forms import AccountForm, ChangeForm
from webui.readmodel.choices import locations
from webui.shell.commands import query_text, run_command
from webui.shell.page import render_page
from webui.shell.refusals import conflict_text, refused_text

MOST_SHOWN: Final = 100
CHANGES: Final = ("disable", "enable", "end-sessions", "reset-second-factor", "roles", "stores")


@require_GET
@requires(MANAGE_STAFF)
def people(request: HttpRequest) -> HttpResponse:
    """Show the accounts that this person may change."""
    return _show(request)


def _show(
    request: HttpRequest,
    *,
    refusal: str = "",
    added: AccountForm | None = None,
    status: int = 200,
    link: Invitation | None = None,
) -> HttpResponse:
    manager = _account_manager(request)
    with within(EVERYWHERE if manager.manages_all else manager.scope):
        places = locations()
        regions = selectors.regions() if manager.manages_all else []
    text = query_text(request, "q", accounts.LONGEST_NAME)
    found = [p for p in all_people() if manager.may_manage(p) and _fits(p, text)]
    context = {
        "people": found[:MOST_SHOWN],
        "total": len(found),
        "q": text,
        "roles": manager.roles,
        "manages_all": manager.manages_all,
        "locations": places,
        "regions": regions,
        "refusal": refusal,
        "added": added.kept if added else None,
        "link": link,
        "link_url": request.build_absolute_uri(link.path) if link else "",
    }
    return render_page(request, "people/desk.html", context, status=status)


def _fits(person: Person, text: str) -> bool:
    """Return True if the person's name, roles or stores contain the text."""
    return text.lower() in f"{person.name} {' '.join(person.roles)} {person.places.text}".lower()


def _account_manager(request: HttpRequest) -> AccountManager:
    user = request.user
    assert isinstance(user, User)  # noqa: S101 -- `requires` has refused people without a login
    return account_manager_of(user)


@require_POST
@requires(MANAGE_STAFF)
@sensitive_variables("link")
def add(request: HttpRequest) -> HttpResponse:
    """Create an account and show its invitation once."""
    manager, form = _account_manager(request), AccountForm(request.POST)
    name, roles = form.cleaned()["person"], form.cleaned()["roles"]
    try:
        manager.require_choice(roles, form.places)
        manager.require_grant(roles, form.places)
        link = accounts.add_person(name=name, roles=roles, places=form.places, actor=manager.name)
    except ServiceError as error:
        return _show(request, refusal=refused_text(error), added=form, status=422)
    except Conflict as conflict:
        return _show(request, refusal=conflict_text(conflict), added=form, status=409)
    return _show(request, link=link)


@require_POST
@requires(MANAGE_STAFF)
@sensitive_variables("link")
def act(request: HttpRequest) -> HttpResponse:
    """Execute one command on one account."""
    manager, form = _account_manager(request), ChangeForm(request.POST)
    name: str = form.cleaned()["person"]

    def show(refusal: str, status: int) -> HttpResponse:
        return _show(request, refusal=refusal, status=status)

    if form.cleaned()["action"] != "invite":
        return run_command(request, lambda: _change(form, manager), show, reverse("people"))
    try:
        with accounts.locked_person(name) as person:
            manager.require(person)
            link = accounts.invite_person(name=person.name, actor=manager.name)
    except ServiceError as error:
        return show(refused_text(error), 422)
    except Conflict as conflict:
        return show(conflict_text(conflict), 409)
    return _show(request, link=link)


def _change(form: ChangeForm, manager: AccountManager) -> str:
    with accounts.locked_person(form.cleaned()["person"]) as person:
        manager.require(person)
        return _changed(form, manager, person)


def _changed(form: ChangeForm, manager: AccountManager, person: Person) -> str:
    values, actor = form.cleaned(), manager.name
    action: str = values["action"]
    if action not in CHANGES:
        field, rule = "action", Message("one of invite, %(changes)s", changes=", ".join(CHANGES))
        raise ServiceError(field, action, rule)
    if values["shown_version"] != person.version:
        message = Message(
            "The account %(name)s has changed since this page was shown. It is now: %(version)s",
            name=person.name,
            version=person.version,
        )
        raise Conflict(message)
    match action:
        case "disable":
            accounts.disable_person(name=person.name, actor=actor)
            return gettext("%(name)s is disabled. Sessions and open pages end now.") % {
                "name": person.name
            }
        case "enable":
            accounts.enable_person(name=person.name, actor=actor)
            return gettext("%(name)s may log in again.") % {"name": person.name}
        case "end-sessions":
            ended = accounts.end_sessions_of(name=person.name, actor=actor)
            return gettext(
                "%(name)s was logged out. Sessions ended: %(ended)s. Tokens have ended too."
            ) % {"name": person.name, "ended": ended}
        case "reset-second-factor":
            manager.require_reset()
            return _without_second_factor(values["shown_factor"], person, actor)
        case "roles":
            manager.require_grant(values["roles"], person.places)
            accounts.set_roles(name=person.name, roles=values["roles"], actor=actor)
            return gettext("%(name)s has the roles %(roles)s.") % {
                "name": person.name,
                "roles": ", ".join(values["roles"]),
            }
        case _:
            manager.require_grant(person.roles, form.places)
            accounts.set_store_access(name=person.name, places=form.places, actor=actor)
            return gettext("%(name)s works in: %(text)s.") % {
                "name": person.name,
                "text": form.places.text,
            }


def _without_second_factor(shown: str, person: Person, actor: str) -> str:
    # Without this check, a click on an old page would remove a second factor that was set up since.
    mark = person.second_factor_mark
    if not mark or shown != mark:
        message = Message(
            "The second factor of %(name)s has changed since this page was shown", name=person.name
        )
        raise Conflict(message)
    accounts.reset_second_factor(name=person.name, actor=actor)
    return gettext(
        "The second factor of %(name)s was removed. Sessions, open pages and tokens "
        "end now. If a role needs a second factor, the next login sets up a new one."
    ) % {"name": person.name}
