"""The effect of sale lines and movements on window rows, and late sales (domain.md 3.2)."""

from inventory.fold.effects import Effects
from inventory.model.arithmetic import WINDOW_US
from inventory.model.outputs import LateSale
from inventory.model.state import WindowRow
from inventory.model.windows import is_closed

Windows = dict[int, WindowRow]
Starts = tuple[int, ...]

_NO_ROW = WindowRow(0)  # all counters 0, for a window without a row; its start is never read


def late_sale(effects: Effects, horizon_at_us: int) -> LateSale | None:
    """Return the net units and amount of the record's lines before the horizon (domain.md 11.5).

    No window row counts these lines. Units sold are positive, returned ones negative. None means
    that units and amount are both 0.
    """
    units = amount = 0
    for effect in effects:
        if effect.at_us < horizon_at_us:
            units += effect.sign * effect.line_units
            amount += effect.sign * effect.line_minor
    return LateSale(units, amount) if units or amount else None


def with_effects(
    windows: Windows, effects: Effects, horizon_at_us: int | None, stream_time_us: int | None
) -> tuple[Windows, Starts]:
    """Return the retained window rows after `effects`, and the starts of changed rows, ascending.

    `stream_time_us` is the stream time after the record. If no row changes, the result is the
    dictionary `windows` itself.
    """
    after = windows
    changed: Starts = ()
    for start_us, here in _by_window(effects, horizon_at_us):
        row = windows.get(start_us, _NO_ROW)
        is_late = is_closed(start_us, stream_time_us)
        changed_row = _changed_row(start_us, row, here, is_closed=is_late)
        if changed_row is not None:
            after = after.copy()
            after[start_us] = changed_row
            changed = (*changed, start_us)
    return after, changed


def _by_window(effects: Effects, horizon_at_us: int | None) -> tuple[tuple[int, Effects], ...]:
    """Return the effects on retained rows by window start, in ascending order.

    A record has at most two images, so its effects belong to at most two windows.
    """
    by_window: tuple[tuple[int, Effects], ...] = ()
    for effect in effects:
        at_us = effect.at_us
        is_kept = horizon_at_us is None or at_us >= horizon_at_us
        if not is_kept or not (effect.moved_units or effect.line_units):
            continue
        start_us = at_us // WINDOW_US * WINDOW_US
        if not by_window:
            by_window = ((start_us, (effect,)),)
        elif by_window[0][0] == start_us:
            by_window = ((start_us, effects),)
        elif by_window[0][0] < start_us:
            by_window = (*by_window, (start_us, (effect,)))
        else:
            by_window = ((start_us, (effect,)), *by_window)
    return by_window


def _changed_row(
    start_us: int, row: WindowRow, effects: Effects, *, is_closed: bool
) -> WindowRow | None:
    """Return the row after the effects of one record on its window.

    One record adds at most 1 to `late_lines` and to `window_revision`, even if both of its images
    belong to this window (domain.md 11.5). None means that the movements cancelled each other out
    and the row did not change.
    """
    moves = _merged(row.moves, effects)
    sold, returned, revenue = row.sold_units, row.returned_units, row.revenue_minor
    sale_lines, return_lines = row.sale_lines, row.return_lines
    lines = removed = 0
    for effect in effects:
        quantity, sign = effect.line_units, effect.sign
        if quantity:
            lines += 1
            removed += sign < 0
            revenue += sign * effect.line_minor
        if quantity > 0:
            sold += sign * quantity
            sale_lines += sign
        elif quantity < 0:
            returned -= sign * quantity
            return_lines += sign
    if not lines and moves == row.moves:
        return None
    late_lines, revision = row.late_lines, row.window_revision
    counters = (sold, returned, sale_lines, return_lines, revenue)
    if lines and is_closed:
        late_lines += not removed
        revision += counters != _counters(row)
    had_line = row.had_line or lines > 0
    # Positional arguments: each sale builds a row, and keywords cost a third more.
    return WindowRow(start_us, *counters, late_lines, revision, had_line, moves)


def _counters(row: WindowRow) -> tuple[int, int, int, int, int]:
    return row.sold_units, row.returned_units, row.sale_lines, row.return_lines, row.revenue_minor


def _merged(moves: dict[int, int], effects: Effects) -> dict[int, int]:
    """Return the net movement by second. Seconds whose net is 0 are dropped."""
    merged = dict(moves)
    for effect in effects:
        if effect.moved_units:
            net = merged.get(effect.at_us, 0) + effect.moved_units
            if net:
                merged[effect.at_us] = net
            else:
                del merged[effect.at_us]
    return merged
