"""The encoding of a key's state as canonical JSON: equal states are equal bytes.

Canonical means sorted names, no blanks, UTF-8. Lists (rows, moves, terms) have a fixed order.
There are three kinds of records:
- A *level* is the state without its window rows. It also contains the rows that the chunk changed
  ("rows") and the starts of rows that the chunk removed ("dropped"). Level and window records are
  one state in two topics. In a restore, rows in the level replace older window records (domain.md
  4).
- A *window* is one window row with its key and position.
- A *state* is the complete state, for digests, comparisons and queries.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

import orjson

from cdc.contracts.state_documents import (
    Document,
    canonical,
    level_document,
    position_document,
    row_document,
    window_document,
)
from cdc.contracts.versions import built, check_version, document_of
from inventory.model.episode import Episode, PriceEpisode
from inventory.model.ids import InvKey, Position
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow
from inventory.model.state import Count, Demand, KeyState, Stock, WindowRow
from inventory.revision import LOGIC_REVISION

T = TypeVar("T")


def window_key(inv_key: InvKey, start_us: int) -> bytes:
    """Return the record key of one window row: `LOCATION|SKU@start_us`.

    Writers put the record into the partition of the item's level. They set the partition
    explicitly, because the hash of this record key may give another one.
    """
    return f"{inv_key}@{start_us}".encode()


def encode_level(state: KeyState, changed_rows: Iterable[int]) -> bytes:
    """Return the level: the state with only those window rows that start at `changed_rows`.

    The starts are in µs since 1970 UTC. Starts that have no row in the state are listed as
    "dropped".
    """
    return encode_changed(state, changed_rows)[0]


def encode_changed(state: KeyState, changed_rows: Iterable[int]) -> tuple[bytes, dict[int, bytes]]:
    """Return the level, and the window record of each row in the level, by the row's start (µs).

    The results equal those of `encode_level` and `encode_window`. The window records are in
    ascending order. This call is faster, because it encodes each row only once.
    """
    starts, windows = sorted(set(changed_rows)), state.windows
    rows = {
        at: orjson.Fragment(canonical(row_document(windows[at]))) for at in starts if at in windows
    }
    document = level_document(state)
    document["rows"] = list(rows.values())
    document["dropped"] = [at for at in starts if at not in windows]
    position = document["position"]
    records = {at: canonical(window_document(state.key, row, position)) for at, row in rows.items()}
    return canonical(document), records


def decode_level(content: bytes) -> tuple[KeyState, tuple[int, ...]]:
    """Return a level's state, and the starts (µs) of the window rows that its chunk removed.

    The state has only those window rows that the level contains.

    Raises:
        UnknownVersion: another version of this code wrote `content`.
        UnreadableRecord: `content` is not a level of its version.
    """
    document = _document("level", content)
    return built("level", document, lambda found: (_state(found), tuple(found["dropped"])))


def encode_window(key: InvKey, row: WindowRow, position: Position) -> bytes:
    """Return the window record of one row. `position` is the position of the key's state."""
    return canonical(window_document(key, row_document(row), position_document(position)))


def read_level(content: bytes, read: Callable[[Document], T]) -> T:
    """Parse a level, and return the result of `read` on its JSON object.

    Callers that need few fields use this, because it takes a quarter of the time of
    `decode_level`. Only fields that `read` uses are checked.

    Raises:
        UnknownVersion: another version of this code wrote `content`.
        UnreadableRecord: `content` is not a level of its version.
    """
    return built("level", _document("level", content), read)


def decode_window(content: bytes) -> tuple[InvKey, WindowRow, Position]:
    """Return the key, the row and the position in a window record.

    Raises:
        UnknownVersion: another version of this code wrote `content`.
        UnreadableRecord: `content` is not a window of its version.
    """
    return built("window", _document("window", content), _window)


def encode_state(state: KeyState) -> bytes:
    """Return the state with all its window rows, as canonical JSON."""
    document = level_document(state)
    document["rows"] = [row_document(state.windows[at]) for at in sorted(state.windows)]
    return canonical(document)


def decode_state(content: bytes) -> KeyState:
    """Return the state that `encode_state` wrote.

    Raises:
        UnknownVersion: another version of this code wrote `content`.
        UnreadableRecord: `content` is not a state of its version.
    """
    return built("state", _document("state", content), _state)


def _document(kind: str, content: bytes) -> Document:
    document = document_of(kind, content, orjson.loads)
    check_version(kind, "logic_revision", document.get("logic_revision"), (LOGIC_REVISION,))
    return document


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
