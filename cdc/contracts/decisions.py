"""The records of `reorder.events` and `price.events`.

Each record is one revision of a need or of a price proposal. Among the records with the same id,
the highest revision is valid. A consumer may get a revision any number of times, and may miss every
revision except the last (domain.md 4).
"""

import json
from typing import Any

import orjson

from cdc.contracts.rejects import Origin, origin_of, position_json
from cdc.contracts.versions import UnreadableRecord, document_of
from inventory.errors import short_text
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.value import value

SCHEMA = 1
SIMULATED_PREFIX = "SIM:"  # ids of simulated decisions; the actuator refuses them
REORDER_STATUSES = ("open", "accepted", "cancelled", "rejected", "snoozed")
PRICE_STATUSES = ("open", "accepted", "cancelled", "expired", "rejected", "snoozed")


class NotADecision(UnreadableRecord):
    """A record of a known version that is no valid event of the expected kind, reorder or price."""


@value
class DecisionContext:
    """The key of a decision (a need or a price proposal), and the position of the key's state.

    `origin` is this position: generation, partition and offset in `stock.events` of the last record
    that the state includes. `as_of_us` is the partition's as-of time in µs since 1970 UTC.
    """

    inv_key: str
    origin: Origin
    as_of_us: int
    logic_revision: int

    @property
    def location(self) -> str:
        """Return the location: the part of the key `LOCATION|SKU` before the bar."""
        return self.inv_key.partition("|")[0]

    @property
    def sku(self) -> str:
        """Return the SKU: the part of the key `LOCATION|SKU` after the bar."""
        return self.inv_key.partition("|")[2]


@value
class ReorderEvent:
    """One revision of a need (a proposed reorder), with the item's supplier and cost of one unit.

    Supplier and cost come from the policy of the item (`retail.item_location`).
    """

    output: ReorderOutput
    supplier: str | None
    cost_minor: int
    at: DecisionContext


@value
class PriceEvent:
    """One revision of a price proposal, with its key and the position of the key's state."""

    output: PriceOutput
    at: DecisionContext


def encode_reorder(event: ReorderEvent) -> bytes:
    """Return the event as canonical JSON: names sorted, no blanks."""
    output = event.output
    row = {
        "kind": "reorder",
        "supplier": event.supplier,
        "cost_minor": event.cost_minor,
        "quantity_units": output.quantity_units,
        "base_position_units": output.base_position_units,
        "reorder_point_units": output.reorder_point_units,
        "order_up_to_units": output.order_up_to_units,
        "flags": list(output.flags),
    }
    return _dumps(row | _common(output, event.at))


def encode_price(event: PriceEvent) -> bytes:
    """Return the event as canonical JSON: names sorted, no blanks."""
    output = event.output
    row = {
        "kind": "price",
        "old_minor": output.old_minor,
        "new_minor": output.new_minor,
        "regular_minor": output.regular_minor,
        "floor_minor": output.floor_minor,
        "step": output.step,
        "signal": output.signal,
        "clamps": list(output.clamps),
        "effective_at_us": output.effective_at_us,
        "prior_minor": output.prior_minor,
    }
    return _dumps(row | _common(output, event.at))


def decode_reorder(payload: bytes) -> ReorderEvent:
    """Return the event that `encode_reorder` wrote.

    Raises:
        UnknownVersion: another version of this code wrote the payload.
        UnreadableRecord: the payload is no JSON object.
        NotADecision: the payload has another kind, an unknown status or a missing field.
    """
    row = _loads(payload, "reorder", REORDER_STATUSES)
    try:
        output = ReorderOutput(
            id=row["id"],
            revision=row["revision"],
            status=row["status"],
            quantity_units=row["quantity_units"],
            base_position_units=row["base_position_units"],
            reorder_point_units=row["reorder_point_units"],
            order_up_to_units=row["order_up_to_units"],
            flags=tuple(row["flags"]),
            reason=row["reason"],
            terms=_terms(row),
        )
        return ReorderEvent(output, row["supplier"], row["cost_minor"], _context(row))
    except (KeyError, TypeError) as error:
        raise _incomplete(row, error) from error


def decode_price(payload: bytes) -> PriceEvent:
    """Return the event that `encode_price` wrote.

    Raises:
        UnknownVersion: another version of this code wrote the payload.
        UnreadableRecord: the payload is no JSON object.
        NotADecision: the payload has another kind, an unknown status or a missing field.
    """
    row = _loads(payload, "price", PRICE_STATUSES)
    try:
        output = PriceOutput(
            id=row["id"],
            revision=row["revision"],
            status=row["status"],
            old_minor=row["old_minor"],
            new_minor=row["new_minor"],
            step=row["step"],
            signal=row["signal"],
            clamps=tuple(row["clamps"]),
            effective_at_us=row["effective_at_us"],
            prior_minor=row["prior_minor"],
            reason=row["reason"],
            floor_minor=row["floor_minor"],
            regular_minor=row["regular_minor"],
            terms=_terms(row),
        )
        return PriceEvent(output, _context(row))
    except (KeyError, TypeError) as error:
        raise _incomplete(row, error) from error


def _common(output: ReorderOutput | PriceOutput, at: DecisionContext) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "id": output.id,
        "revision": output.revision,
        "status": output.status,
        "reason": output.reason,
        "terms": [list(term) for term in output.terms],
        "inv_key": at.inv_key,
        "location": at.location,
        "sku": at.sku,
        "position": position_json(at.origin),
        "as_of_us": at.as_of_us,
        "logic_revision": at.logic_revision,
    }


def _context(row: dict[str, Any]) -> DecisionContext:
    return DecisionContext(
        row["inv_key"],
        origin_of(row["position"]),
        row["as_of_us"],
        row["logic_revision"],
    )


def _terms(row: dict[str, Any]) -> tuple[tuple[str, int | str | None], ...]:
    return tuple((name, number) for name, number in row["terms"])


def _dumps(row: dict[str, object]) -> bytes:
    return json.dumps(row, sort_keys=True, separators=(",", ":")).encode()


def _loads(payload: bytes, kind: str, statuses: tuple[str, ...]) -> dict[str, Any]:
    row = document_of(f"{kind}_event", payload, orjson.loads)
    if row.get("kind") != kind:
        problem = f"{kind} event: kind {kind!r} expected, got {short_text(row, 120)}"
        raise NotADecision(problem)
    if row.get("status") not in statuses:
        problem = f"{kind} event {row.get('id')!r}: status {row.get('status')!r} not in {statuses}"
        raise NotADecision(problem)
    return row


def _incomplete(row: dict[str, Any], error: Exception) -> NotADecision:
    return NotADecision(f"{row.get('kind')} event {row.get('id')!r}: {error!r}")
