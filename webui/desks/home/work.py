"""The lines of the home page. A person's rights decide which kinds of work have a line."""

from collections.abc import Callable, Collection, Iterable
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext

from ledger.requests.queries import requests_to_confirm
from ledger.tasks import kinds
from ledger.webhooks.queries import trouble
from webui.accounts.roles import (
    APPROVE_COUNTS,
    CONFIRM_HISTORY,
    COUNT,
    DECIDE_PRICES,
    DECIDE_REORDERS,
    MANAGE_ORDERS,
    RECEIVE,
    SETTLE_REJECTED,
    TRANSFER,
)
from webui.desks.counts.queries import recount_total
from webui.desks.home import queries
from webui.desks.home.queries import TaskTotal, Total
from webui.desks.home.waiting import LATER, NOW, TODAY, Waiting
from webui.desks.system import alarms
from webui.desks.system.proofs import last_proof, prover
from webui.desks.system.slot import slot
from webui.desks.tasks.kinds import KINDS
from webui.readmodel.figures import counted_text, units_text

# Kinds of tasks that mean lost sales or stopped decisions now. Other kinds are for today or later.
_URGENT: Final = frozenset(
    {
        *(kinds.PIPELINE_STALE, kinds.HELD_AT_ZERO, kinds.NEGATIVE_STOCK, kinds.FLOOR_BREACHED),
        *(kinds.MISSING_PROPOSAL, kinds.OVERDUE_RECEIPT, kinds.STALE_SOURCE),
    }
)
_UNHURRIED: Final = frozenset({kinds.NOT_COUNTED, kinds.UNKNOWN_ITEM})


def _link(name: str, location: str, **query: str) -> str:
    given = {**query, **({"location": location} if location else {})}
    return f"{reverse(name)}?{urlencode(given)}" if given else reverse(name)


def work_for(may: Collection[str], roles: tuple[str, ...], location: str) -> list[Waiting]:
    """Return the unsorted lines of the home page for a person with the rights `may`.

    `roles` are the roles whose tasks the person sees as their own. An empty `location` means all
    locations that the person may see.
    """
    lines: list[Waiting] = []
    for ability, source in _SOURCES:
        if ability in may:
            lines += source(location)
    return [*lines, *_tasks(roles, location)]


def _needs(location: str) -> Iterable[Waiting]:
    found = queries.total(queries.NEEDS, location)
    note = (
        gettext("%(urgent)s with nothing left to sell") % {"urgent": units_text(found.urgent)}
        if found.urgent
        else ""
    )
    url = _link("reorders", location)
    yield from _of(found, gettext("Needs without an order"), note, gettext("Approve needs"), url)


def _drafts(location: str) -> Iterable[Waiting]:
    found = queries.total(queries.DRAFTS, location)
    url = _link("orders", location, view="draft")
    yield from _of(
        found,
        gettext("Draft orders"),
        gettext("the supplier has not received these orders yet"),
        gettext("Send orders"),
        url,
    )


def _prices(location: str) -> Iterable[Waiting]:
    found = queries.total(queries.PRICES, location)
    note = (
        gettext("%(urgent)s belong to items with more than one proposal")
        % {"urgent": units_text(found.urgent)}
        if found.urgent
        else ""
    )
    yield from _of(
        found, gettext("Proposed prices"), note, gettext("Decide prices"), _link("prices", location)
    )


def _counts(location: str) -> Iterable[Waiting]:
    counts = queries.total(queries.COUNTS, location)
    url = _link("counts-waiting", location)
    yield from _of(counts, gettext("Counts to approve"), "", gettext("Approve counts"), url)
    asked = queries.total(queries.ADJUSTMENTS, location)
    note = gettext("above the value that a person may book alone")
    yield from _of(
        asked, gettext("Adjustments to approve"), note, gettext("Approve adjustments"), url
    )


def _second_counts(location: str) -> Iterable[Waiting]:
    again = recount_total(location=location)
    if again.oldest is None:
        return
    yield Waiting(
        urgency=TODAY,
        what=gettext("Items to count again"),
        items=again.items,
        note=gettext("the first count was far from the expected units"),
        step=gettext("Count again"),
        url=f"{_link('counts', location)}#again",
        oldest=again.oldest,
    )


