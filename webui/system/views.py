"""Is it alive, and how far behind is it? The chain, rejected records, health for machines."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from webui.accounts.roles import SEE, SEE_REJECTED_BYTES, requires
from webui.live.stream import HUB
from webui.page import render_page
from webui.readmodel.rows import select, select_one, select_value
from webui.system.probes import chain

REJECTED_SHOWN: Final = 50
BYTES_SHOWN: Final = 4000


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record without effect."""

    id: str
    reason: str
    stage: str
    detail: str
    partition: int
    offset: int
    seen_at: datetime
    key: bytes | memoryview | None
    value: bytes | memoryview | None

    @property
    def key_text(self) -> str:
        """The key as text, undecodable bytes marked."""
        return _text(self.key)

    @property
    def value_text(self) -> str:
        """The value as text, cut to what a person reads."""
        return _text(self.value)[:BYTES_SHOWN]


@dataclass(frozen=True, slots=True)
class _Late:
    records: int
    units: int
    amount_minor: int


def _text(content: bytes | memoryview | None) -> str:
    return "" if content is None else bytes(content).decode("utf-8", "backslashreplace")


_REJECTED: Final = """
SELECT id, reason, stage, detail, partition, "offset", seen_at, key, value FROM read_model.rejected
"""


@require_GET
@requires(SEE)
def system(request: HttpRequest) -> HttpResponse:
    """The chain with lag and age, what was rejected, what came too late."""
    reason = request.GET.get("reason", "")[:64]
    where = "WHERE reason = %(reason)s" if reason else ""
    sql = f"{_REJECTED} {where} ORDER BY seen_at DESC, id LIMIT {REJECTED_SHOWN}"
    late = select_one(
        """SELECT count(*) AS records, coalesce(sum(units), 0)::bigint AS units,
                  coalesce(sum(amount_minor), 0)::bigint AS amount_minor
           FROM read_model.late_sale""",
        {},
        _Late,
    )
    context = {
        "links": chain(),
        "rejected": select(sql, {"reason": reason}, RejectedRecord),
        "rejected_count": select_value("SELECT count(*) FROM read_model.rejected"),
        "reason": reason,
        "late": late,
    }
    return render_page(request, "system/overview.html", context)


@require_GET
@requires(SEE_REJECTED_BYTES)
def rejected(request: HttpRequest, record_id: str) -> HttpResponse:
    """One rejected record with its bytes."""
    found = select_one(f"{_REJECTED} WHERE id = %(id)s", {"id": record_id}, RejectedRecord)
    if found is None:
        return render_page(request, "system/no_record.html", {"record_id": record_id}, status=404)
    pretty = found.value_text
    try:
        parsed: Any = json.loads(bytes(found.value or b""))
        pretty = json.dumps(parsed, indent=2, ensure_ascii=False)[:BYTES_SHOWN]
    except ValueError:
        pass
    return render_page(request, "system/record.html", {"record": found, "pretty": pretty})


@require_GET
def livez(_request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"live": True})


@require_GET
def readyz(_request: HttpRequest) -> JsonResponse:
    """The process can show pages: the database answers with migrated tables."""
    try:
        select_value("SELECT count(*) FROM (SELECT 1 FROM read_model.stock LIMIT 1) s")
    except DatabaseError as failure:
        return JsonResponse({"ready": False, "problem": str(failure)[:200]}, status=503)
    return JsonResponse({"ready": True, "live_feed": HUB.connected})
