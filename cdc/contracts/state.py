"""The state of a key as bytes: canonical JSON, so that equal states are equal byte for byte.

Three records. A *level* is the state of a key without its window rows, plus the rows that the chunk
changed ("rows") and the starts of those that it dropped ("dropped"): level and rows are one state
in two topics, and restore lets the level overwrite older rows (docs/domain.md 4). A *window* is one
row with its key and position. A *state* is everything, for digests, comparisons and queries.

Canonical means sorted names, no blanks, UTF-8; rows, moves and terms are lists in their own order.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from typing import Any, Final
from weakref import ref

import orjson

from cdc.contracts.versions import built, check_version, document_of
from inventory.model.episode import Episode, PriceEpisode
from inventory.model.ids import InvKey, Position
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow
from inventory.model.state import Count, Demand, KeyState, Stock, WindowRow
from inventory.revision import LOGIC_REVISION

SCHEMA: Final = 1

Document = dict[str, Any]

# By identity. An entry goes with its policy, before anything else can have that identity.
_POLICIES: Final[dict[int, tuple[ref[ItemLocation], orjson.Fragment]]] = {}


def window_key(inv_key: InvKey, start_us: int) -> bytes:
    """Topic key of one window row; lies in the same partition as its level by assignment."""
    return f"{inv_key}@{start_us}".encode()


def encode_level(state: KeyState, changed_rows: Iterable[int]) -> bytes:
    """The level, with the rows of `changed_rows`; those that the state has lost are "dropped"."""
    return encode_changed(state, changed_rows)[0]


def encode_changed(state: KeyState, changed_rows: Iterable[int]) -> tuple[bytes, dict[int, bytes]]:
    """The level as `encode_level` gives it, and the window record of each row that it carries.

    The records are those of `encode_window`, by start and in its order; a row is encoded once.
    """
    starts, windows = sorted(set(changed_rows)), state.windows
    rows = {at: orjson.Fragment(_bytes(_row(windows[at]))) for at in starts if at in windows}
    document = _level(state)
    document["rows"] = list(rows.values())
    document["dropped"] = [at for at in starts if at not in windows]
    position = document["position"]
    records = {at: _bytes(_window_of(state.key, row, position)) for at, row in rows.items()}
    return _bytes(document), records


def decode_level(content: bytes) -> tuple[KeyState, tuple[int, ...]]:
    """The state with only the carried rows, and the starts of the dropped ones.

    Raises:
        UnknownVersion: written by another version of this code.
        UnreadableRecord: not what that version writes.
    """
    document = _document(content)
    return built("level", document, lambda found: (_state(found), tuple(found["dropped"])))


def encode_window(key: InvKey, row: WindowRow, position: Position) -> bytes:
    """One window row; `position` is that of the state it belongs to."""
    return _bytes(_window_of(key, _row(row), _position(position)))


def decode_window(content: bytes) -> tuple[InvKey, WindowRow, Position]:
    """The key, the row and its position.

    Raises:
        UnknownVersion: written by another version of this code.
        UnreadableRecord: not what that version writes.
    """
    return built("window", _document(content), _window)


def encode_state(state: KeyState) -> bytes:
    """The whole state with all its rows."""
    document = _level(state)
    document["rows"] = [_row(state.windows[at]) for at in sorted(state.windows)]
    return _bytes(document)


def decode_state(content: bytes) -> KeyState:
    """The whole state.

    Raises:
        UnknownVersion: written by another version of this code.
        UnreadableRecord: not what that version writes.
    """
    return built("state", _document(content), _state)


def _header() -> Document:
    return {"schema": SCHEMA, "logic_revision": LOGIC_REVISION}


def _bytes(document: Document) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def _document(content: bytes) -> Document:
    document = document_of("state", content, orjson.loads)
    check_version("state", "logic_revision", document.get("logic_revision"), (LOGIC_REVISION,))
    return document


def _namer(cls: type) -> Callable[[Any], Document]:
    """A function from a value of `cls` to its fields by name; nested values stay as they are.

    In order of names, because sorting what is sorted costs the encoder less than half.
    """
    names = sorted(column.name for column in fields(cls))

    def named(instance: Any) -> Document:  # noqa: ANN401 -- any value class of the model
        return {name: getattr(instance, name) for name in names}

    return named


_policy = _namer(ItemLocation)
_reorder_output = _namer(ReorderOutput)
_price_output = _namer(PriceOutput)


def _level(state: KeyState) -> Document:
    demand = _demand(state.demand)
    # One object while no retained day is complete.
    is_final = state.final_demand is state.demand
    return {
        **_header(),
        "inv_key": state.inv_key,
        "position": _position(state.position),
        "resent": state.resent,
        "clock_mode": state.clock_mode,
        "stream_time_us": state.stream_time_us,
        "stock": _stock(state.stock),
        "stock_known": state.stock.known,
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
    """The policy as it was written before: nearly half of a level, and it hardly ever changes.

    Remembered as long as a state holds it, some 1.6 kB. A memory of a fixed size helped nobody as
    soon as more keys than that took turns.
    """
    known = _POLICIES.get(id(policy))
    if known is not None:
        return known[1]
    # A copy, because orjson returns its buffer, and that has room for six times as much.
    fragment = orjson.Fragment(bytes(memoryview(_bytes(_policy(policy)))))
    _POLICIES[id(policy)] = ref(policy, partial(_POLICIES.pop, id(policy))), fragment
    return fragment


# Written out, because these are made for every record and a loop over names takes twice as long.
# Their order is that of names, as in `_namer`.


def _position(position: Position) -> Document:
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


def _row(row: WindowRow) -> Document:
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


def _window_of(key: InvKey, row: Document | orjson.Fragment, position: Document) -> Document:
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


def _state(document: Document) -> KeyState:
    rows = (_decoded_row(row) for row in document["rows"])
    policy = document["policy"]
    return KeyState(
        inv_key=InvKey(document["inv_key"]),
        position=Position(**document["position"]),
        resent=document["resent"],
        clock_mode=document["clock_mode"],
        stream_time_us=document["stream_time_us"],
        stock=_decoded_stock(document["stock"]),
        windows={row.start_us: row for row in rows},
        final_demand=Demand(**document["final_demand"]),
        demand=Demand(**document["demand"]),
        timeline=tuple(PriceRow(**row) for row in document["timeline"]),
        policy=None if policy is None else _decoded_policy(policy),
        base_position_units=document["base_position_units"],
        safety_stock_units=document["safety_stock_units"],
        reorder_point_units=document["reorder_point_units"],
        order_up_to_units=document["order_up_to_units"],
        episode=_decoded_episode(document["episode"]),
        price_episode=_decoded_price_episode(document["price_episode"]),
    )


def _window(document: Document) -> tuple[InvKey, WindowRow, Position]:
    row = _decoded_row(document["row"])
    return InvKey(document["inv_key"]), row, Position(**document["position"])


def _decoded_stock(document: Document) -> Stock:
    opening = document["opening_count"]
    counts = tuple(Count(**count) for count in document["counts"])
    folded = None if opening is None else Count(**opening)
    return Stock(**{**document, "opening_count": folded, "counts": counts})


def _decoded_row(document: Document) -> WindowRow:
    return WindowRow(**{**document, "moves": dict(document["moves"])})


def _decoded_policy(document: Document) -> ItemLocation:
    lists = ("ladder_permille", "raise_permille", "endings")
    return ItemLocation(**{**document, **{name: tuple(document[name]) for name in lists}})


def _decoded_episode(document: Document) -> Episode:
    last = document["last_output"]
    if last is None:
        return Episode(**document)
    output = ReorderOutput(**{**last, "flags": tuple(last["flags"]), "terms": _terms(last)})
    return Episode(**{**document, "last_output": output})


def _decoded_price_episode(document: Document) -> PriceEpisode:
    last = document["last_output"]
    if last is None:
        return PriceEpisode(**document)
    output = PriceOutput(**{**last, "clamps": tuple(last["clamps"]), "terms": _terms(last)})
    return PriceEpisode(**{**document, "last_output": output})


def _terms(document: Document) -> tuple[tuple[str, int | str | None], ...]:
    return tuple((name, found) for name, found in document["terms"])
