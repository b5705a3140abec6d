"""Compare facts, workers' states and read model at one cut, by key and by window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from analytics.live_state import horizon_at_us
from analytics.verification import sums, window_sums
from analytics.verification.changelogs import Changelogs, Version, WindowKey
from inventory.model.ids import InvKey
from inventory.model.state import KeyState, WindowRow

QUANTITIES: Final = ("on_hand", "unavailable", "on_order", "in_transit", "stock_known")
COUNTERS: Final = ("sold", "returned", "sale_lines", "return_lines", "revenue_minor")
SHOWN_COUNTERS: Final = (*COUNTERS, "late_lines", "window_revision")
_NOTHING: Final = (0, 0, 0, 0, False)

Difference = dict[str, Any]


@dataclass(slots=True)
class Found:
    """Differences by key, and by key and window start.

    `certain` names the keys and windows where a row of the read model and its changelog record have
    the same offset and different contents. Timing can't explain such a difference, so it needs no
    second comparison.
    """

    keys: dict[str, Difference] = field(default_factory=dict)
    windows: dict[WindowKey, Difference] = field(default_factory=dict)
    certain: set[str | WindowKey] = field(default_factory=set)
    keys_compared: int = 0

    @property
    def differing_keys(self) -> list[str]:
        """Return the keys with any difference, sorted."""
        return sorted({*self.keys, *(key for key, _ in self.windows)})


def compare_levels(
    connection: psycopg.Connection, live: Changelogs, parameters: dict[str, Any], found: Found
) -> None:
    """Compare each key's quantities in workers and read model with the sums over its facts."""
    seen: set[str] = set()
    for row in connection.execute(sums.LEVELS, parameters):
        key = row[12]
        seen.add(key)
        expected = tuple(row[1:6]) if row[0] is not None else _NOTHING
        shown = tuple(row[6:11]) if row[6] is not None else None
        _compare_key(found, key, expected, shown, _worker(live, key), has_facts=row[0] is not None)
        if key in found.keys and _is_copied_wrong(live, key, row[11], shown):
            found.certain.add(key)
    for key in wanted_keys(live, parameters):
        if key not in seen:
            _compare_key(found, key, _NOTHING, None, _worker(live, key), has_facts=False)
            seen.add(key)
    found.keys_compared = len(seen)


def compare_windows(
    connection: psycopg.Connection, live: Changelogs, parameters: dict[str, Any], found: Found
) -> None:
    """Compare the read model's windows with sums over the facts, and with the workers' rows."""
    for key, start_us, expected, shown in connection.execute(
        window_sums.WINDOW_DIFFERENCES, parameters
    ):
        found.windows[key, start_us] = {
            "key": key,
            "start_us": start_us,
            "facts": dict(zip(COUNTERS, expected, strict=True)),
            "read_model": dict(zip(COUNTERS, shown, strict=True)),
        }
    keys = wanted_keys(live, parameters)
    horizons = {str(key): horizon_at_us(live.levels[key]) for key in keys}
    of_horizons = {"horizon_keys": list(horizons), "horizons": list(horizons.values())}
    shown_rows = {
        (row[0], row[1]): tuple(row[2:])
        for row in connection.execute(window_sums.SHOWN_WINDOWS, of_horizons)
    }
    retained = live.retained_rows(horizons)
    for window_key in sorted({*shown_rows, *retained}):
        _compare_row(found, window_key, retained.get(window_key), shown_rows.get(window_key))


def _is_copied_wrong(
    live: Changelogs, key: str, offset: int | None, shown: tuple[Any, ...] | None
) -> bool:
    level = live.levels.get(InvKey(key))
    return level is not None and level.position.offset == offset and _quantities(level) != shown


def _compare_key(
    found: Found,
    key: str,
    expected: tuple[Any, ...],
    shown: tuple[Any, ...] | None,
    worker: tuple[Any, ...] | None,
    *,
    has_facts: bool,
) -> None:
    """Add the key to `found` if workers or read model differ from the key's facts.

    A key without facts may be missing in workers and read model. A key with facts must be in both,
    even if its facts add up to zero.
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


def _compare_row(
    found: Found, window_key: WindowKey, worker: Version | None, shown: tuple[int, ...] | None
) -> None:
    """Add the window to `found` if the worker's row and the read model's row (`shown`) differ.

    The last value of `shown` is the offset of the row's last source record. If both rows have the
    same offset, the difference is certain.
    """
    nothing = (0,) * len(SHOWN_COUNTERS)
    copied = None if shown is None else shown[:-1]
    original = None if worker is None else _counters(worker.row)
    if (original or nothing) == (copied or nothing):
        return
    entry = found.windows.setdefault(window_key, {"key": window_key[0], "start_us": window_key[1]})
    entry["workers"] = _named(SHOWN_COUNTERS, original)
    entry["read_model"] = _named(SHOWN_COUNTERS, copied)
    if worker is not None and shown is not None and worker.offset == shown[-1]:
        found.certain.add(window_key)


def _named(names: Sequence[str], side: tuple[Any, ...] | None) -> dict[str, Any] | None:
    return None if side is None else dict(zip(names, side, strict=True))


def _worker(live: Changelogs, key: str) -> tuple[Any, ...] | None:
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


def instead_parameters(rows: Mapping[WindowKey, WindowRow | None]) -> dict[str, list[Any]]:
    """Return `rows` as SQL parameters: the window rows to compare in place of the read model's."""
    counters = [(0,) * len(SHOWN_COUNTERS) if row is None else _counters(row)
                for row in rows.values()]  # fmt: skip
    names = ("sold", "returned", "sale_lines", "return_lines", "revenue")
    columns = {f"instead_{name}": [row[at] for row in counters] for at, name in enumerate(names)}
    return {
        "instead_keys": [key for key, _ in rows],
        "instead_starts": [start_us for _, start_us in rows],
        **columns,
    }


def wanted_keys(live: Changelogs, parameters: dict[str, Any]) -> list[InvKey]:
    """Return the workers' keys that the comparison includes."""
    only = parameters["only"]
    keys = live.keys(parameters["location"])
    return keys if only is None else [key for key in keys if key in set(only)]
