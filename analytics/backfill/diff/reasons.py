"""The reason of a difference as one code, by which reports group differences. No I/O."""

from collections.abc import Iterator
from typing import Final

from analytics.backfill.diff.pairing import A, B, Pair
from analytics.backfill.diff.revised import Revised
from cdc.contracts.decisions import PriceEvent, ReorderEvent

OTHER_RECORD: Final = "other_record"  # equal terms of the rules, at different records
# These terms depend on the record at which a need opened; all others depend on the rules.
_SHELF: Final = frozenset(
    {
        *("on_hand_units", "on_hand_clamp_units", "on_order_units", "on_order_clamp_units"),
        *("allocated_units", "base_position_units"),
    }
)


def reason_of(pair: Pair) -> str:
    """Return the code by which differences are grouped.

    - A price proposal: its signal.
    - A need of only one run: its last status. A cancelled need also has its reason:
      `cancelled: need_gone`.
    - Two needs: the first name that `_differing` yields. If it yields no name, the code is
      `other_record`.
    """
    known = [course for course in pair.courses if course is not None]
    event = known[0].shown.event
    if isinstance(event, PriceEvent):
        return event.output.signal
    if len(known) == 1:
        return _end(known[0].newest)
    return next(_differing(pair), OTHER_RECORD)


def _end(newest: Revised) -> str:
    """Return the need's last status. For a cancelled need, add the code of its reason."""
    is_code = newest.status == "cancelled" and newest.reason is not None
    return f"{newest.status}: {newest.reason}" if is_code else newest.status


def _differing(pair: Pair) -> Iterator[str]:
    """Yield the names of the values that differ between two needs at the first differing record.

    If only one of the needs has a revision there, compare the last open revisions of both. Yield
    the terms that depend on the rules, then `supplier` and `flags`. If the same record caused both
    revisions, finally yield the terms in `_SHELF`.
    """
    ours, theirs = pair.at_first
    if ours is None or theirs is None:
        shown = [course.shown for course in pair.courses if course is not None]
        ours, theirs = shown[A], shown[B]
    names = [name for name in _names(ours, theirs) if _term(ours, name) != _term(theirs, name)]
    yield from (name for name in names if name not in _SHELF)
    if isinstance(ours.event, ReorderEvent) and isinstance(theirs.event, ReorderEvent):
        if ours.event.supplier != theirs.event.supplier:
            yield "supplier"
        if ours.event.output.flags != theirs.event.output.flags:
            yield "flags"
    if ours.offset == theirs.offset:
        yield from (name for name in names if name in _SHELF)


def _names(ours: Revised, theirs: Revised) -> list[str]:
    return list(dict.fromkeys(name for name, _ in (*ours.terms, *theirs.terms)))


def _term(revised: Revised, name: str) -> object:
    return next((amount for known, amount in revised.terms if known == name), "")
