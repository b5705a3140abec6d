"""Kill processes of a run at random moments: `python -m tests.analytics.kills --seed 7`.

Each round starts `inventory backfill run` anew, kills one of its processes and waits until the
command has ended. The same command must then give the digest of an undisturbed run. No process may
remain, and no temporary file after `backfill clean`. Every round is printed with its problems. If
a round has a problem, the exit code is 1.

The moments are spread over the length of the undisturbed run. A third of them are times before its
first finished unit. Each other moment is up to 0.2 s after a number of finished units, for example
after unit 5. A time from the start would be less exact: machine load and JVM start vary.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analytics.archive.manifest import Manifest
from analytics.backfill.clean import clean
from analytics.backfill.finished import finished_rows
from analytics.backfill.lock import LOCK
from analytics.backfill.plan import PLAN_FILE, load
from analytics.backfill.run import runs_dir
from analytics.backfill.seal import RUN_FILE, RUN_MANIFEST
from analytics.damage import Damage
from analytics.engines.commits import COMMITS
from analytics.engines.spark import EVENTS
from bench.backfill.archive import Size, generate
from cdc.settings import Connections
from deploy.spark_cluster import standalone
from deploy.stack.home import PROJECT
from deploy.stack.processes import wait_until
from tests.analytics.victims import MARK, Victim, living, processes

RECORDS, KEYS, BUCKETS = 60_000, 2_000, 3
WITHIN_S = 900.0  # only a failure waits so long
ENDED_S = 60.0  # executors end some seconds after their driver
SETTLED_S = 3_600.0  # advance `clean`'s clock, because it leaves files of the last minutes
STARTING = 1 / 3  # share of the moments before the first finished unit
NOBODY = "nobody: the run had ended"
VICTIMS = {
    "local": ("driver", "pool process"),
    "spark": ("driver", "JVM", "Python worker"),
    "cluster": ("driver", "executor", "Python worker"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A home with an archive, and the command that recomputes it."""

    home: Path
    engine: str
    master: str
    cluster: Path

    @property
    def runs(self) -> Path:
        """Return the directory of all runs."""
        return runs_dir(Connections(home=self.home))

    def start(self, mark: str) -> subprocess.Popen[bytes]:
        """Start and return the command. Its processes have `mark` in their environment.

        Their temporary files are in the home's `tmp`.
        """
        engine = "local" if self.engine == "local" else "spark"
        command = [sys.executable, "-m", "deploy.cli.main", "backfill", "run", "--json"]
        command += ["--until", "archived", "--buckets", str(BUCKETS), "--engine", engine]
        command += ["--master", self.master] if self.master else []
        temporary = self.home / "tmp"
        temporary.mkdir(exist_ok=True)
        java = {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}"}
        mine = {name: text for name, text in os.environ.items() if "INVENTORY_" not in name}
        mine |= {"INVENTORY_HOME": str(self.home), "TMPDIR": str(temporary), MARK: mark, **java}
        with (self.home / "out").open("wb") as out, (self.home / "err").open("wb") as err:
            return subprocess.Popen(command, cwd=PROJECT, env=mine, stdout=out, stderr=err)  # noqa: S603 -- our own command

    def report(self) -> dict[str, Any]:
        """Return the printed report of a command that has ended well."""
        return dict(json.loads((self.home / "out").read_bytes()))

    def errors(self) -> str:
        """Return the command's standard error."""
        return (self.home / "err").read_text("utf-8", errors="replace")

    def alive(self, mark: str) -> list[Victim]:
        """Return the living processes of the run that was started with this mark."""
        return list(processes(mark, self.cluster))


