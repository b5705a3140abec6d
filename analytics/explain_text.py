"""An explanation for a terminal: the facts in business order, then the lines of the arithmetic."""

from collections.abc import Iterator

from analytics.explain_facts import Step
from analytics.explain_history import Revision
from cdc.contracts.times import time_text
from inventory.explain import formatting
from inventory.explain.arrival import ON_TIME
from inventory.explain.lines import ADD, SUM, Line, Section


def step_lines(steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield a line per fact: on-hand after it, its row, its actor and its offsets in the log."""
    for step in steps:
        moved = "counted" if step.variance_units is not None else f"{step.moved_units:+d}"
        variance = "" if step.variance_units is None else f", variance {step.variance_units:+d}"
        late = "" if step.arrival in ("", ON_TIME) else f", {step.arrival.replace('_', ' ')}"
        offsets = ",".join(map(str, step.offsets)) or "not archived yet"
        yield (
            f"  {step.at}  {moved:>9}  = {step.on_hand_units:>9}  {step.table} {step.id} "
            f"({step.what}{variance}{late}) {step.document} by {step.actor or 'system'} @{offsets}"
        )


def revision_lines(revisions: tuple[Revision, ...]) -> Iterator[str]:
    """Yield one line per late change of a closed window, with the window's new sums."""
    if revisions:
        yield "Late changes of closed windows"
    for one in revisions:
        yield (
            f"  {time_text(one.start_us)}  revision {one.window_revision}: sold {one.sold_units},"
            f" returned {one.returned_units}, revenue {one.revenue_minor}, late lines"
            f" {one.late_lines}; {one.op} of {one.table} {one.id} @{one.offset}"
        )


def section_lines(sections: tuple[Section, ...]) -> Iterator[str]:
    """Yield the lines of the sections: `=` before a sum, a sign before a step's number."""
    for section in sections:
        lines = formatting.visible_lines(section)
        if lines:
            yield f"{formatting.TITLES[section.name]}"
            yield from map(_printed, lines)


def _printed(line: Line) -> str:
    mark = "=" if line.part == SUM else " "
    value = formatting.text(line, time_text) if line.amount is not None else formatting.UNKNOWN
    # All values share one column; a sum has `=` before its value.
    cell = f"{mark} {value:>16}" if line.part in (ADD, SUM) else f"  {value:>16}"
    about = ", ".join(part for part in (line.detail, formatting.origin(line)) if part)
    return f"  {formatting.label(line):<42}{cell}" + (f"  {about}" if about else "")
