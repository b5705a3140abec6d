"""The system page with the chain and rejected records, and health checks for machines."""

from dataclasses import dataclass

import structlog
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from ledger.kernel.rows import select_one, select_value
from webui.accounts.roles import SEE, requires
from webui.desks.system.probes import chain
from webui.live.stream import HUB
from webui.readmodel.rejected import newest, waiting
from webui.shell.page import render_page

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Late:
    records: int
    units: int
    amount_minor: int


@require_GET
@requires(SEE)
def system(request: HttpRequest) -> HttpResponse:
    """Show the chain with lag and age, rejected records and the sum of late sales."""
    reason = request.GET.get("reason", "")[:64]
    settled = request.GET.get("settled") == "1"
    late = select_one(
        """SELECT count(*) AS records, coalesce(sum(units), 0)::bigint AS units,
                  coalesce(sum(amount_minor), 0)::bigint AS amount_minor
           FROM read_model.late_sale""",
        {},
        _Late,
    )
    context = {
        "links": chain(),
        "rejected": newest(reason, settled=settled),
        "rejected_count": waiting(),
        "settled": settled,
        "reason": reason,
        "late": late,
    }
    return render_page(request, "system/overview.html", context)


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
        # The endpoint needs no login: name the part here, and put its error only into the log.
        log.warning("not ready", part="database")
        return JsonResponse({"ready": False, "not_ready": ["database"]}, status=503)
    return JsonResponse({"ready": True, "live_feed": HUB.connected})