def _deliveries(location: str) -> Iterable[Waiting]:
    found = queries.due_deliveries(location)
    if not found.items:
        return
    overdue = (
        gettext(", %(urgent)s overdue") % {"urgent": units_text(found.urgent)}
        if found.urgent
        else ""
    )
    yield Waiting(
        urgency=NOW if found.urgent else TODAY,
        what=gettext("Deliveries due"),
        items=found.items,
        note=f"{counted_text(found.units, 'unit')}{overdue}",
        step=gettext("Receive goods"),
        url=_link("receiving", location),
        due_on=found.due_on,
    )


def _transfers(location: str) -> Iterable[Waiting]:
    arriving = queries.total(queries.ARRIVING, location)
    note = (
        gettext("%(urgent)s overdue") % {"urgent": units_text(arriving.urgent)}
        if arriving.urgent
        else ""
    )
    url = _link("transfers", location)
    yield from _of(
        arriving, gettext("Transfers on their way to you"), note, gettext("Receive transfers"), url
    )
    asked = queries.total(queries.TO_SHIP, location)
    yield from _of(
        asked,
        gettext("Transfers to send"),
        gettext("another store needs the units"),
        gettext("Send transfers"),
        url,
    )


def _system(_location: str) -> Iterable[Waiting]:
    """Yield a line for each alarm about the replication slot, proofs, stopped prices or webhooks.

    The page System shows more alarms, because it also probes the services.
    """
    proof = last_proof()
    raised = [
        *alarms.of_slot(slot()),
        *alarms.of_proofs(proof, prover()),
        *alarms.of_stop(),
        *alarms.of_webhooks(trouble()),
    ]
    for alarm in raised:
        urgency = NOW if alarm.severity == alarms.BAD else TODAY
        url = alarm.url or reverse("system")
        yield Waiting(urgency, alarm.what, 1, alarm.action, gettext("Open the system"), url)


def _requests(_location: str) -> Iterable[Waiting]:
    """Yield a line for the requests of the page History that wait for a second person."""
    found = requests_to_confirm()
    if not found:
        return
    people = ", ".join(sorted({one.requested_by for one in found}))
    yield Waiting(
        urgency=TODAY,
        what=gettext("Requests to confirm"),
        items=len(found),
        note=gettext("asked for by %(people)s; another operator has to confirm each request")
        % {"people": people},
        step=gettext("Open the request"),
        url=reverse("history-request", args=[found[0].id]),
        oldest=found[0].requested_at,
    )


def _of(found: Total, what: str, note: str, step: str, url: str) -> Iterable[Waiting]:
    if found.items:
        urgency = NOW if found.urgent else TODAY
        yield Waiting(urgency, what, found.items, note, step, url, found.oldest, found.money_minor)


def _tasks(roles: tuple[str, ...], location: str) -> Iterable[Waiting]:
    for each in queries.tasks(roles, location):
        yield _task(each, location)


def _task(each: TaskTotal, location: str) -> Waiting:
    unhurried = LATER if each.kind in _UNHURRIED else TODAY
    urgency = NOW if each.kind in _URGENT else unhurried
    kind = KINDS[each.kind]
    # `for` names the role, so that a manager also sees the tasks of the store's staff.
    query = {"for": each.role, "kind": each.kind}
    url = _link("tasks", location, **query)
    return Waiting(
        urgency, gettext(kind.label), each.items, "", gettext(kind.step), url, each.oldest
    )


_SOURCES: Final[tuple[tuple[str, Callable[[str], Iterable[Waiting]]], ...]] = (
    (DECIDE_REORDERS, _needs),
    (MANAGE_ORDERS, _drafts),
    (DECIDE_PRICES, _prices),
    (APPROVE_COUNTS, _counts),
    (COUNT, _second_counts),
    (RECEIVE, _deliveries),
    (TRANSFER, _transfers),
    (SETTLE_REJECTED, _system),
    (CONFIRM_HISTORY, _requests),
)
