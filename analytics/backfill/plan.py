"""The plan of a run: engine, history and code. The plan's digest names the run."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from analytics.archive.manifest import Manifest
from analytics.archive.source import source_id
from analytics.backfill.simulations import is_simulation, names_simulation
from analytics.damage import Damage
from analytics.engines.code import code_hash
from analytics.engines.selection import EVERYTHING, Selection
from analytics.engines.unit import ArchiveUnit, selection_of, unit_of, units_of
from cdc.contracts.versions import known
from inventory.revision import LOGIC_REVISION

ENGINES: Final = ("local", "spark")
PLAN_SCHEMA: Final = known("plan")[-1]
PLAN_FILE: Final = "plan.json"
# A unit has at most about this many records, unless `--buckets` is given. The number limits the
# memory of a unit, which holds the states of its keys, about 5 kB each. A key of a retailer has
# dozens of records, so a unit has far fewer keys than records. Smaller units would cost time: each
# unit reads all files of its partition, which adds about 2 % to the time of its own records.
UNIT_RECORDS: Final = 2_000_000
_NAMED: Final = 5  # number of runs listed in a message about an unknown run


class UnknownRun(Damage, ValueError):
    """No run has this name, the run can't be used, or a new run can't begin.

    For example, the run is damaged or unfinished, the engine is unknown, or nothing is archived.
    """


def damaged(directory: Path, problem: str) -> UnknownRun:
    """Return the error for a run that can't be used: problem, what was kept, and the next step."""
    step = (
        f"`inventory backfill discard {directory.name} --yes` moves the run away, "
        "`inventory backfill run` computes it again"
    )
    return UnknownRun(problem, "nothing was published, and no file was changed", step)


@dataclass(frozen=True, slots=True)
class Rules:
    """Logic revision and code hash of the rules that a run uses."""

    revision: int
    code: str


@dataclass(frozen=True, slots=True)
class BaseRun:
    """A base run: another run starts from its states. `seal` is the hash of the base's report."""

    run: str
    seal: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A recomputation of all records before the offsets `ends`. Equal plans give equal results.

    `source_topic_id` is the broker's id of the topic that `ends` refer to; None if unknown. With a
    `base` only the states are complete: outputs, late sales and rejected records cover only
    the records after the base's ends.
    """

    run: str
    engine: str
    ends: dict[int, int]
    buckets: int
    logic_revision: int
    code: str
    units: tuple[ArchiveUnit, ...]
    source_topic_id: str | None = None
    selection: Selection = EVERYTHING
    base: BaseRun | None = None

    @property
    def base_name(self) -> str | None:
        """Return the name of the run from whose states this one starts."""
        return None if self.base is None else self.base.run

    def as_json(self) -> dict[str, Any]:
        """Return the plan as it is stored in the run's directory."""
        return {"schema": PLAN_SCHEMA, **asdict(self)}


def make_plan(
    manifest: Manifest,
    *,
    engine: str,
    ends: Mapping[int, int],
    buckets: int | None = None,
    selection: Selection = EVERYTHING,
    rules: Rules | None = None,
) -> Plan:
    """Return the plan for the history before `ends` and for `rules`, by default those of this tree.

    The plan's name is a digest of the plan's inputs.

    `buckets` defaults to the largest end offset divided by `UNIT_RECORDS`, rounded up.

    Raises:
        UnknownRun: unknown engine.
    """
    if engine not in ENGINES:
        problem = f"engine must be one of {', '.join(ENGINES)}, got {engine!r}"
        raise UnknownRun(problem, "nothing was computed", "name one of them with `--engine`")
    chosen = rules or Rules(LOGIC_REVISION, code_hash())
    buckets = buckets or -(-max(ends.values(), default=0) // UNIT_RECORDS) or 1
    units = units_of(manifest, ends, buckets=buckets, selection=selection, code=chosen.code)
    return named(
        Plan(
            run="",
            engine=engine,
            ends=dict(sorted(ends.items())),
            buckets=buckets,
            logic_revision=chosen.revision,
            code=chosen.code,
            units=units,
            source_topic_id=source_id(manifest.storage),
            selection=selection,
        )
    )


def named(plan: Plan) -> Plan:
    """Return the plan with its name, which is a digest of its inputs."""
    units = [unit.input_digest for unit in plan.units]
    inputs = [plan.engine, plan.logic_revision, plan.code, plan.source_topic_id, units]
    if plan.base is not None:
        inputs.append([plan.base.run, plan.base.seal])
    digest = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:12]
    return replace(plan, run=f"{plan.engine}-{digest}")


def partial_text(plan: Plan) -> str:
    """Return the message that this run holds only the outputs after the end of its base run."""
    return (
        f"run {plan.run} starts from the states of run {plan.base_name} and holds only the outputs "
        "after that run's end"
    )


