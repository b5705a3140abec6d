"""Rejected records for the operator: bytes, state of the row, and the decision to settle it."""

import json
from typing import Any
from uuid import uuid4

from confluent_kafka import KafkaException
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from ledger.services import ServiceError
from ledger.tasks.service import dismiss_rejected
from webui.accounts.roles import SEE_REJECTED_BYTES, SETTLE_REJECTED, requires
from webui.desks.system.replay import WHAT_TO_DO, preview, replay
from webui.readmodel.rejected import BYTES_SHOWN, one
from webui.shell.desk import Command, Refusal, answer
from webui.shell.page import render_page


@require_GET
@requires(SEE_REJECTED_BYTES)
def rejected(request: HttpRequest, record_id: str) -> HttpResponse:
    """Show one rejected record with its bytes."""
    return _show(request, record_id, None)


def _show(request: HttpRequest, record_id: str, refusal: Refusal | None) -> HttpResponse:
    found = one(record_id)
    if found is None:
        return render_page(request, "system/no_record.html", {"record_id": record_id}, status=404)
    pretty = found.value_text
    try:
        parsed: Any = json.loads(bytes(found.value or b""))
        pretty = json.dumps(parsed, indent=2, ensure_ascii=False)[:BYTES_SHOWN]
    except ValueError:
        pass
    context = {
        "record": found,
        "pretty": pretty,
        "look": preview(record_id),
        "instead": WHAT_TO_DO.get(found.reason, "nothing would change"),
        "refusal": refusal,
        "command_id": uuid4(),
        "given": refusal.form.get("reason", "") if refusal else "",
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "system/record.html", context, status=status)


@require_POST
@requires(SETTLE_REJECTED)
def settle(request: HttpRequest, record_id: str) -> HttpResponse:
    """Dismiss a record with a reason, or replay it."""

    def show(request: HttpRequest, refusal: Refusal) -> HttpResponse:
        return _show(request, record_id, refusal)

    try:
        return answer(request, _execute, show, reverse("rejected", args=[record_id]))
    except KafkaException as failure:
        messages.error(request, f"Kafka did not accept it ({failure}). Nothing was settled.")
        return HttpResponseRedirect(reverse("rejected", args=[record_id]))


def _execute(command: Command) -> str:
    match command.action:
        case "dismiss":
            dismiss_rejected(
                record_id=command.proposal,
                reason=command.reason,
                actor=command.actor,
                command_id=command.command_id,
            )
            return "Dismissed: the record stays without effect."
        case "replay":
            replay([command.proposal], reason=command.reason, actor=command.actor)
            return "Sent again. This record is settled, even if the new one is rejected."
        case unknown:
            field, rule = "action", "dismiss or replay"
            raise ServiceError(field, unknown, rule)
