"""Window rows: what a record changes in them, and what comes too late for any (domain.md 3.2)."""

from inventory.folds.effects import Effect, Line
from inventory.model.arithmetic import window_start
from inventory.model.outputs import LateSale
from inventory.model.state import WindowRow
from inventory.model.value import value
from inventory.windows import is_closed

Windows = dict[int, WindowRow]


@value
class Recorded:
    """The rows after one record, the starts of the changed ones, and the net of what is late."""

    windows: Windows
    changed: tuple[int, ...]
    late: LateSale | None


def record_effect(
    windows: Windows, effect: Effect, horizon_at_us: int | None, stream_time_us: int | None
) -> Recorded:
    """Add `effect` to the retained windows; `stream_time_us` is that after the record."""
    lines, late = _split(effect.lines, horizon_at_us)
    moves = _net_moves(effect.moves, horizon_at_us)
    starts = {window_start(line.at_us) for line in lines}
    starts.update(window_start(at_us) for at_us in moves)
    if not starts:
        return Recorded(windows, (), late)
    changed = tuple(sorted(starts))
    after = dict(windows)
    for start_us in changed:
        row = windows.get(start_us)
        lines_here, moves_here = lines, moves
        if len(changed) > 1:
            lines_here = tuple([line for line in lines if window_start(line.at_us) == start_us])
            moves_here = {at: net for at, net in moves.items() if window_start(at) == start_us}
        after[start_us] = _changed_row(
            WindowRow(start_us) if row is None else row,
            lines_here,
            moves_here,
            is_closed=is_closed(start_us, stream_time_us),
        )
    return Recorded(after, changed, late)


def _split(
    lines: tuple[Line, ...], horizon_at_us: int | None
) -> tuple[tuple[Line, ...], LateSale | None]:
    """The lines that a retained window counts, and the net of the others."""
    if horizon_at_us is None:
        return lines, None
    expired = [line for line in lines if line.at_us < horizon_at_us]
    if not expired:
        return lines, None
    kept = tuple([line for line in lines if line.at_us >= horizon_at_us])
    units = sum(line.sign * line.quantity_units for line in expired)
    amount = sum(line.sign * line.amount_minor for line in expired)
    return kept, LateSale(units, amount) if units or amount else None


def _net_moves(moves: tuple[tuple[int, int], ...], horizon_at_us: int | None) -> dict[int, int]:
    """Net movement of each retained second that has one."""
    net: dict[int, int] = {}
    for at_us, delta in moves:
        if horizon_at_us is None or at_us >= horizon_at_us:
            net[at_us] = net.get(at_us, 0) + delta
    if 0 in net.values():
        return {at_us: delta for at_us, delta in net.items() if delta}
    return net


def _changed_row(
    row: WindowRow, lines: tuple[Line, ...], moves: dict[int, int], *, is_closed: bool
) -> WindowRow:
    """One change of one row, whatever the number of images behind it (domain.md 11.5)."""
    merged = _merged(row.moves, moves)
    if not lines:
        return WindowRow(*_counters(row), row.late_lines, row.window_revision, row.had_line, merged)
    counters = _with_lines(row, lines)
    late_lines, revision = row.late_lines, row.window_revision
    if is_closed:
        late_lines += all(line.sign > 0 for line in lines)
        revision += counters != _counters(row)
    # Positional, because a row is built per sale and keywords cost a third more.
    return WindowRow(*counters, late_lines, revision, True, merged)  # noqa: FBT003 -- see above


def _counters(row: WindowRow) -> tuple[int, int, int, int, int, int]:
    return (
        row.start_us,
        row.sold_units,
        row.returned_units,
        row.sale_lines,
        row.return_lines,
        row.revenue_minor,
    )


def _with_lines(row: WindowRow, lines: tuple[Line, ...]) -> tuple[int, int, int, int, int, int]:
    start_us, sold, returned, sale_lines, return_lines, revenue = _counters(row)
    for line in lines:
        if line.quantity_units > 0:
            sold += line.sign * line.quantity_units
            sale_lines += line.sign
        else:
            returned -= line.sign * line.quantity_units
            return_lines += line.sign
        revenue += line.sign * line.amount_minor
    return start_us, sold, returned, sale_lines, return_lines, revenue


def _merged(moves: dict[int, int], added: dict[int, int]) -> dict[int, int]:
    """Net movement by second; seconds that fall back to 0 are dropped."""
    if not added:
        return moves
    merged = dict(moves)
    for at_us, delta in added.items():
        net = merged.get(at_us, 0) + delta
        if net:
            merged[at_us] = net
        else:
            del merged[at_us]
    return merged
