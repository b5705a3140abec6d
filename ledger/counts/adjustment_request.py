"""The locked row of a requested adjustment (`app.adjustment_request`), and the decision on it."""

from dataclasses import dataclass
from datetime import datetime

from ledger.access.scope import require_store
from ledger.counts.service import Adjust
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import execute
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message
from ledger.nouns import counted


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A requested adjustment of stock, as a locked row of `app.adjustment_request`."""

    location: str
    sku: str
    reason: str
    quantity_units: int
    occurred_at: datetime
    note: str
    status: str
    requested_by: str
    decided_by: str | None
    decided_at: datetime | None

    @property
    def decision_time(self) -> str:
        """The time of the decision as text; empty while the request waits."""
        return "" if self.decided_at is None else moment_text(self.decided_at)

    @property
    def adjustment(self) -> Adjust:
        """The adjustment that an approval books, with the business time of the request."""
        return Adjust(
            self.location,
            self.sku,
            self.reason,
            self.quantity_units,
            self.occurred_at,
            self.note,
        )


def locked_request(request_id: int) -> WaitingRequest:
    """Return a waiting request, locked until the transaction ends.

    Raise `ServiceError` for an unknown id. Raise `Conflict` if the request was approved or refused
    already.
    """
    sql = "SELECT * FROM app.adjustment_request WHERE id = %s FOR UPDATE"
    request = read_one(WaitingRequest, sql, request_id)
    if request is None:
        refuse("request_id", request_id, "no such request")
    require_store(request.location, field="")
    if request.status != "waiting":
        who, at = person(request.decided_by), request.decision_time
        what = Message(
            "%(units)s, %(reason)s",
            units=counted(request.quantity_units, "unit"),
            reason=Message(request.reason.replace("_", " ")),
        )
        message = Message(
            "%(who)s has %(status)s this request (%(what)s) already, %(at)s",
            who=who,
            status=Message(request.status),
            what=what,
            at=at,
        )
        raise Conflict(message)
    return request


def decide_request(
    request_id: int,
    status: str,
    actor: str,
    *,
    reason: str | None = None,
    adjustment_id: int | None = None,
) -> None:
    """Write `status` (approved or refused) to a locked request; `reason` is for a refusal.

    `adjustment_id` is the adjustment that an approval has booked.
    """
    execute(
        "UPDATE app.adjustment_request SET status = %s, decided_by = %s,"
        " decided_at = clock_timestamp(), decision_reason = %s, adjustment_id = %s WHERE id = %s",
        status,
        actor,
        reason,
        adjustment_id,
        request_id,
    )
