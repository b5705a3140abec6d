"""`backfill verify`: recompute to the offsets of the live workers and compare, byte for byte.

The workers' changelogs give every key's state and, per partition, the largest offset that any state
includes. History is recomputed to exactly those offsets. Later records have changed no state yet.
Earlier records must have the same effect on the workers' states and on the recomputed states.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from analytics.archive.complete import archive_until
from analytics.archive.manifest import Manifest
from analytics.backfill.decisions import Decisions, compare_decisions
from analytics.backfill.live import LivePartition, live_partitions
from analytics.backfill.live_files import live_directory
from analytics.backfill.plan import Plan, make_plan
from analytics.backfill.run import Progress, RunReport, _no_progress, execute, runs_dir
from analytics.digest import as_hex, total
from analytics.engines.results import STATES, read_rows
from analytics.engines.spark import LOCAL, Cluster
from analytics.engines.unit import ManifestRow
from cdc.settings import Connections

_SHOWN: Final = 20

Entry = tuple[bytes, bytes]  # key, state
Pair = tuple[bytes, bytes | None, bytes | None]  # key, live state, recomputed state
Planner = Callable[[Manifest, Mapping[int, int]], Plan]  # arguments: archive, end offsets


@dataclass(frozen=True, slots=True)
class BackfillVerifyReport:
    """Numbers of compared and of differing keys; `differences` has the first 20 differing keys."""

    run: RunReport
    keys_compared: int
    keys_differing: int
    differences: tuple[dict[str, Any], ...]
    live_digest: str
    open_reorders_live: int
    decisions: Decisions

    @property
    def ok(self) -> bool:
        """Return True if all states are equal, byte for byte, and `decisions_equal` is True."""
        return not self.keys_differing and self.decisions_equal

    @property
    def decisions_equal(self) -> bool:
        """Return True if workers and run have equally many open needs, and `decisions.ok` is True.

        `decisions` compares the proposals in Postgres with the recomputed decisions.
        """
        recomputed = sum(row.open_reorders for row in self.run.rows)
        return self.open_reorders_live == recomputed and self.decisions.ok

    @property
    def exit_code(self) -> int:
        """Return 0 if equal, else 1."""
        return 0 if self.ok else 1

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        batch = self.run.as_json()
        return {
            "run": batch["run"],
            "base": self.run.plan.base_name,
            "engine": batch["engine"],
            "ends": batch["ends"],
            "keys_compared": self.keys_compared,
            "keys_differing": self.keys_differing,
            "live_digest": self.live_digest,
            "recomputed_digest": batch["states_digest"],
            "open_reorders_live": self.open_reorders_live,
            "open_reorders_recomputed": batch["open_reorders"],
            "decisions_compared": self.decisions.compared,
            "decisions_differing": len(self.decisions.differing),
            "decisions_behind": self.decisions.behind,
            "revision_that_decides": self.decisions.decides,
            "proposals_of_other_revisions": self.decisions.others,
            "proposals_of_former_generations": self.decisions.former,
            "decisions_equal": self.decisions_equal,
            "records": batch["records"],
            "seconds": batch["seconds"],
            "differences": list(self.differences),
            "decision_differences": list(self.decisions.differing[:_SHOWN]),
        }


def verify(
    engine: str = "local",
    *,
    settings: Connections | None = None,
    planner: Planner | None = None,
    runs: Path | None = None,
    cluster: Cluster = LOCAL,
    progress: Progress = _no_progress,
) -> BackfillVerifyReport:
    """Compare the live workers' states with a recomputation to the same offsets.

    Return the report with the differences. `planner` makes the plan. By default the recomputation
    starts at the first record. `runs` is the directory for its results, by default the directory of
    all runs.
    """
    known = settings or Connections()
    with live_directory(known.home / "backfill") as directory:
        live = live_partitions(known, directory)
        ends = {part.number: part.end for part in live}
        manifest = archive_until(known, ends)
        plan = planner(manifest, ends) if planner else make_plan(manifest, engine=engine, ends=ends)
        report = execute(plan, runs or runs_dir(known), cluster=cluster, progress=progress)
        begins = {unit.partition: unit.begin for unit in plan.units}
        return compared(live, report, compare_decisions(known, report.rows, ends, begins))


def compared(
    live: Sequence[LivePartition], run: RunReport, decisions: Decisions
) -> BackfillVerifyReport:
    """Compare the workers' states (`live`) with the run's states, key by key. Return the report."""
    keys = keys_differing = 0
    differences: list[dict[str, Any]] = []
    for part in live:
        units = [row for row in run.rows if row.partition == part.number]
        for key, ours, theirs in side_by_side(part.states(), _states(units)):
            keys += 1
            if ours != theirs:
                keys_differing += 1
                if len(differences) < _SHOWN:
                    differences.append(_difference(key, ours, theirs))
    return BackfillVerifyReport(
        run=run,
        keys_compared=keys,
        keys_differing=keys_differing,
        differences=tuple(differences),
        live_digest=as_hex(total(part.digest for part in live)),
        open_reorders_live=sum(part.open_reorders for part in live),
        decisions=decisions,
    )


def side_by_side(live: Iterable[Entry], recomputed: Iterable[Entry]) -> Iterator[Pair]:
    """Yield each key with its live and its recomputed state; None if there is no such state.

    Both inputs are sorted by key.
    """
    ours = ((key, True, content) for key, content in live)
    theirs = ((key, False, content) for key, content in recomputed)
    merged = heapq.merge(ours, theirs, key=itemgetter(0))
    for key, entries in groupby(merged, key=itemgetter(0)):
        said = {is_live: content for _key, is_live, content in entries}
        yield key, said.get(True), said.get(False)


def _states(rows: Iterable[ManifestRow]) -> Iterator[Entry]:
    """Yield key and state of one partition's units, merged in key order."""
    units = (((key, content) for key, _offset, content in read_rows(row, STATES)) for row in rows)
    return heapq.merge(*units, key=itemgetter(0))


def _difference(key: bytes, live: bytes | None, batch: bytes | None) -> dict[str, Any]:
    return {
        "key": key.decode(),
        "live": None if live is None else live.decode(),
        "recomputed": None if batch is None else batch.decode(),
    }
