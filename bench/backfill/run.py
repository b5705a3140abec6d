"""`inventory bench backfill`: several engines recompute the same generated history in one run.

Each engine runs in a separate process, which is measured from its start to its end. `bench fold`
runs before and after the engines, with up to 10,000 keys. Its rates show the speed of the machine,
which changes if other programs share the machine. Compare only figures of one run. The run reports
figures only if all digests are equal.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from analytics.archive.manifest import Manifest
from analytics.backfill.plan import make_plan, save
from bench.backfill import rivals
from bench.backfill.archive import PARTITIONS, Size, generate_once
from bench.backfill.usage import Cost, Sampler
from bench.errors import BenchFailed

LOCAL: Final = "local"
ENGINES: Final = (LOCAL, "local[2]", "cluster-1", "cluster-2")
_MODULE: Final = "bench.backfill"
_FOLD_KEYS: Final = 10_000  # largest number of keys for `bench fold`

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Standalone:
    """A running standalone Spark cluster: the address of its master, and its process ids."""

    master: str
    pids: Sequence[int]


Clusters = Callable[[int], AbstractContextManager[Standalone]]  # argument: number of workers


@dataclass(frozen=True, slots=True)
class Fold:
    """Rates of `bench fold` in records per CPU second.

    `applied` measures decode, dedupe and fold. `whole` also measures the encoding of the records
    that a worker sends.
    """

    applied: float
    whole: float


@dataclass(frozen=True, slots=True)
class Trial:
    """One computation: seconds by the program's own clock, and the cost of all its processes."""

    name: str
    records: int
    seconds: float
    cost: Cost

    @property
    def rate(self) -> float:
        """Return the records per second of elapsed time."""
        return self.records / self.seconds

    @property
    def core_rate(self) -> float:
        """Return records per CPU second of the computing processes; 0 without CPU time."""
        return self.records / self.cost.computing_s if self.cost.computing_s else 0.0

    def as_text(self) -> str:
        """Return the measurement in one line."""
        cost = self.cost
        return (
            f"{self.name}: {self.seconds:.1f} s, {self.rate:,.0f} records/s, {cost.cpu_s:.1f} "
            f"CPU-s, orchestration {cost.orchestration:.1%}, peak {cost.peak_bytes >> 20:,} MiB"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the measurement with its rates."""
        rates = {"records_per_s": self.rate, "records_per_core_s": self.core_rate}
        cost = asdict(self.cost) | {"orchestration": self.cost.orchestration}
        per_million = {"cpu_s_per_million": self.cost.cpu_s * 1e6 / self.records}
        return {"name": self.name, "seconds": self.seconds, **rates, **per_million, **cost}


@dataclass(slots=True)
class Sized:
    """All trials over one history. `digest` is the common digest of all results."""

    size: Size
    archive_bytes: int
    written_per_s: float  # records per CPU second of the writers; 0 if the archive existed
    load: float
    folds: list[Fold] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    sums: list[Trial] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    digest: str = ""

    @property
    def fold(self) -> Fold:
        """Return the mean rates of the `bench fold` runs before and after the engines."""
        number = len(self.folds)
        applied = sum(each.applied for each in self.folds) / number
        return Fold(applied, sum(each.whole for each in self.folds) / number)

    def as_json(self) -> dict[str, Any]:
        """Return the measurements as a JSON object."""
        return {
            **asdict(self.size),
            "archive_bytes": self.archive_bytes,
            "written_per_s": self.written_per_s,
            "load": self.load,
            "digest": self.digest,
            "fold": asdict(self.fold),
            "folds_per_s": [each.applied for each in self.folds],
            "engines": [trial.as_json() for trial in self.trials],
            "sums": [trial.as_json() for trial in self.sums],
            "skipped": self.skipped,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes, engines and directories of a measurement.

    `archive` is the directory for generated archives. An archive that exists is used again.
    """

    sizes: Sequence[Size]
    engines: Sequence[str]
    with_rivals: bool
    scratch: Path
    archive: Path


def run(plan: Plan, clusters: Clusters, progress: Progress) -> list[Sized]:
    """Measure every size. Return one result per size, in the order of the plan.

    Raises:
        BenchFailed: an engine failed, or two digests or sums differ.
    """
    found = []
    for number, size in enumerate(plan.sizes):
        # A plan may contain a size twice. A run skips the units that its directory already has. So
        # each measurement needs a directory of its own.
        own = replace(plan, scratch=plan.scratch / f"{number}")
        found.append(_Bench(own, size, clusters, progress).measure())
    return found


class _Bench:
    """The measurement of one size: all engines and rivals on one archive."""

    def __init__(self, plan: Plan, size: Size, clusters: Clusters, progress: Progress) -> None:
        self._plan, self._size = plan, size
        self._clusters, self._progress = clusters, progress
        self._archive = plan.archive / f"records-{size.records}-keys-{size.keys}-{size.seed}"

    def measure(self) -> Sized:
        """Return the trials of all engines and rivals."""
        found = self._sized()
        self._fold(found)
        for engine in self._plan.engines:
            self._progress(f"{self._size.records} records: {engine}")
            with self._cluster(engine) as cluster:
                self._compute(found, engine, cluster)
        self._fold(found)
        if self._plan.with_rivals:
            self._rivals(found)
        return found

    def _sized(self) -> Sized:
        if not self._archive.exists():
            self._progress(f"{self._size.records} records of {self._size.keys} keys: archive")
        written_s = generate_once(self._archive, self._size)
        written = self._size.records / written_s if written_s else 0.0
        total = sum(file.bytes for file in Manifest(self._archive).all_files())
        return Sized(self._size, total, written, os.getloadavg()[0])

    def _fold(self, found: Sized) -> None:
        keys = min(self._size.keys, _FOLD_KEYS)
        command = ["-m", "deploy.cli.main", "bench", "fold", "--keys", str(keys), "--json"]
        self._progress(f"bench fold, {keys} keys")
        [case] = _json_of(_finished([sys.executable, *command]))["cases"]
        applied = case["decode_us"] + case["dedupe_us"] + case["fold_us"]
        found.folds.append(Fold(1e6 / applied, case["whole_records_per_s"]))

    @contextmanager
    def _cluster(self, engine: str) -> Iterator[Standalone]:
        if engine.startswith("cluster-"):
            with self._clusters(int(engine.removeprefix("cluster-"))) as cluster:
                yield cluster
        else:
            yield Standalone("" if engine == LOCAL else engine, ())

    def _compute(self, found: Sized, engine: str, cluster: Standalone) -> None:
        manifest = Manifest(self._archive)
        ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
        kind = "spark" if cluster.master else "local"
        runs = self._plan.scratch / f"{self._size.records}-{len(found.trials)}"
        directory = save(make_plan(manifest, engine=kind, ends=ends), runs)
        command = [sys.executable, "-m", f"{_MODULE}.engine", str(directory)]
        command += [cluster.master] if cluster.master else []
        result, cost = _measured(command, cluster.pids)
        if found.digest not in ("", result["digest"]):
            problem = (
                f"engine {engine} gave digest {result['digest']}, but the earlier engines gave "
                f"{found.digest}"
            )
            raise BenchFailed(problem)
        found.digest = result["digest"]
        trial = Trial(engine, result["records"], result["seconds"], cost)
        found.trials.append(trial)
        # A later engine may fail. Without this output, the measurements of hours would be lost.
        self._progress(f"{self._size.records} records: {trial.as_text()}")

    def _rivals(self, found: Sized) -> None:
        expected: tuple[int, int] | None = None
        for name in rivals.RIVALS:
            absent = rivals.missing(name)
            if absent:
                found.skipped.append(f"{name}: the package {absent} is not installed")
                continue
            self._progress(f"{self._size.records} records: sums by {name}")
            command = [sys.executable, "-m", f"{_MODULE}.rivals", name, str(self._archive)]
            result, cost = _measured(command, ())
            sums = result["keys"], result["units"]
            if expected not in (None, sums):
                problem = f"{name}: {sums[0]} keys with {sums[1]} units, expected {expected}"
                raise BenchFailed(problem)
            expected = sums
            found.sums.append(Trial(name, self._size.records, result["seconds"], cost))


def _measured(command: Sequence[str], others: Sequence[int]) -> tuple[dict[str, Any], Cost]:
    """Run the command to its end. Return its result, and the cost of all its processes.

    The command writes its output to files. A pipe would be read only after the measurement, and a
    full pipe would block the command.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(command, stdout=output, stderr=errors) as process,  # noqa: S603 -- a module of this package
    ):
        cost = Sampler(process.pid, others).follow(lambda: process.poll() is not None)
        output.seek(0)
        errors.seek(0)
        printed, complaint = output.read(), errors.read().strip()
    if process.returncode:
        problem = f"{' '.join(command[2:])}: exit {process.returncode}: {complaint[-800:]}"
        raise BenchFailed(problem)
    return _json_of(printed), cost


def _finished(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our command
    if done.returncode:
        problem = f"{' '.join(command[2:])}: exit {done.returncode}: {done.stderr.strip()[-800:]}"
        raise BenchFailed(problem)
    return done.stdout


def _json_of(output: str) -> dict[str, Any]:
    return dict(json.loads(output[output.index("{") :]))


__all__ = ["ENGINES", "LOCAL", "Plan", "Size", "Sized", "Standalone", "run"]
