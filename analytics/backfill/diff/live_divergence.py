"""A key's pending decisions in the live state and in a run, with both explanations side by side.

Workers publish only the newest revision of a decision, so the first record at which live state and
run differ is unknown. Both are explained at the key's last record before the end of the run.
"""

from collections.abc import Iterable, Iterator

from analytics.backfill.diff.compared_runs import KEPT, ComparedRun, NotComparable
from analytics.backfill.diff.difference import Difference, difference
from analytics.backfill.diff.divergence import Divergence, SideAtRecord, Trees, explained_by
from analytics.backfill.diff.explained import AtRecord, Explained, explained_state
from analytics.backfill.diff.pairing import A, B, Pair
from analytics.backfill.diff.published import Live
from analytics.backfill.diff.revised import Revised
from analytics.backfill.diff.with_live import LiveAndRun, incomparable, pairs_with_live
from analytics.engines.results import STATES, read_rows
from cdc.contracts.partition import partition_of
from cdc.settings import Connections
from inventory.model.ids import InvKey

Found = tuple[Pair, Difference]


def divergence_from_live(
    settings: Connections, live: Live, sides: LiveAndRun, key: str, trees: Trees
) -> Divergence | None:
    """Return the explanations of live state and run at the key's last record in the run.

    Return None if live state and run decide alike.

    Raises:
        NotComparable: the run lacks `key`, or the workers decided about `key` after the run's end.
    """
    run = sides.run
    number = partition_of(key.encode(), len(run.plan.ends))
    at = AtRecord(
        run.directory, settings.archive_location, key, number, _last_offset(run, number, key)
    )
    found = list(_differing(live, sides, number, key))
    if any(name.partition(" ")[2] == key for name in sides.live.left_out):
        problem = f"{key}: the workers decided about this key again after the end of {run.name}"
        raise NotComparable(problem, KEPT, "`inventory backfill run` computes a run up to now")
    if not found:
        return None
    pairs = [pair for pair, _ in found]
    run_side = SideAtRecord(
        tuple(_decisions(pairs, B if sides.is_live_a else A)), *explained_by(run, at, trees)
    )
    live_side = SideAtRecord(
        tuple(_decisions(pairs, A if sides.is_live_a else B)), *_explained(live, sides, at)
    )
    a, b = (live_side, run_side) if sides.is_live_a else (run_side, live_side)
    about = f"last record before the end of {run.name}"
    return Divergence(key, number, at.offset, a, b, tuple(one for _, one in found), about)


def _differing(live: Live, sides: LiveAndRun, number: int, key: str) -> Iterator[Found]:
    for pair in pairs_with_live(live, sides, number):
        one = difference(pair, number)
        if one is not None and one.row["inv_key"] == key:
            yield pair, one


def _decisions(pairs: Iterable[Pair], side: int) -> Iterator[Revised]:
    for pair in pairs:
        course = pair.courses[side]
        if course is not None:
            yield course.shown


def _last_offset(run: ComparedRun, number: int, key: str) -> int:
    """Return the offset of the key's last record in the run."""
    for unit in run.units(number):
        for found, offset, _content in read_rows(unit, STATES):
            if found == key.encode():
                return offset
    problem = f"{key!r}: run {run.name} has no such key"
    raise NotComparable(problem, KEPT, "the same command without --key lists differing keys")


def _explained(live: Live, sides: LiveAndRun, at: AtRecord) -> tuple[Explained | None, str]:
    """Return the explanation of the key's live state, or None and the reason why there is none."""
    with incomparable():
        state = live.state(at.partition, InvKey(at.key))
    if state is None:
        problem = (
            f"the workers run logic revision {sides.live.revision}, which the code of this "
            "command can't explain; the terms shown are those that the workers published"
        )
        return None, problem
    if state.position.offset != at.offset:
        problem = (
            f"the workers have folded {at.key} up to offset {state.position.offset}, past the end "
            f"of {sides.run.name}; the terms shown are those that the workers published"
        )
        return None, problem
    with incomparable():
        return explained_state(at, state), ""
