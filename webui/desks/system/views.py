"""Pages of the system desk: stages, workers, demand, one rejected record. Health checks."""

import json
import time
from typing import Any
from uuid import uuid4

import structlog
from confluent_kafka import KafkaException
from django.contrib import messages
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from cdc.contracts.times import us_of
from ledger.kernel.rows import select_value
from ledger.kernel.transactions import database_now
from ledger.messages import gettext_noop
from ledger.services import ServiceError
from ledger.tasks.service import dismiss_rejected
from webui.accounts.roles import SEE, SEE_REJECTED_BYTES, SETTLE_REJECTED, requires
from webui.desks.system.overview import overview
from webui.desks.system.queries import by_urgency, partition_rows, worker_rows
from webui.desks.system.replay import preview, replay
from webui.desks.system.restores import past_restores, restore_totals
from webui.live.stream import HUB
from webui.readmodel import demand as demand_selectors
from webui.readmodel.choices import locations
from webui.readmodel.live_key import partition_map
from webui.readmodel.rejected import BYTES_SHOWN, one
from webui.shell.desk import Command, Refusal, answer
from webui.shell.page import render_page

log = structlog.get_logger(__name__)


@require_GET
@requires(SEE)
def system(request: HttpRequest) -> HttpResponse:
    """Show lag and last error of each stage from Postgres to the pages, and show the alarms."""
    return render_page(request, "system/overview.html", {"seen": overview()})


@require_GET
@requires(SEE)
def workers(request: HttpRequest) -> HttpResponse:
    """Show owner, position and lag of each partition, a line for each worker, and restores."""
    found = partition_map()
    held = partition_rows(found.rows, time.time_ns() // 1000)
    context = {
        "held": by_urgency(held),
        "holders": worker_rows(held),
        "problem": found.problem,
        "restoring": [row for row in held if row.state_text == "restoring"],
        "restores": past_restores(),
        "totals": restore_totals(),
    }
    return render_page(request, "system/workers.html", context)


@require_GET
@requires(SEE)
def demand(request: HttpRequest) -> HttpResponse:
    """Count items by state of their demand estimate; list items with an unsuitable method."""
    location = request.GET.get("location", "")[:24]
    now_us = us_of(database_now())
    context = {
        "known": demand_selectors.estimate_counts(location),
        "gaps": demand_selectors.gaps(location, now_us),
        "hints": demand_selectors.hints(location, now_us),
        "location": location,
        "locations": locations(),
    }
    return render_page(request, "system/demand.html", context)


@require_GET
@requires(SEE_REJECTED_BYTES)
def rejected(request: HttpRequest, record_id: str) -> HttpResponse:
    """Show one rejected record with its bytes."""
    return _show_rejected(request, record_id, None)


def _show_rejected(request: HttpRequest, record_id: str, refusal: Refusal | None) -> HttpResponse:
    found = one(record_id)
    if found is None:
        return render_page(request, "system/no_record.html", {"record_id": record_id}, status=404)
    pretty = found.value_text
    try:
        parsed: Any = json.loads(bytes(found.value or b""))
        pretty = json.dumps(parsed, indent=2, ensure_ascii=False)[:BYTES_SHOWN]
    except ValueError:
        pass
    look = preview(record_id)
    context = {
        "record": found,
        "pretty": pretty,
        "look": look,
        "instead": gettext(look.instead) if look.instead else "",
        "refusal": refusal,
        "command_id": uuid4(),
        "given": refusal.form.get("reason", "") if refusal else "",
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "system/record.html", context, status=status)


@require_POST
@requires(SETTLE_REJECTED)
def settle(request: HttpRequest, record_id: str) -> HttpResponse:
    """Dismiss a rejected record with a reason, or replay it."""

    def show(request: HttpRequest, refusal: Refusal) -> HttpResponse:
        return _show_rejected(request, record_id, refusal)

    try:
        return answer(request, _settle, show, reverse("rejected", args=[record_id]))
    except KafkaException as failure:
        kept = gettext("The record still waits for a decision. Try again.")
        messages.error(
            request,
            gettext("Kafka did not accept the record (%(failure)s). %(kept)s")
            % {"failure": failure, "kept": kept},
        )
        return HttpResponseRedirect(reverse("rejected", args=[record_id]))


def _settle(command: Command) -> str:
    match command.action:
        case "dismiss":
            dismiss_rejected(
                record_id=command.proposal,
                reason=command.reason,
                actor=command.actor,
                command_id=command.command_id,
            )
            return gettext("Dismissed: the record stays without effect.")
        case "replay":
            replay([command.proposal], reason=command.reason, actor=command.actor)
            return gettext("Sent again. This record is settled, even if the new one is rejected.")
        case unknown:
            field, rule = "action", gettext_noop("dismiss or replay")
            raise ServiceError(field, unknown, rule)


@require_GET
def livez(_request: HttpRequest) -> JsonResponse:
    """Return 200 while the process answers."""
    return JsonResponse({"live": True})


@require_GET
def readyz(_request: HttpRequest) -> JsonResponse:
    """Return 200 if the database answers and is migrated, so that pages can render; else 503."""
    try:
        select_value("SELECT count(*) FROM (SELECT 1 FROM read_model.stock LIMIT 1) s")
    except DatabaseError:
        # The endpoint needs no login, so its response names the failed part, but not the error.
        log.warning("not ready", part="database")
        return JsonResponse({"ready": False, "not_ready": ["database"]}, status=503)
    return JsonResponse({"ready": True, "live_feed": HUB.connected})
