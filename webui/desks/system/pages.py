"""Lists of the system desk: rejected records, proofs and the audit log."""

from datetime import date
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from webui.accounts.roles import SEE, abilities, requires
from webui.desks.system import audit as log
from webui.desks.system.proofs import proofs as newest_proofs
from webui.desks.system.proofs import prover
from webui.readmodel import rejected as records
from webui.readmodel.choices import locations
from webui.shell.fields import DAY, is_digits
from webui.shell.page import render_page

MOST_CHARACTERS = 200


def _given(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").strip().replace("\x00", "")[:MOST_CHARACTERS]


@require_GET
@requires(SEE)
def rejected_records(request: HttpRequest) -> HttpResponse:
    """List rejected records, newest first. Filter them by reason, stage, item and state."""
    state = _given(request, "state")
    wanted = records.RejectedFilter(
        reason=_given(request, "reason"),
        stage=_given(request, "stage"),
        item=_given(request, "item"),
        state=state if state in records.STATES else records.STATES[0],
    )
    found = records.listed(wanted, _given(request, "before"))
    shown = found[: records.SHOWN]
    query = {"reason": wanted.reason, "stage": wanted.stage, "item": wanted.item}
    query["state"] = wanted.state
    context = {
        "records": shown,
        "wanted": wanted,
        "states": records.STATES,
        "reasons": records.reasons(),
        "stages": ("decode", "fold"),
        "waiting_count": records.waiting(),
        "is_filtered": any((wanted.reason, wanted.stage, wanted.item)),
        "first_url": f"?{urlencode(query)}" if "before" in request.GET else "",
        "next_url": f"?{urlencode(query | {'before': shown[-1].id})}"
        if len(found) > len(shown)
        else "",
    }
    return render_page(request, "system/rejected.html", context)


@require_GET
@requires(SEE)
def proofs(request: HttpRequest) -> HttpResponse:
    """List the nightly proofs with their results, newest first."""
    only_different = request.GET.get("different") == "1"
    context = {
        "proofs": newest_proofs(only_different=only_different),
        "prover": prover(),
        "only_different": only_different,
    }
    return render_page(request, "system/proofs.html", context)


@require_GET
@requires(SEE)
def audit(request: HttpRequest) -> HttpResponse:
    """List actions, newest first: the person's own, or all actions at the person's stores."""
    choices = log.choices(abilities(request.user))
    whose = _given(request, "whose")
    whose = whose if whose in choices else choices[0]
    texts = {name: _given(request, name) for name in ("person", "object", "action", "location")}
    days = {name: _given(request, name) for name in ("since", "until")}
    rules = request.GET.get("rules") == "1"
    since, until = (_day(text) for text in days.values())
    wanted = log.AuditFilter(**texts, since=since, until=until, rules=rules)
    before = _given(request, "before")
    actor = request.user.get_username()
    wrong_days = [text for text in days.values() if text and _day(text) is None]
    last = int(before) if is_digits(before) else None
    found = [] if wrong_days else log.entries(wanted, whose, actor, last)
    shown = found[: log.PAGE_ROWS]
    query = {"whose": whose, **texts, **days, **({"rules": "1"} if rules else {})}
    context = {
        "entries": shown,
        "wanted": wanted,
        "days": days,
        "whose": whose,
        "choices": [(each, f"?{urlencode(query | {'whose': each})}") for each in choices],
        "locations": locations(),
        "wrong_days": wrong_days,
        "is_filtered": any((*texts.values(), *days.values())),
        "first_url": f"?{urlencode(query)}" if before else "",
        "next_url": f"?{urlencode(query | {'before': shown[-1].id})}"
        if len(found) > len(shown)
        else "",
    }
    return render_page(request, "system/audit.html", context, status=422 if wrong_days else 200)


def _day(text: str) -> date | None:
    """Return the day of a text like `2026-11-24`, or None for any other text."""
    try:
        return date.fromisoformat(text) if DAY.fullmatch(text) else None
    except ValueError:
        return None
