"""`backfill prove`: compare the live state with a recomputation that starts from the last proof.

The runs of proofs have a directory of their own. So no command publishes or compares a proof's run
by mistake, and old runs can be deleted without confirmation.
"""

import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from confluent_kafka import KafkaException

from analytics.archive.manifest import Manifest
from analytics.backfill.base import BaseAhead, UnusableBase, base_of, plan_from
from analytics.backfill.finished import finished_rows
from analytics.backfill.lock import LOCK, RunInUse
from analytics.backfill.plan import PLAN_FILE, Plan, make_plan
from analytics.backfill.run import Progress, _no_progress
from analytics.backfill.verify import BackfillVerifyReport, verify
from analytics.damage import Damage
from analytics.engines.spark import LOCAL, Cluster
from analytics.kafka import TopicUnreadable
from analytics.locks import exclusive, holder
from cdc.contracts.versions import UnreadableRecord
from cdc.settings import Connections

_INCOMPARABLE: Final = 2
_SHOWN: Final = 20
_UNREACHABLE: Final = (KafkaException, TopicUnreadable, psycopg.OperationalError)
_WORKERS: Final = "use the code of the workers that wrote the record"


class NotProven(Damage):
    """Live state and recomputation could not be compared. No result was recorded."""

    exit_code = _INCOMPARABLE


@dataclass(frozen=True, slots=True)
class Proof:
    """The comparison of a proof, its duration, and the reasons why base runs were not used."""

    report: BackfillVerifyReport
    seconds: int
    skipped: tuple[str, ...] = ()

    @property
    def is_comparable(self) -> bool:
        """Return False if the actuator had not applied the workers' decisions at the time limit."""
        return self.report.decisions.behind is None

    @property
    def exit_code(self) -> int:
        """Return 0 if equal, 1 if different, 2 if not comparable."""
        return self.report.exit_code if self.is_comparable else _INCOMPARABLE

    @property
    def differences(self) -> list[dict[str, Any]]:
        """Return the first differing keys, then the first differing decisions."""
        return [*self.report.differences, *self.report.decisions.differing[:_SHOWN]]

    def as_json(self) -> dict[str, Any]:
        """Return the proof as a JSON object."""
        return self.report.as_json() | {
            "seconds": self.seconds,
            "comparable": self.is_comparable,
            "bases_not_used": list(self.skipped),
        }


def proofs_dir(settings: Connections) -> Path:
    """Return the directory of the runs of proofs."""
    return settings.home / "backfill" / "proofs"


@contextmanager
def only_proof(settings: Connections) -> Iterator[None]:
    """Hold the lock that allows one proof at a time; the kernel releases it when this process ends.

    Raises:
        RunInUse: another process holds it.
    """
    path = proofs_dir(settings) / LOCK
    with exclusive(path) as is_held:
        if not is_held:
            problem = f"another proof runs in process {holder(path)}"
            raise RunInUse(problem, "this command changed nothing", "wait until it has ended")
        yield


def prove(
    settings: Connections,
    bases: Sequence[str],
    *,
    engine: str = "local",
    cluster: Cluster = LOCAL,
    progress: Progress = _no_progress,
) -> Proof:
    """Return a comparison of the live state with a recomputation.

    The recomputation starts from the first usable run of `bases`. Without a usable base, recompute
    from the first record.

    Raises:
        NotProven: archive, workers or engine gave no states to compare.
        BaseAhead: the workers' states end before the base does.
    """
    started = time.monotonic()
    planner = Planner(proofs_dir(settings), bases, engine)
    try:
        report = verify(
            engine,
            settings=settings,
            planner=planner.plan,
            runs=planner.proofs,
            cluster=cluster,
            progress=progress,
        )
    except UnusableBase:
        raise
    except Damage as error:
        raise NotProven(error.problem, error.kept, error.step) from error
    except UnreadableRecord as error:
        raise NotProven(str(error), "nothing was compared", _WORKERS) from error
    except _UNREACHABLE as error:
        problem = f"Kafka or Postgres did not answer: {error}"
        step = "`inventory status` shows what runs"
        raise NotProven(problem, "nothing was compared", step) from error
    return Proof(report, round(time.monotonic() - started), tuple(planner.skipped))


def delete_others(settings: Connections, kept: Collection[str]) -> None:
    """Delete the runs of all proofs but those in `kept`. The caller holds the lock for proofs."""
    for path in sorted(proofs_dir(settings).glob(f"*/{PLAN_FILE}")):
        if path.parent.name not in kept:
            shutil.rmtree(path.parent)


class Planner:
    """A planner that chooses the base of one proof. `skipped` has a reason per unusable base."""

    def __init__(self, proofs: Path, bases: Sequence[str], engine: str) -> None:
        self.proofs = proofs
        self.skipped: list[str] = []
        self._bases = bases
        self._engine = engine

    def plan(self, manifest: Manifest, ends: Mapping[int, int]) -> Plan:
        """Return the plan from the first usable base, or from the first record."""
        found = self._from_base(manifest, ends)
        plan = found or make_plan(manifest, engine=self._engine, ends=ends)
        _delete_unless_finished(self.proofs / plan.run, plan)
        return plan

    def _from_base(self, manifest: Manifest, ends: Mapping[int, int]) -> Plan | None:
        for name in self._bases:
            try:
                base = base_of(self.proofs, name)
                return plan_from(manifest, ends, base=base, engine=self._engine)
            except BaseAhead:
                raise
            except UnusableBase as error:
                self.skipped.append(error.problem)
        return None


def _delete_unless_finished(directory: Path, plan: Plan) -> None:
    """Delete an unfinished or changed run of this plan, so that it is computed again."""
    if not directory.exists():
        return
    try:
        finished_rows(directory, plan)
    except Damage:
        shutil.rmtree(directory)