@dataclass(slots=True)
class Round:
    """One killed process and what followed."""

    number: int
    moment: "Moment"
    role: str = NOBODY
    units: int = 0  # units that were finished when the process was killed
    exit_code: int = 0
    message: str = ""
    computed: int = 0  # units that the second start computed
    digest: str = ""
    problems: list[str] = field(default_factory=list)

    def text(self, planned: int) -> str:
        """Return the printed line about this round."""
        ended = f"exit {self.exit_code}" + (f" ({self.message})" if self.message else "")
        verdict = "; ".join(self.problems) or "equal"
        return (
            f"{self.number:>3} {self.moment.text()}: {self.role}, {self.units} of {planned} units "
            f"finished: {ended}; then {self.computed} computed, {self.digest:.12}: {verdict}"
        )


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """Digest, seconds and units of an undisturbed run.

    `first_s` is the number of seconds until its first unit was finished.
    """

    digest: str
    seconds: float
    units: int
    first_s: float

    def moment(self, place: float, rng: random.Random) -> "Moment":
        """Return the moment at `place`, from 0 for the start of the run to 1 for its end."""
        if place < STARTING:
            return Moment(place / STARTING * self.first_s, 0)
        share = (place - STARTING) / (1 - STARTING)
        return Moment(rng.uniform(0, 0.2), 1 + int(share * self.units))


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in a run: `seconds` after `units` finished units, for 0 units after the start."""

    seconds: float
    units: int

    def wait(self, case: Case, driver: subprocess.Popen[bytes]) -> None:
        """Return at this moment, or when the run has ended."""
        ended = lambda: driver.poll() is not None  # noqa: E731 -- used twice
        reached = lambda: ended() or _finished(case) >= self.units  # noqa: E731 -- as above
        wait_until(reached, timeout_s=WITHIN_S, poll_s=0.005)
        due = time.monotonic() + self.seconds
        wait_until(lambda: ended() or time.monotonic() >= due, timeout_s=WITHIN_S, poll_s=0.005)

    def text(self) -> str:
        """Return the printed text of the moment."""
        return f"{self.seconds:.2f} s after unit {self.units}"


def undisturbed(case: Case) -> Undisturbed:
    """Run the command once, and return its digest and times.

    Raises:
        RuntimeError: it failed, so the rounds would prove nothing.
    """
    began = time.monotonic()
    driver = case.start("undisturbed")
    wait_until(lambda: driver.poll() is not None or _finished(case) > 0, timeout_s=WITHIN_S)
    first_s = time.monotonic() - began
    if driver.wait(WITHIN_S):
        raise RuntimeError(case.errors())
    seconds = time.monotonic() - began
    found = case.report()
    shutil.rmtree(case.runs)
    return Undisturbed(found["digest"], seconds, found["units"], first_s)


def rounds(
    case: Case, known: Undisturbed, *, seed: int, moments: int, roles: Sequence[str] = ()
) -> Iterator[Round]:
    """Disturb the run `moments` times, once in each equal part of its length. Yield each round.

    `roles` limits the processes that may be killed. By default, any process of the engine may be.
    """
    rng = random.Random(f"{seed}/{case.engine}")  # noqa: S311 -- seeded test data
    for number in range(moments):
        place = (number + rng.random()) / moments
        role = rng.choice(roles or VICTIMS[case.engine])
        made = disturbed(case, known, Round(number + 1, known.moment(place, rng)), role, rng)
        while made.role == NOBODY and not made.problems:  # the run had ended before the moment
            shutil.rmtree(case.runs, ignore_errors=True)
            place *= 0.9
            made = disturbed(case, known, Round(number + 1, known.moment(place, rng)), role, rng)
        yield made
        shutil.rmtree(case.runs, ignore_errors=True)


def disturbed(case: Case, known: Undisturbed, made: Round, role: str, rng: random.Random) -> Round:
    """Kill a process of this role and start the command again. Return the round.

    If no process has this role, another one is killed; none if the run has ended.
    """
    mark = uuid.uuid4().hex
    driver = case.start(mark)
    try:
        made.moment.wait(case, driver)
        _kill(case, driver, made, mark, role, rng)
        made.exit_code = driver.wait(WITHIN_S)
        _judge_end(case, made)
        _judge_processes(case, made, mark)
    finally:
        for victim in living(case.alive(mark)):
            os.kill(victim.process.pid, signal.SIGKILL)
        driver.wait(WITHIN_S)
    _resume(case, known, made)
    return made


def _kill(
    case: Case,
    driver: subprocess.Popen[bytes],
    made: Round,
    mark: str,
    role: str,
    rng: random.Random,
) -> None:
    found = [one for one in case.alive(mark) if one.role in VICTIMS[case.engine]]
    chosen = [one for one in found if one.role == role] or found
    if driver.poll() is not None or not chosen:
        return
    victim = rng.choice(chosen)
    made.role = victim.role
    made.units = _finished(case)
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim.process.pid, signal.SIGKILL)


def _finished(case: Case) -> int:
    """Return the number of finished units.

    A unit has a commit file until the run's manifest lists all units and the commits are deleted.
    """
    commits = len(list(case.runs.glob(f"*/{COMMITS}/partition*.json")))
    listed = [path.read_bytes().count(b"\n") for path in case.runs.glob(f"*/{RUN_MANIFEST}")]
    return max(commits, *listed, 0)


def _judge_end(case: Case, made: Round) -> None:
    """Add a problem if the command failed without a message. A killed driver needs none."""
    if made.exit_code in (0, -signal.SIGKILL):
        return
    errors = case.errors()
    made.message = errors.rpartition("error: ")[2].strip()[:150]
    if "Traceback" in errors or "error: " not in errors:
        made.problems.append(f"no clear message: {errors[-2_000:]}")


def _judge_processes(case: Case, made: Round, mark: str) -> None:
    if not wait_until(lambda: not case.alive(mark), timeout_s=ENDED_S):
        left = [f"{one.role} {one.process.pid}" for one in case.alive(mark)]
        made.problems.append(f"processes are left: {', '.join(left)}")


def _resume(case: Case, known: Undisturbed, made: Round) -> None:
    """Start the command again, and compare its result with the undisturbed one."""
    driver = case.start("resumed")
    if driver.wait(WITHIN_S):
        made.problems.append(f"not resumed: {case.errors()[-2_000:]}")
        return
    found = case.report()
    made.digest, made.computed = found["digest"], found["units_computed"]
    if made.digest != known.digest:
        made.problems.append(f"digest {made.digest}, expected {known.digest}")
    directory = Path(found["directory"])
    try:
        finished_rows(directory, load(directory))
    except Damage as damage:
        made.problems.append(str(damage))
    clean(case.runs, delete=True, clock=lambda: time.time() + SETTLED_S)
    left = [*unexpected(directory), *(case.home / "tmp").iterdir()]
    if left:
        made.problems.append(f"files are left: {[str(path) for path in left[:5]]}")
    shutil.rmtree(case.home / "tmp")


def unexpected(directory: Path) -> list[Path]:
    """Return the files and directories of a finished run that none of its readers uses."""
    rows = finished_rows(directory, load(directory))
    attempts = {Path(row.directory) for row in rows}
    expected = {directory / name for name in (PLAN_FILE, RUN_FILE, RUN_MANIFEST, LOCK)}
    expected |= set((directory / "code").glob("*.zip"))
    # Spark leaves this directory empty if its only job was killed after the last unit.
    expected |= {directory / EVENTS}
    expected |= {path for path in (directory / EVENTS).rglob("*") if ".inprogress" not in path.name}
    expected |= {file for attempt in attempts for file in attempt.iterdir()}
    known = {parent for path in expected for parent in path.parents} | expected
    return sorted(path for path in directory.rglob("*") if path not in known)


@contextlib.contextmanager
def a_case(directory: Path, engine: str, size: Size) -> Iterator[Case]:
    """Yield a case: a home with a generated archive, and for `cluster` a running cluster."""
    home, cluster = directory / "home", directory / "cluster"
    generate(home / "archive", size)
    if engine != "cluster":
        yield Case(home, engine, "local[2]" if engine == "spark" else "", cluster)
        return
    with standalone(cluster, cores=2) as running:
        yield Case(home, engine, running.address, cluster)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print each round. Return 1 if a round has a problem, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--engine", choices=sorted(VICTIMS), default="local")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument(
        "--role", choices=sorted({role for many in VICTIMS.values() for role in many})
    )
    given = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="inventory-kills-") as directory,
        a_case(Path(directory), given.engine, Size(given.records, KEYS, given.seed)) as case,
    ):
        files = len(Manifest(case.home / "archive").all_files())
        known = undisturbed(case)
        print(f"{given.records} records, {files} files: {known}", flush=True)  # noqa: T201 -- its report
        bad = 0
        roles = [given.role] if given.role else []
        for made in rounds(case, known, seed=given.seed, moments=given.moments, roles=roles):
            bad += bool(made.problems)
            print(made.text(known.units), flush=True)  # noqa: T201 -- its report
    print(f"seed {given.seed}, {given.engine}: {given.moments} moments, {bad} differ")  # noqa: T201 -- as above
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
