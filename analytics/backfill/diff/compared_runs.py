"""Two finished runs over the same records, checked before a comparison reads them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analytics.backfill.finished import finished_of, finished_rows
from analytics.backfill.plan import Plan, load, partial_text
from analytics.backfill.read_files import planned_files, same_records
from analytics.damage import Damage
from analytics.engines.unit import ManifestRow
from cdc.contracts.versions import UnreadableRecord

KEPT: Final = "nothing was compared, and no file was changed"
_LISTS: Final = "`inventory backfill status` lists all runs and their problems"
_INCOMPARABLE: Final = 2  # exit code; 1 means that the runs differ


class NotComparable(Damage, ValueError):
    """The sides can't be compared, for example because a run is damaged or the records differ."""

    exit_code = _INCOMPARABLE


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A finished run with unchanged files."""

    plan: Plan
    directory: Path
    rows: tuple[ManifestRow, ...]

    @property
    def name(self) -> str:
        """Return the run's name."""
        return self.plan.run

    def units(self, partition: int) -> tuple[ManifestRow, ...]:
        """Return the units of one partition: one for each key bucket."""
        return tuple(row for row in self.rows if row.partition == partition)

    def as_json(self) -> dict[str, Any]:
        """Return name and rules of the run."""
        plan = self.plan
        return {"run": plan.run, "logic_revision": plan.logic_revision, "code": plan.code}


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Runs A and B over the same records."""

    a: ComparedRun
    b: ComparedRun

    @property
    def generation(self) -> int:
        """Return the generation of the compared records; 0 if there are none."""
        return max((unit.generation for unit in self.a.plan.units), default=0)

    def history(self) -> dict[str, object]:
        """Return the topic, generation and end offsets, which both runs share."""
        plan = self.a.plan
        ends = {str(number): end for number, end in sorted(plan.ends.items())}
        topic = {"source_topic_id": plan.source_topic_id, "generation": self.generation}
        return topic | {"ends": ends}

    def notes(self) -> tuple[str, ...]:
        """Return no notes on left-out decisions: a comparison of two runs leaves out none."""
        return ()


def compared_run(directory: Path) -> ComparedRun:
    """Check every file of the run in `directory`. Return the run.

    Raises:
        NotComparable: the run starts from another one, is unfinished or damaged.
    """
    try:
        plan = load(directory)
        _refuse_base(plan, f"`inventory backfill run --until {plan.run}` computes a complete run")
        return ComparedRun(plan, directory, finished_rows(directory, plan))
    except NotComparable:
        raise
    except Damage as error:
        raise NotComparable(error.problem, KEPT, error.step) from error
    except UnreadableRecord as error:
        problem = f"{directory.name}: {error}"
        raise NotComparable(problem, KEPT, _LISTS) from error


def compared_runs(runs: Path, a: str, b: str) -> ComparedRuns:
    """Check every file of the runs `a` and `b`. Return both runs.

    Raises:
        NotComparable: the message names the run, the problem and the next step.
    """
    try:
        plans = [(directory, load(directory)) for directory in _directories(runs, a, b)]
        _refuse_other_history(plans[0][1], plans[1][1])
        found = [
            ComparedRun(plan, directory, finished_rows(directory, plan))
            for directory, plan in plans
        ]
    except NotComparable:
        raise
    except Damage as error:
        raise NotComparable(error.problem, KEPT, error.step) from error
    except UnreadableRecord as error:
        problem = f"{a} or {b}: {error}"
        raise NotComparable(problem, KEPT, _LISTS) from error
    return ComparedRuns(found[0], found[1])


def _directories(runs: Path, a: str, b: str) -> tuple[Path, Path]:
    """Return the directories of the newest finished runs that `a` and `b` name.

    `last` and a logic revision, such as `2`, may name several runs. Then return the newest pair of
    runs with equal end offsets: two different runs, unless `a` equals `b`. If there is no such
    pair, return the newest run of each name.
    """
    ours, theirs = finished_of(runs, a), finished_of(runs, b)
    if len(ours) == len(theirs) == 1:
        return ours[0], theirs[0]
    for their in theirs:
        ends = load(their).ends
        for our in ours:
            if (a == b or our != their) and load(our).ends == ends:
                return our, their
    return ours[0], theirs[0]


def _refuse_other_history(a: Plan, b: Plan) -> None:
    """Raise `NotComparable` unless both runs read the same records."""
    for plan in (a, b):
        _refuse_base(plan, _again(a, b))
    for problem in (
        _other_topic(a, b),
        _other_generation(a, b),
        _other_ends(a, b),
        _other_selection(a, b),
    ):
        if problem:
            raise NotComparable(problem, KEPT, _again(a, b))
    files = planned_files(a), planned_files(b)
    other = [
        number
        for number, end in a.ends.items()
        if not same_records(files[0].get(number, ()), files[1].get(number, ()), end)
    ]
    if other:
        problem = f"runs {a.run} and {b.run} read different records of partitions {other}"
        raise NotComparable(problem, KEPT, _again(a, b))


def _refuse_base(plan: Plan, step: str) -> None:
    if plan.base is not None:
        problem = f"{partial_text(plan)}; the decisions before that are in other runs"
        raise NotComparable(problem, KEPT, step)


def _again(a: Plan, b: Plan) -> str:
    return (
        f"`inventory backfill run --until {a.run}` computes {b.run} over the records of {a.run}; "
        "add --code for other rules"
    )


def _other_topic(a: Plan, b: Plan) -> str:
    if a.source_topic_id == b.source_topic_id:
        return ""
    return (
        f"runs {a.run} and {b.run} are of different topics: ids {a.source_topic_id} and "
        f"{b.source_topic_id}"
    )


def _other_generation(a: Plan, b: Plan) -> str:
    found = [sorted({unit.generation for unit in plan.units}) for plan in (a, b)]
    if found[0] == found[1]:
        return ""
    return f"runs {a.run} and {b.run} are of generations {found[0]} and {found[1]}"


def _other_ends(a: Plan, b: Plan) -> str:
    for number in sorted(a.ends.keys() | b.ends.keys()):
        ends = a.ends.get(number), b.ends.get(number)
        if ends[0] != ends[1]:
            return (
                f"runs {a.run} and {b.run} end at different offsets of partition {number}: "
                f"{ends[0]} and {ends[1]}"
            )
    return ""


def _other_selection(a: Plan, b: Plan) -> str:
    if a.selection == b.selection:
        return ""
    return (
        f"runs {a.run} and {b.run} hold different keys: {a.selection.text()}, {b.selection.text()}"
    )
