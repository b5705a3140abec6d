"""The conversion of the workers' decisions into rows of the tables of proposals."""

from collections.abc import Iterable

import orjson

from cdc.contracts.decisions import DecisionContext, PriceEvent, ReorderEvent
from cdc.contracts.rejects import position_json
from inventory.model.outputs import PriceOutput, ReorderOutput
from streams.sinks.upsert import Row


def reorder_row(event: ReorderEvent) -> Row:
    """Return the event as a row of `app.reorder_proposal`."""
    output = event.output
    return _common(output, event.at) | {
        "reorder_id": output.id,
        "supplier": event.supplier,
        "cost_minor": event.cost_minor,
        "quantity_units": output.quantity_units,
        "base_position_units": output.base_position_units,
        "reorder_point_units": output.reorder_point_units,
        "order_up_to_units": output.order_up_to_units,
        "flags": array_literal(output.flags),
    }


def price_row(event: PriceEvent) -> Row:
    """Return the event as a row of `app.price_proposal`."""
    output = event.output
    return _common(output, event.at) | {
        "proposal_id": output.id,
        "old_minor": output.old_minor,
        "new_minor": output.new_minor,
        "regular_minor": output.regular_minor,
        "floor_minor": output.floor_minor,
        "step": output.step,
        "signal": output.signal,
        "clamps": array_literal(output.clamps),
        "effective_at_us": output.effective_at_us,
        "prior_minor": output.prior_minor,
    }


def _common(output: ReorderOutput | PriceOutput, at: DecisionContext) -> dict[str, object]:
    return {
        "inv_key": at.inv_key,
        "location": at.location,
        "sku": at.sku,
        "revision": output.revision,
        "status": output.status,
        "reason": output.reason,
        "terms": orjson.dumps(output.terms).decode(),
        "logic_revision": at.logic_revision,
        "position": orjson.dumps(position_json(at.origin)).decode(),
        "as_of_us": at.as_of_us,
    }


def array_literal(words: Iterable[str]) -> str:
    """Return Postgres' text form of an array of texts."""
    quoted = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return "{" + ",".join(f'"{word}"' for word in quoted) + "}"
