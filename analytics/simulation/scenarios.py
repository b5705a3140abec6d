"""Scenarios: names with changed parameters, from options or from a file.

Example:
    one = parse_options(["reorder_point_units=30"], ["family=sS,location=BERLIN-1"])
    many = read_file(Path("scenarios.toml"))
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from analytics.backfill.change.parameters import BadParameter, rule_of
from analytics.simulation.refusals import refused
from cdc.contracts.policy_parameters import NULL
from inventory.model.value import value
from inventory.parameters.overlay import Overlay

HISTORY, BASELINE, CHANGED = "history", "baseline", "changed"
MOST: Final = 200
_FIXED: Final = "clock_mode"  # the times of all events follow from it
_FIELDS: Final = {"name", "set", "where"}
_EXAMPLE: Final = 'like {"name": "a", "set": {"reorder_point_units": 30}}'


@value
class Scenario:
    """A scenario's name, and the parameters that the scenario changes."""

    name: str
    overlay: Overlay = ()

    def as_json(self) -> dict[str, Any]:
        """Return the scenario as a JSON object. The digest in a simulation's name covers it."""
        rules = [{"where": dict(rule.where), "set": dict(rule.changes)} for rule in self.overlay]
        return {"name": self.name, "rules": rules}


def with_baseline(scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """Return the baseline and the scenarios.

    Raises:
        SimulationRefused: too many scenarios, or a name that is empty, repeated or reserved.
    """
    taken = {HISTORY, BASELINE}
    for scenario in scenarios:
        if not scenario.name.strip() or scenario.name in taken:
            problem = f"scenario {scenario.name!r}: the name is empty, used twice or reserved"
            raise refused(problem, f"give each its own name, not {HISTORY} or {BASELINE}")
        taken.add(scenario.name)
    if len(scenarios) > MOST:
        problem = f"{len(scenarios)} scenarios; one command simulates {MOST} at most"
        raise refused(problem, "split the file and start one command for each part")
    return (Scenario(BASELINE), *scenarios)


def parse_options(
    changes: Sequence[str], where: Sequence[str] = (), name: str = CHANGED
) -> Scenario:
    """Return the scenario of `--set` and `--where`.

    Raises:
        BadParameter: a text is malformed. The message names option, column and value.
        SimulationRefused: a column that no scenario may set.
    """
    rule = rule_of(changes, where)
    if _FIXED in dict(rule.changes):
        problem = f"scenario {name!r} sets {_FIXED}: the times of the history follow from it"
        raise refused(problem, f"leave out {_FIXED}")
    return Scenario(name, (rule,))


def read_file(path: Path) -> tuple[Scenario, ...]:
    """Return the scenarios of a TOML file (`[[scenario]]`) or of a file of JSON lines.

    Raises:
        SimulationRefused: the file is malformed. The message names file and scenario number.
    """
    try:
        text = path.read_text("utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else _json_lines(text)
    except (OSError, ValueError) as error:
        detail = error.strerror if isinstance(error, OSError) else str(error)
        problem = f"--scenarios {path}: {detail}"
        raise refused(problem, f"name a file of TOML or JSON lines, each {_EXAMPLE}") from error
    entries = found.get("scenario")
    if set(found) != {"scenario"} or not isinstance(entries, list) or not entries:
        problem = f"--scenarios {path}: expected scenarios, found {', '.join(found) or 'nothing'}"
        raise refused(problem, "begin each scenario of a TOML file with [[scenario]]")
    return tuple(
        _entry(entry, f"--scenarios {path}, scenario {number}")
        for number, entry in enumerate(entries, 1)
    )


def _json_lines(text: str) -> dict[str, Any]:
    return {"scenario": [json.loads(line) for line in text.splitlines() if line.strip()]}


def _entry(entry: object, position: str) -> Scenario:
    if not isinstance(entry, dict) or not set(entry) <= _FIELDS:
        seen = ", ".join(map(str, entry)) if isinstance(entry, dict) else repr(entry)
        problem = f"{position}: expected name, set and where, found {seen}"
        raise refused(problem, f"write it {_EXAMPLE}")
    name, changes, where = entry.get("name"), entry.get("set"), entry.get("where", {})
    is_named = isinstance(name, str)
    if not is_named or not isinstance(changes, Mapping) or not isinstance(where, Mapping):
        problem = f"{position}: expected name as a text, set and where as tables"
        raise refused(problem, f"write it {_EXAMPLE}")
    if not changes:
        problem = f"{position}: sets nothing, so it equals the baseline"
        raise refused(problem, f"write it {_EXAMPLE}")
    try:
        return parse_options([*_assignments(changes)], [*_assignments(where)], str(name))
    except BadParameter as error:
        problem = f"{position}: {error.problem}"
        raise refused(problem, error.step) from error


def _assignments(cells: Mapping[str, object]) -> Iterator[str]:
    """Yield each column and value as people write them in options: `column=value`."""
    for column, cell in cells.items():
        yield f"{column}={_text(cell)}"


def _text(cell: object) -> str:
    match cell:
        case None:
            return NULL
        case bool():
            return str(cell).lower()
        case list():
            return ",".join(map(str, cell))
        case _:
            return str(cell)