def save(plan: Plan, runs: Path) -> Path:
    """Write the plan into its run's directory, unless it is there. Return the directory.

    Raises:
        UnknownRun: the directory holds another plan.
    """
    directory = runs / plan.run
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / PLAN_FILE
    if target.exists():
        refuse_changed(directory, plan)
        return directory
    temporary = target.with_suffix(".tmp")
    temporary.write_bytes(_encoded(plan))
    temporary.replace(target)
    return directory


def refuse_changed(directory: Path, plan: Plan) -> None:
    """Raise `UnknownRun` unless the directory holds `plan` and has the plan's name.

    `plan` is computed from the archive as it is now. Only the archive's address may differ from the
    stored plan: the archive may have moved to another path or URL.
    """
    path = directory / PLAN_FILE
    stored = path.read_bytes()
    if directory.name != plan.run or stored not in (_encoded(plan), _encoded(_moved(plan, stored))):
        problem = f"{path} is not the plan {plan.run} that the archive gives for these offsets"
        raise damaged(directory, problem)


def _moved(plan: Plan, stored: bytes) -> Plan:
    """Return the plan with the archive address of the stored plan."""
    try:
        address = str(json.loads(stored)["units"][0]["archive"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return plan
    return replace(plan, units=tuple(replace(unit, archive=address) for unit in plan.units))


def _encoded(plan: Plan) -> bytes:
    return json.dumps(plan.as_json(), sort_keys=True, indent=1).encode()


def load(directory: Path) -> Plan:
    """Return the plan that `save` wrote.

    Raises:
        UnknownRun: another release wrote it, or it is damaged.
    """
    if is_simulation(directory):
        raise _simulated(str(directory))
    path = directory / PLAN_FILE
    try:
        row: dict[str, Any] = dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        problem = f"{path}: not a plan of a run: {error}"
        raise damaged(directory, problem) from error
    found = row.pop("schema", None)
    if type(found) is not int or found not in known("plan"):
        versions = ", ".join(map(str, known("plan")))
        problem = (
            f"another release wrote run {directory.name}: its plan has version {found!r}, this "
            f"release reads {versions}"
        )
        raise damaged(directory, problem)
    try:
        ends = {int(partition): int(end) for partition, end in row.pop("ends").items()}
        units = tuple(unit_of(unit) for unit in row.pop("units"))
        selection = selection_of(row.pop("selection", {}))
        base = row.pop("base", None)
        started = None if base is None else BaseRun(**base)
        return Plan(ends=ends, units=units, selection=selection, base=started, **row)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = (
            f"{path} is not the plan of a run: a field is missing, unknown or malformed: {error!r}"
        )
        raise damaged(directory, problem) from error


def ends_of_run(runs: Path, name: str) -> dict[int, int]:
    """Return the end offsets of an earlier run, which `name` names as in `directory_of`.

    Raises:
        UnknownRun: no such run exists, or another release wrote it.
    """
    return load(directory_of(runs, name)).ends


def directory_of(runs: Path, name: str) -> Path:
    """Return the newest directory that `name` names, see `directories_of`.

    Raises:
        UnknownRun: no such run exists.
    """
    return directories_of(runs, name)[0]


def directories_of(runs: Path, name: str) -> list[Path]:
    """Return the directories that `name` names, newest first; at least one.

    `name` is a run's name, `last` for all runs, or a number such as `3` for the runs of that logic
    revision. A run with a base is found only by its full name.

    Raises:
        UnknownRun: no such run exists.
    """
    if names_simulation(name):
        raise _simulated(name)
    known = sorted(runs.glob(f"*/{PLAN_FILE}"), key=lambda path: -path.stat().st_mtime_ns)
    found = [
        path.parent
        for path in known
        if name == path.parent.name
        or ((name == "last" or name.isdecimal()) and _is_meant(path, name))
    ]
    if found:
        return found
    names = ", ".join(path.parent.name for path in known[:_NAMED]) or "none yet"
    problem = (
        f"no run {name!r}: expected 'last', the number of a logic revision, or the name of a run; "
        f"known runs: {names}"
    )
    kept = "nothing was computed, published or changed"
    raise UnknownRun(problem, kept, "`inventory backfill status` lists all runs")


def _is_meant(path: Path, name: str) -> bool:
    """Return True if the run has no base, and `name` is its logic revision or `last`.

    A run with a damaged plan has no known revision, but `last` may name it.
    """
    try:
        row = json.loads(path.read_bytes())
        is_complete = row.get("base") is None
        return is_complete and (name == "last" or bool(row["logic_revision"] == int(name)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return name == "last"


def _simulated(name: str) -> UnknownRun:
    """Return the error for a command that expects a run and got the name of a simulation."""
    problem = f"{name!r} is a simulation and no run: its orders and stock never existed"
    kept = "nothing was computed, published or changed"
    return UnknownRun(problem, kept, "`inventory backfill status` lists the runs")
