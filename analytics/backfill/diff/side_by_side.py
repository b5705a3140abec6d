"""Lines of two explanations side by side, in the order of their sections. No I/O."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final

from analytics.backfill.diff.revised import Revised
from cdc.contracts.decisions import ReorderEvent
from cdc.contracts.times import time_text
from inventory.explain.formatting import TITLES, label, text
from inventory.explain.lines import Line, Section, note

DECISION: Final = "decision"
_TITLES: Final = TITLES | {DECISION: "Written by the run"}

Compared = tuple[str, str, str, str]  # section, label, text of A, text of B


def compared_lines(ours: Sequence[Section], theirs: Sequence[Section]) -> Iterator[Compared]:
    """Yield each line with the values of A and B; "" if a side has no such line.

    Several lines of a section may have the same name, one for each day. So the lines of both sides
    are aligned by their names, as a diff aligns the lines of two texts.
    """
    lines = _by_section(ours), _by_section(theirs)
    for name in dict.fromkeys((*lines[0], *lines[1])):
        for one, other in _aligned(lines[0].get(name, []), lines[1].get(name, [])):
            known = one or other
            if known is not None:
                yield _TITLES[name], label(known), _text(one), _text(other)


def decision_section(revised: Sequence[Revised], *, with_terms: bool) -> Section:
    """Return a section with a run's decisions at one record.

    `with_terms` adds the inputs and steps of each decision's computation.
    """
    lines = [line for one in revised for line in _decision_lines(one)]
    if with_terms:
        lines += [note(name, amount) for one in revised for name, amount in one.terms]
    return Section(DECISION, tuple(lines))


def _decision_lines(revised: Revised) -> Iterator[Line]:
    event = revised.event
    yield note(f"{revised.kind}_id", revised.id)
    yield note("status", revised.status, revised.reason or "")
    if isinstance(event, ReorderEvent):
        yield note("quantity_units", event.output.quantity_units)
        yield note("supplier", event.supplier)
        yield note("cost_minor", event.cost_minor)
        yield note("flags", ",".join(event.output.flags))
        return
    yield note("signal", event.output.signal)
    yield note("new_minor", event.output.new_minor)
    yield note("effective_at_us", event.output.effective_at_us)


def _by_section(sections: Sequence[Section]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for section in sections:
        found.setdefault(section.name, []).extend(section.lines)
    return found


def _aligned(
    ours: Sequence[Line], theirs: Sequence[Line]
) -> Iterator[tuple[Line | None, Line | None]]:
    names = [line.name for line in ours], [line.name for line in theirs]
    for tag, a, a_end, b, b_end in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from zip_longest(ours[a:a_end], theirs[b:b_end])
        else:
            yield from ((line, None) for line in ours[a:a_end])
            yield from ((None, line) for line in theirs[b:b_end])


def _text(line: Line | None) -> str:
    if line is None:
        return ""
    shown = text(line, time_text)
    return f"{shown} ({line.detail})" if line.detail else shown
