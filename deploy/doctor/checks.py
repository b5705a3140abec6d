"""Run every check with a time limit. If a check raises an error, its row is a failure."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import Final

from deploy.doctor import machine, running
from deploy.doctor.disk import disk
from deploy.doctor.failures import Failure
from deploy.doctor.halted import halted
from deploy.doctor.repairs import RESTART_ALL, joined
from deploy.doctor.row import Row
from deploy.doctor.service_failure import service_failure
from deploy.stack import observe
from deploy.stack.home import Home
from deploy.stack.observe import StackState
from deploy.stack.runtime import UP

_LIMIT_S: Final = 20.0
# Map from the package that defines an error's class to the service that didn't answer.
_SERVICE_OF_PACKAGE: Final = {"psycopg": "postgres", "httpx": "connect", "cimpl": "kafka"}

Check = Callable[[Home], Row]


def run(home: Home) -> list[Row]:
    """Return the rows of all checks of the machine and, if the stack runs, of the stack."""
    seen = observe.observe(home)
    runtime = seen.runtime
    if runtime.running:
        services = running.services(home, seen)
        machines = _run_checks(home, seen, machine.CHECKS)
        return _by_cause([*machines, services, *_run_checks(home, seen, running.CHECKS)])
    if runtime.error:
        told = runtime.error.splitlines()[0]
        stack = Failure.START_FAILED.row(told, repair=runtime.repair or UP)
    else:
        stack = Failure.STACK_DOWN.row("not running")
    return [stack, *_run_checks(home, seen, machine.CHECKS)]


def stack_rows(home: Home, seen: StackState) -> list[Row]:
    """Return the rows about a running stack and its disk, or no rows if no stack runs.

    `status` shows these rows. The checks lag, freshness and archive are left out.
    """
    if not seen.runtime.running:
        return []
    checks = [check for check in running.CHECKS if check not in running.DOCTOR_ONLY]
    return _by_cause([running.services(home, seen), *_run_checks(home, seen, [disk, *checks])])


def _by_cause(rows: list[Row]) -> list[Row]:
    """Return `rows`. If the disk is full, each failing row gets the repair of the row `disk`."""
    full = next((row for row in rows if row.name == "disk" and row.verdict == "failure"), None)
    if full is None:
        return rows
    return [replace(row, repair=full.repair) if row.verdict == "failure" else row for row in rows]


def _run_checks(home: Home, seen: StackState, checks: Sequence[Check]) -> list[Row]:
    rows: list[Row] = []
    with ThreadPoolExecutor(max_workers=8) as pool:
        pending = [(check, pool.submit(_run_check, home, seen, check)) for check in checks]
        for check, answer in pending:
            try:
                rows.append(answer.result(timeout=_LIMIT_S))
            except FutureTimeout:
                text = f"no answer in {_LIMIT_S:.0f} s"
                rows.append(_unanswered(home, seen, check, text))
            except Exception as error:  # noqa: BLE001 -- the row holds the error
                text = f"{type(error).__name__}: {error}".strip()[:300]
                part = _SERVICE_OF_PACKAGE.get(type(error).__module__.partition(".")[0], "")
                rows.append(_unanswered(home, seen, check, text, part))
    return rows


def _run_check(home: Home, seen: StackState, check: Check) -> Row:
    queried = running.QUERIED_SERVICES.get(check.__name__, ())
    part = next((name for name in queried if name in seen.not_ready), "")
    if not part:
        return check(home)
    text = f"not checked: {part} is in state {seen.states[part]!r}"
    return _unanswered(home, seen, check, text, part)


def _unanswered(home: Home, seen: StackState, check: Check, text: str, part: str = "") -> Row:
    """Return the failing row of a check that got no answer.

    Its repair restarts the service `part`. If `part` is "", it restarts each service that is not
    ready, or the whole stack if all are ready.
    """
    ways = {each.service: each.repair for each in halted(home)}
    down = [part] if part in seen.states else seen.not_ready
    restart = joined(service_failure(home, seen, name, ways)[1] for name in down) or RESTART_ALL
    return Failure.NO_ANSWER.row(text, name=check.__name__, restart=restart)


def by_repair(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return a map from repair command to the names of the rows that it repairs."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.repair:
            found.setdefault(row.repair, []).append(row.name)
    return found


def exit_code(rows: Sequence[Row]) -> int:
    """Return 0 if all rows are ok, 1 with a warning, 2 with a failure."""
    verdicts = {row.verdict for row in rows}
    if "failure" in verdicts:
        return 2
    return 1 if "warning" in verdicts else 0
