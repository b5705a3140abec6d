"""Functions that turn a key's state into documents: dictionaries of names and plain values.

Most functions list the names in alphabetical order, because `canonical` sorts such names in less
than half the time.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, Final
from weakref import ref

import orjson

from inventory.model.episode import Episode, PriceEpisode
from inventory.model.ids import InvKey, Position
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow
from inventory.model.state import Count, Demand, KeyState, Stock, WindowRow
from inventory.revision import LOGIC_REVISION

SCHEMA: Final = 1

Document = dict[str, Any]

# Encoded policies by object id. An entry is removed when its policy is freed, before another object
# can get that id.
_POLICIES: Final[dict[int, tuple[ref[ItemLocation], orjson.Fragment]]] = {}


def _header() -> Document:
    return {"schema": SCHEMA, "logic_revision": LOGIC_REVISION}


def canonical(document: Document) -> bytes:
    """Return the document as bytes: names sorted, no blanks."""
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def _namer(cls: type) -> Callable[[Any], Document]:
    """Return a function that turns an instance of `cls` into a dictionary of its fields."""
    names = sorted(column.name for column in fields(cls))

    def named(instance: Any) -> Document:  # noqa: ANN401 -- any value class of the model
        return {name: getattr(instance, name) for name in names}

    return named


_policy = _namer(ItemLocation)
_reorder_output = _namer(ReorderOutput)
_price_output = _namer(PriceOutput)


def level_document(state: KeyState) -> Document:
    """Return a state's document without its window rows."""
    demand = _demand(state.demand)
    # `final_demand` and `demand` are one object while no retained day is complete.
    is_final = state.final_demand is state.demand
    return {
        **_header(),
        "inv_key": state.inv_key,
        "position": position_document(state.position),
        "resent": state.resent,
        "clock_mode": state.clock_mode,
        "stream_time_us": state.stream_time_us,
        "stock": _stock(state.stock),
        "stock_known": state.stock.is_counted,
        "sum_variances_units": state.stock.sum_variances_units,
        "final_demand": demand if is_final else _demand(state.final_demand),
        "demand": demand,
        "timeline": [_price_row(row) for row in state.timeline],
        "policy": None if state.policy is None else _policy_json(state.policy),
        "base_position_units": state.base_position_units,
        "safety_stock_units": state.safety_stock_units,
        "reorder_point_units": state.reorder_point_units,
        "order_up_to_units": state.order_up_to_units,
        "episode": _episode(state.episode),
        "price_episode": _price_episode(state.price_episode),
    }


def _policy_json(policy: ItemLocation) -> orjson.Fragment:
    """Return the policy's JSON, encoded once and then cached as long as a state refers to it.

    A policy is nearly half of a level and rarely changes. An entry takes about 1.6 kB. The cache
    has no size limit. With a limit below the number of active keys, most entries would be removed
    before their next use.
    """
    known = _POLICIES.get(id(policy))
    if known is not None:
        return known[1]
    # A copy, because orjson's buffer has six times the capacity of its content.
    fragment = orjson.Fragment(bytes(memoryview(canonical(_policy(policy)))))
    _POLICIES[id(policy)] = ref(policy, partial(_POLICIES.pop, id(policy))), fragment
    return fragment


# These functions list their fields, because they run for every record and a loop over names takes
# twice as long. The order of the fields is alphabetical, as in `_namer`.


def position_document(position: Position) -> Document:
    """Return the position as a dictionary of generation and offset."""
    return {"generation": position.generation, "offset": position.offset}


def _count(count: Count) -> Document:
    return {"at_us": count.at_us, "id": count.id, "kind": count.kind, "units": count.units}


def _stock(stock: Stock) -> Document:
    opening = stock.opening_count
    return {
        "counts": [_count(count) for count in stock.counts],
        "in_transit_units": stock.in_transit_units,
        "on_hand_units": stock.on_hand_units,
        "on_order_units": stock.on_order_units,
        "opening_count": None if opening is None else _count(opening),
        "opening_units": stock.opening_units,
        "shrink_units": stock.shrink_units,
        "sum_movements_units": stock.sum_movements_units,
        "unavailable_units": stock.unavailable_units,
    }


def row_document(row: WindowRow) -> Document:
    """Return one window row as a dictionary.

    `moves` is a list of pairs: a second (µs since 1970 UTC), and the net on-hand movement in it.
    """
    return {
        "had_line": row.had_line,
        "late_lines": row.late_lines,
        "moves": sorted(row.moves.items()),
        "return_lines": row.return_lines,
        "returned_units": row.returned_units,
        "revenue_minor": row.revenue_minor,
        "sale_lines": row.sale_lines,
        "sold_units": row.sold_units,
        "start_us": row.start_us,
        "window_revision": row.window_revision,
    }


def window_document(key: InvKey, row: Document | orjson.Fragment, position: Document) -> Document:
    """Return a window record. `row` and `position` are documents already."""
    return {**_header(), "inv_key": key, "position": position, "row": row}


def _demand(demand: Demand) -> Document:
    return {
        "begun": demand.begun,
        "mad_micro": demand.mad_micro,
        "observed_days": demand.observed_days,
        "quiet_windows": demand.quiet_windows,
        "rate_at_last_sale_micro": demand.rate_at_last_sale_micro,
        "rate_micro": demand.rate_micro,
        "tsb_p_micro": demand.tsb_p_micro,
        "tsb_z_micro": demand.tsb_z_micro,
    }


def _price_row(row: PriceRow) -> Document:
    return {
        "effective_from_us": row.effective_from_us,
        "id": row.id,
        "kind": row.kind,
        "price_minor": row.price_minor,
        "step": row.step,
    }


def _episode(episode: Episode) -> Document:
    last = episode.last_output
    return {
        "floor_units": episode.floor_units,
        "id": episode.id,
        "last_output": None if last is None else _reorder_output(last),
        "quantity_units": episode.quantity_units,
        "reason": episode.reason,
        "revision": episode.revision,
        "stale_decisions": episode.stale_decisions,
        "state": episode.state,
        "until_us": episode.until_us,
    }


def _price_episode(episode: PriceEpisode) -> Document:
    last = episode.last_output
    return {
        "blocked_until_us": episode.blocked_until_us,
        "id": episode.id,
        "last_output": None if last is None else _price_output(last),
        "proposal_price_minor": episode.proposal_price_minor,
        "reason": episode.reason,
        "revision": episode.revision,
        "stale_decisions": episode.stale_decisions,
    }
