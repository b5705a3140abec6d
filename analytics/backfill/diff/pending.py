"""Decisions of a run, and of the live workers, that wait for an answer at the end of the run.

The topics hold only the newest need and price proposal of each key. So only the last revision of
each need or proposal is compared, and closed decisions are left out. A decision's id names the
record that opened it. Each decision gets the offset and the time of this record. So decisions of a
run and of the workers are paired and classified like those of two runs (decision 0032).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.archive.checked import checked_content
from analytics.archive.storage import Location
from analytics.backfill.diff.compared_runs import ComparedRun
from analytics.backfill.diff.published import KindAndKey, PublishedPartition
from analytics.backfill.diff.revised import Revised
from analytics.backfill.diff.stream import decoded
from analytics.backfill.read_files import present_files
from analytics.engines.results import OUTPUTS, STATES, read_rows

Decided = Mapping[KindAndKey, Revised]
IsCompared = Callable[[bytes], bool]
CommitTimes = Callable[[Collection[int]], Mapping[int, int]]  # offsets -> µs by offset


@dataclass(frozen=True, slots=True)
class Pending:
    """Pending decisions of one partition: those of the run and those of the live workers.

    A decision is pending while it waits for an answer. `left_out` names the keys about which the
    workers decided again after the end of the run. `lost` names the keys whose state in the
    changelog has a decision that the topic of decisions lacks.
    """

    run: tuple[Revised, ...]
    live: tuple[Revised, ...]
    left_out: tuple[KindAndKey, ...]
    lost: tuple[KindAndKey, ...]


def newest_of(run: ComparedRun, number: int) -> dict[KindAndKey, Revised]:
    """Return the newest decision of a run for each kind and key of one partition."""
    newest: dict[KindAndKey, Revised] = {}
    for unit in run.units(number):
        for key, _offset, content in read_rows(unit, OUTPUTS):
            found = decoded(content)
            newest[found.kind, key] = found
    return newest


def compared_keys(run: ComparedRun, number: int) -> IsCompared:
    """Return a function that returns True for a key that the run has computed."""
    if run.plan.selection.is_all:
        return lambda _key: True
    found = {key for unit in run.units(number) for key, _, _ in read_rows(unit, STATES)}
    return found.__contains__


def commit_times(
    run: ComparedRun, archive: Location, number: int, offsets: Collection[int]
) -> dict[int, int]:
    """Return the commit times of the records at `offsets`, in microseconds since 1970 UTC.

    The archive may have moved since the run was planned, so its address in the plan isn't used.

    Published decisions can't give these times: their own times depend on how workers cut chunks.

    Raises:
        BrokenArchive: the archive is damaged, or has other records than the run has read.
    """
    found: dict[int, int] = {}
    for source in present_files(run.plan, archive)[number]:
        if any(source.first_offset <= offset < source.next_offset for offset in offsets):
            content = pa.BufferReader(checked_content(archive, source))
            columns = pq.read_table(content, columns=["offset", "commit_us"]).to_pydict()
            times = zip(columns["offset"], columns["commit_us"], strict=True)
            found |= {at: commit_us for at, commit_us in times if at in offsets}
    return found


def pending(
    newest: Decided,
    found: PublishedPartition,
    end: int,
    is_compared: IsCompared,
    times: CommitTimes,
) -> Pending:
    """Return the decisions of the run and of the workers that wait for an answer at `end`."""
    known = {name: one for name, one in found.decisions.items() if is_compared(name[1])}
    left_out = {name for name, one in known.items() if one.offset >= end}
    lost = [name for name in sorted(found.levels) if is_compared(name[1]) and _is_lost(name, found)]
    ours, live = _open_ones(newest, left_out), _open_ones(known, left_out)
    opened_us = times({opened_offset(one.id) for one in (*ours, *live)})
    return Pending(
        tuple(_at_opening(ours, opened_us)),
        tuple(_at_opening(live, opened_us)),
        tuple(sorted(left_out)),
        tuple(lost),
    )


def opened_offset(identity: str) -> int:
    """Return the offset of the record that opened a need or proposal."""
    return int(identity.rpartition("-")[2])


def _open_ones(decisions: Decided, left_out: set[KindAndKey]) -> list[Revised]:
    return [one for name, one in decisions.items() if name not in left_out and not one.is_closed]


def _at_opening(decisions: Iterable[Revised], opened_us: Mapping[int, int]) -> Iterator[Revised]:
    """Yield each decision, in offset order, with offset and time of the record that opened it."""
    for one in sorted(decisions, key=lambda each: (opened_offset(each.id), each.kind)):
        at, offset = one.event.at, opened_offset(one.id)
        opened = replace(
            at,
            origin=replace(at.origin, offset=offset),
            as_of_us=opened_us.get(offset, at.as_of_us),
        )
        yield replace(one, event=replace(one.event, at=opened))


def _is_lost(name: KindAndKey, found: PublishedPartition) -> bool:
    """Return True if the topic lacks the pending decision of a key's state or has an older one."""
    last, known = found.levels[name], found.decisions.get(name)
    if known is None:
        return last.status in ("open", "snoozed")
    newest = (opened_offset(last.id), last.revision)
    return (opened_offset(known.id), known.event.output.revision) < newest
