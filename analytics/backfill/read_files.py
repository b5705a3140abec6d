"""The archive files that hold the records of a run, also after a compaction has merged them.

A plan names the files that existed when it was made. A compaction merges neighbours and keeps every
record, so the same offsets of the same topic are the same records.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from analytics.archive.entries import BrokenArchive, Source
from analytics.archive.manifest import open_manifest
from analytics.archive.source import source_id
from analytics.archive.storage import Location
from analytics.backfill.plan import Plan


def planned_files(plan: Plan) -> dict[int, tuple[Source, ...]]:
    """Return the files that the run has read, by partition."""
    return {unit.partition: unit.sources for unit in plan.units}


def present_files(plan: Plan, archive: Location) -> Mapping[int, Sequence[Source]]:
    """Return the files that hold the run's records now, by partition.

    Raises:
        BrokenArchive: the archive is of another topic, or holds other records at these offsets.
        NoArchive: the named archive doesn't exist or lists no file.
    """
    manifest = open_manifest(archive)
    listed = {file.source for file in manifest.all_files()}
    found: dict[int, Sequence[Source]] = {}
    for number, planned in planned_files(plan).items():
        end = plan.ends[number]
        now = [file.source for file in manifest.files(number) if file.first_offset < end]
        is_kept = listed.issuperset(planned)
        if not is_kept and not _holds(plan, archive, (planned, now), end):
            problem = f"{archive} holds other records of partition {number} than run {plan.run}"
            step = "`inventory backfill run` computes a run over the records of this archive"
            raise BrokenArchive(problem, "nothing was read or changed", step)
        found[number] = planned if is_kept else now
    return found


def same_records(
    a: Sequence[Source], b: Sequence[Source], end: int, *, compares_bytes: bool = True
) -> bool:
    """Return True if two lists of files of one topic and partition hold the same records.

    A file of one list may be merged from several files of the other list. Example: `a` has files
    [0, 5) and [5, 9), `b` has [0, 9). Then the file of `b` must have as many records as the two
    files of `a` together.

    If a file of `a` and a file of `b` have the same offsets and `compares_bytes` is True, their
    bytes must be equal, too. Set it to False if two versions of Arrow may have written the files.
    Records after `end` are ignored, so the last files may end at different offsets.
    """
    ours, theirs = deque(a), deque(b)
    while ours and theirs:
        one, other = [ours.popleft()], [theirs.popleft()]
        while one[-1].next_offset != other[-1].next_offset:
            is_shorter = one[-1].next_offset < other[-1].next_offset
            shorter, rest = (one, ours) if is_shorter else (other, theirs)
            if not rest:
                return one[0].first_offset == other[0].first_offset and _reach(shorter, end)
            shorter.append(rest.popleft())
        if not _is_merge(one, other, compares_bytes=compares_bytes):
            return False
    return not ours and not theirs


def _holds(
    plan: Plan, archive: Location, files: tuple[Sequence[Source], Sequence[Source]], end: int
) -> bool:
    known = source_id(archive)
    # Without a topic id only equal bytes prove that the records are the same.
    return known == plan.source_topic_id and same_records(*files, end, compares_bytes=known is None)


def _reach(files: Sequence[Source], end: int) -> bool:
    return files[-1].next_offset >= end


def _is_merge(one: Sequence[Source], other: Sequence[Source], *, compares_bytes: bool) -> bool:
    if compares_bytes and len(one) == len(other) == 1:
        return one[0].sha256 == other[0].sha256
    rows = [sum(source.rows for source in side) for side in (one, other)]
    return one[0].first_offset == other[0].first_offset and rows[0] == rows[1]
