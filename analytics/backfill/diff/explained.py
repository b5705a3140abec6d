"""Explanation of one key after one record, by the rules of this tree.

Run as a program, this module uses the rules of the tree in `PYTHONPATH`, for runs of another logic
revision: `python -m analytics.backfill.diff.explained RUN ARCHIVE KEY PARTITION OFFSET`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from analytics.archive.checked import checked_rows
from analytics.archive.rows import MALFORMED
from analytics.archive.storage import Location, location_of, storage_of
from analytics.backfill.plan import Plan, load
from analytics.backfill.read_files import present_files
from analytics.engines.code import code_hash
from cdc.contracts.decode import decode
from inventory.explain.key import Provenance, explain
from inventory.explain.lines import Line, Section
from inventory.fold.record import fold
from inventory.log.dedupe import Admission
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION

_MODULE: Final = "analytics.backfill.diff.explained"
PUBLISHED: Final = "published"  # in place of a verdict, for a state that the workers folded
_ALL_KEYS: Final = 1 << 32  # number of buckets: one for each value of CRC-32


@dataclass(frozen=True, slots=True)
class AtRecord:
    """One key and the record after which it is explained."""

    run: Path
    archive: Location
    key: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Explained:
    """A record, its verdict, and the explanation of its key by the rules with the hash `code`."""

    code: str
    table: str
    op: str
    row_id: int | None
    commit_us: int
    verdict: str
    sections: tuple[Section, ...]


def explained(at: AtRecord) -> Explained | None:
    """Explain the key after its record at `at.offset`. Return None if it has no record there.

    Raises:
        BrokenArchive: the archive is damaged, or has other records than the run has read.
        UnknownRun: the plan is damaged.
    """
    state: KeyState | None = None
    for record, admission, generation in _records(load(at.run), at):
        folded = fold(state, record, admission, generation)
        state = folded.state
        if record.offset == at.offset:
            return _explained(at, record, folded.verdict, state)
    return None


def explained_state(at: AtRecord, state: KeyState) -> Explained | None:
    """Explain `state` by the rules of this source tree.

    `state` is the state of the key `at.key` after its record at `at.offset`. Return None if the run
    has not read this record. The exceptions are those of `explained`.
    """
    for record, _admission, _generation in _records(load(at.run), at):
        if record.offset == at.offset:
            return _explained(at, record, PUBLISHED, state)
    return None


def explained_in(tree: Path, python: str, at: AtRecord) -> Explained | str:
    """Return the explanation by the rules of another tree, or the reason why there is none."""
    place = [str(at.run.resolve()), storage_of(at.archive).address, at.key]
    command = [python, "-m", _MODULE, *place, str(at.partition), str(at.offset)]
    env = os.environ | {"PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, check=False)  # noqa: S603 -- a tree that the analyst has named
        if done.returncode == 0:
            return _of_json(json.loads(done.stdout))
        printed = done.stderr.decode("utf-8", "replace").strip().splitlines()
        problem = printed[-1] if printed else f"exit code {done.returncode}"
    except (OSError, KeyError, TypeError, ValueError) as error:
        problem = repr(error)
    return f"{tree} could not explain the record: {problem}"


def _records(plan: Plan, at: AtRecord) -> Iterator[tuple[Record, Admission, int]]:
    """Yield the key's records that the run read, from files whose checksums have been checked."""
    key = at.key.encode()
    generation = max((unit.generation for unit in plan.units), default=0)
    for source in present_files(plan, at.archive).get(at.partition, ()):
        for row in checked_rows(at.archive, source, bucket=crc32(key), buckets=_ALL_KEYS):
            if row.key == key and row.admission != MALFORMED:
                record = decode(row.key, row.value, offset=row.offset)
                yield record, Admission[row.admission.upper()], generation


def _explained(at: AtRecord, record: Record, verdict: str, state: KeyState | None) -> Explained:
    image = record.after if isinstance(record.after, dict) else record.before
    source = Provenance(at.partition, LOGIC_REVISION, record.commit_us)
    return Explained(
        code=code_hash(),
        table=record.table,
        op=record.op,
        row_id=image.get("id") if isinstance(image, dict) else None,
        commit_us=record.commit_us,
        verdict=verdict,
        sections=() if state is None else explain(state, None, source, has_windows=True),
    )


def _of_json(document: dict[str, Any]) -> Explained:
    sections = tuple(
        Section(part["name"], tuple(Line(**line | {"source": None}) for line in part["lines"]))
        for part in document.pop("sections")
    )
    return Explained(**document, sections=sections)


def main(given: list[str]) -> int:
    """Print the explanation as JSON. Return 1 if the key has no record at the given offset."""
    run, archive, key, partition, offset = given
    found = explained(AtRecord(Path(run), location_of(archive), key, int(partition), int(offset)))
    if found is None:
        sys.stderr.write(f"{key}: no record at offset {offset} of partition {partition}\n")
        return 1
    sys.stdout.write(json.dumps(asdict(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
