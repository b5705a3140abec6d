"""The tasks desk: open tasks with numbers and a next step. By default, it shows one's own tasks."""

from collections.abc import Collection
from typing import Final
from urllib.parse import urlencode
from uuid import uuid4

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.access.roles import ROLES as ALL_ROLES
from ledger.automation.conditions import ROLES_WITH_TASKS
from ledger.messages import Message
from ledger.nouns import counted
from ledger.services import ServiceError
from ledger.tasks.kinds import COUNT_VARIANCE
from ledger.tasks.service import acknowledge_variance
from webui.accounts.roles import APPROVE_COUNTS, SEE, abilities, requires
from webui.desks.tasks import queries as selectors
from webui.desks.tasks.cards import Card, KindFilter, RoleFilter
from webui.desks.tasks.forms import TaskForm
from webui.desks.tasks.kinds import KINDS
from webui.desks.tasks.listing import COLUMNS, KEYS, task_page
from webui.readmodel.choices import locations
from webui.readmodel.figures import signed_counted_text
from webui.shell.commands import next_cards, query_text
from webui.shell.desk import Command, Refusal, answer
from webui.shell.page import render_page

MINE, ALL = "mine", "all"
# Roles that have tasks, with their labels.
ROLES: Final = {role.code: role.label for role in ALL_ROLES if role.code in ROLES_WITH_TASKS}
# Roles that also see tasks of other roles: a manager sees the tasks of the store's staff.
ROLES_COVERED_BY: Final = {
    role.code: (role.code, *role.sees_tasks_of) for role in ALL_ROLES if role.sees_tasks_of
}
BANNER_US: Final = 10_000_000
STALE_US: Final = 60_000_000


@require_GET
@requires(SEE)
def tasks(request: HttpRequest) -> HttpResponse:
    """Show open tasks, page by page."""
    return _show(request, None)


def _show(request: HttpRequest, refusal: Refusal | None) -> HttpResponse:
    mine = own_roles(request.user)
    chosen = request.GET.get("for", MINE if mine else ALL)
    task_filter = selectors.TaskFilter(
        roles=mine if chosen == MINE else (chosen,) if chosen in ROLES else (),
        kind=request.GET.get("kind", "") if request.GET.get("kind", "") in KINDS else "",
        location=request.GET.get("location", "")[:24],
    )
    # Read the version before the list. Otherwise a page would miss a change between the two reads.
    version_before = selectors.version()
    place = KEYS.place_of(request.GET)
    page = task_page(task_filter, place, roles=tuple(dict.fromkeys((*mine, *ROLES))))
    found = selectors.numbers(task_filter)
    person, may = request.user.get_username(), abilities(request.user)
    cards = [_card(task, refusal, person, may) for task in page.rows]
    query = {"for": chosen, "kind": task_filter.kind, "location": task_filter.location}
    stores = locations()
    context = {
        "cards": cards,
        "next_cards": next_cards([task.anchor for task in page.rows]),
        "choices": _choices(mine, chosen, found, query),
        "kinds": _kinds(task_filter, found, query),
        "kind": task_filter.kind,
        "chosen": chosen,
        "total": _total(task_filter, found),
        "location": task_filter.location,
        "locations": stores,
        "places": {store.code: store.name for store in stores},
        "refusal": None if any(card.refusal for card in cards) else refusal,
        "opened": query_text(request, "open", 20),
        "banner_us": BANNER_US,
        "stale_us": STALE_US,
        "version": version_before,
        "version_url": reverse("tasks-version"),
        **KEYS.links(COLUMNS, place, query, page).as_context(),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "tasks/desk.html", context, status=status)


def own_roles(user: User | AnonymousUser) -> tuple[str, ...]:
    """Return the roles whose tasks this person sees as their own."""
    own = [name for name in user.groups.values_list("name", flat=True) if name in ROLES]
    return tuple(
        dict.fromkeys(role for name in own for role in ROLES_COVERED_BY.get(name, (name,)))
    )


def _total(task_filter: selectors.TaskFilter, found: list[selectors.Number]) -> Message:
    """Return the number of tasks on all pages with its noun: `3 open tasks`."""
    roles = task_filter.roles or tuple(ROLES)
    kinds = (task_filter.kind,) if task_filter.kind else tuple(KINDS)
    total = sum(n.tasks for n in found if n.role in roles and n.kind in kinds)
    return counted(total, "open task", shown=_text(total))


def _card(task: selectors.Task, refusal: Refusal | None, person: str, may: Collection[str]) -> Card:
    kind = KINDS[task.kind]
    step, url = kind.next_step(task, may)
    is_variance = task.kind == COUNT_VARIANCE and task.detail["status"] == "approved"
    return Card(
        task=task,
        label=kind.label,
        role=ROLES[task.role],
        says=kind.text(task, may),
        step=step,
        url=url,
        can_acknowledge=is_variance and task.detail["counted_by"] != person,
        refusal=refusal if refusal and refusal.proposal == str(task.id) else None,
        command_id=uuid4(),
    )


def _choices(
    mine: tuple[str, ...],
    chosen: str,
    found: list[selectors.Number],
    query: dict[str, str],
) -> list[RoleFilter]:
    """Return the filters "mine", "all", and one for each role with a task.

    Each filter has its number of tasks. There is no filter "mine" if `mine` has no role.
    """
    roles = sorted({number.role for number in found}, key=list(ROLES).index)
    tabs = [(MINE, gettext("Mine"), mine)] if mine else []
    tabs.append((ALL, gettext("All"), tuple(ROLES)))
    tabs += [(role, ROLES[role], (role,)) for role in roles]
    return [
        RoleFilter(
            label=label,
            url="?" + urlencode(query | {"for": name, "kind": ""}),
            is_current=name == chosen,
            tasks=_text(sum(n.tasks for n in found if n.role in of)),
        )
        for name, label, of in tabs
    ]


def _kinds(
    task_filter: selectors.TaskFilter, found: list[selectors.Number], query: dict[str, str]
) -> list[KindFilter]:
    """Return a filter for each kind of task that the chosen roles have."""
    roles = task_filter.roles or tuple(ROLES)
    return [
        KindFilter(
            label=KINDS[number.kind].label,
            url="?" + urlencode(query | {"kind": number.kind}),
            without="?" + urlencode(query | {"kind": ""}),
            is_current=number.kind == task_filter.kind,
            tasks=_text(number.tasks),
        )
        for number in found
        if number.role in roles
    ]


def _text(tasks_counted: int) -> str:
    most = selectors.COUNTED_TO
    return f"{most:,}+" if tasks_counted >= most else str(tasks_counted)


@require_GET
@requires(SEE)
def version(_request: HttpRequest) -> JsonResponse:
    """Return a text that changes when a task opens or ends. Open pages request it every 2 s."""
    return JsonResponse({"version": selectors.version()})


@require_POST
@requires(APPROVE_COUNTS)
def acknowledge(request: HttpRequest) -> HttpResponse:
    """Acknowledge the variance of a count."""
    back = f"{reverse('tasks')}?{request.GET.urlencode()}"
    return answer(request, _execute, _show, back.rstrip("?"))


def _execute(command: Command) -> str:
    if command.action != "acknowledge":
        field, rule = "action", "acknowledge"
        raise ServiceError(field, command.action, rule)
    variance = acknowledge_variance(
        task_id=TaskForm(command.typed).cleaned()["proposal"],
        shown_variance_units=command.shown_revision,
        actor=command.actor,
        command_id=command.command_id,
    )
    text = signed_counted_text(variance, "unit")
    return gettext("Acknowledged: %(variance)s.") % {"variance": text}
