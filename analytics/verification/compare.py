"""Facts against workers' state and read model, key by key and window by window."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from analytics.live_state import LiveState, horizon_at_us
from analytics.verification import sums
from inventory.model.ids import InvKey
from inventory.model.state import KeyState, WindowRow

QUANTITIES: Final = ("on_hand", "unavailable", "on_order", "in_transit", "stock_known")
COUNTERS: Final = ("sold", "returned", "sale_lines", "return_lines", "revenue_minor")
SHOWN_COUNTERS: Final = (*COUNTERS, "late_lines", "window_revision")
_NOTHING: Final = (0, 0, 0, 0, False)

Difference = dict[str, Any]


@dataclass(slots=True)
class Found:
    """Differences by key, and by key and window start."""

    keys: dict[str, Difference] = field(default_factory=dict)
    windows: dict[tuple[str, int], Difference] = field(default_factory=dict)
    keys_compared: int = 0

    @property
    def touched(self) -> list[str]:
        """Keys with any difference, sorted."""
        return sorted({*self.keys, *(key for key, _ in self.windows)})


def compare_levels(
    connection: psycopg.Connection, live: LiveState, parameters: dict[str, Any], found: Found
) -> None:
    """Hold each key's quantities in workers and read model against the sums over its facts."""
    seen: set[str] = set()
    for row in connection.execute(sums.LEVELS, parameters):
        key = row[12]
        seen.add(key)
        expected = tuple(row[1:6]) if row[0] is not None else _NOTHING
        shown = tuple(row[6:11]) if row[6] is not None else None
        _judge(found, key, expected, shown, _worker(live, key), has_facts=row[0] is not None)
    for key in wanted_keys(live, parameters):
        if key not in seen:
            _judge(found, key, _NOTHING, None, _worker(live, key), has_facts=False)
            seen.add(key)
    found.keys_compared = len(seen)


def compare_windows(
    connection: psycopg.Connection, live: LiveState, parameters: dict[str, Any], found: Found
) -> None:
    """Hold the shown windows against the sums, and the workers' retained rows against the shown."""
    for key, start_us, expected, shown in connection.execute(sums.WINDOW_DIFFERENCES, parameters):
        found.windows[key, start_us] = {
            "key": key,
            "start_us": start_us,
            "facts": dict(zip(COUNTERS, expected, strict=True)),
            "read_model": dict(zip(COUNTERS, shown, strict=True)),
        }
    keys = wanted_keys(live, parameters)
    states = {str(key): live.state(key) for key in keys}
    horizons = {key: horizon_at_us(state) for key, state in states.items()}
    asked = {"horizon_keys": list(horizons), "horizons": list(horizons.values())}
    shown_rows = {
        (row[0], row[1]): tuple(row[2:]) for row in connection.execute(sums.SHOWN_WINDOWS, asked)
    }
    held = {
        (key, start): _counters(row)
        for key, state in states.items()
        for start, row in state.windows.items()
    }
    for place in sorted({*shown_rows, *held}):
        _judge_row(found, place, held.get(place), shown_rows.get(place))


def _judge(
    found: Found,
    key: str,
    expected: tuple[Any, ...],
    shown: tuple[Any, ...] | None,
    worker: tuple[Any, ...] | None,
    *,
    has_facts: bool,
) -> None:
    """Note the key if workers or read model say something else than its facts.

    A key without facts may be missing; a key with facts may not, even if they add up to zero.
    """
    absent = None if has_facts else _NOTHING
    sides = {"workers": worker or absent, "read_model": shown or absent}
    if all(side == expected for side in sides.values()):
        return
    found.keys[key] = {
        "key": key,
        "facts": dict(zip(QUANTITIES, expected, strict=True)),
        **{name: _named(QUANTITIES, side) for name, side in sides.items()},
    }


def _judge_row(
    found: Found,
    place: tuple[str, int],
    worker: tuple[int, ...] | None,
    shown: tuple[int, ...] | None,
) -> None:
    nothing = (0,) * len(SHOWN_COUNTERS)
    if (worker or nothing) == (shown or nothing):
        return
    entry = found.windows.setdefault(place, {"key": place[0], "start_us": place[1]})
    entry["workers"] = _named(SHOWN_COUNTERS, worker)
    entry["read_model"] = _named(SHOWN_COUNTERS, shown)


def _named(names: Sequence[str], side: tuple[Any, ...] | None) -> dict[str, Any] | None:
    return None if side is None else dict(zip(names, side, strict=True))


def _worker(live: LiveState, key: str) -> tuple[Any, ...] | None:
    state = live.levels.get(InvKey(key))
    return None if state is None else _quantities(state)


def _quantities(state: KeyState) -> tuple[Any, ...]:
    return (
        state.on_hand_units,
        state.unavailable_units,
        state.on_order_units,
        state.in_transit_units,
        state.stock_known,
    )


def _counters(row: WindowRow) -> tuple[int, ...]:
    return (
        row.sold_units,
        row.returned_units,
        row.sale_lines,
        row.return_lines,
        row.revenue_minor,
        row.late_lines,
        row.window_revision,
    )


def wanted_keys(live: LiveState, parameters: dict[str, Any]) -> list[InvKey]:
    """Keys of the workers that the question is about."""
    only = parameters["only"]
    keys = live.keys(parameters["location"])
    return keys if only is None else [key for key in keys if key in set(only)]
