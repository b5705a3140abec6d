"""Runs every check with a time limit; a check that raises is a failing row, never a traceback."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Final

from deploy.doctor import machine, running
from deploy.doctor.row import Row
from deploy.stack.home import Home
from deploy.stack.runtime import UP, read_runtime

_LIMIT_S: Final = 20.0


def run(home: Home) -> list[Row]:
    """All rows: the machine first, then the stack when one runs."""
    runtime = read_runtime(home)
    chosen: list[Callable[[Home], Row]] = list(machine.CHECKS)
    rows: list[Row] = []
    if runtime.running:
        chosen += running.CHECKS
    else:
        told = runtime.error.splitlines()[0] if runtime.error else "not running"
        rows.append(Row("stack", "warning", told, runtime.repair or UP))
    with ThreadPoolExecutor(max_workers=4) as pool:
        pending = [(check, pool.submit(check, home)) for check in chosen]
        for check, answer in pending:
            try:
                rows.append(answer.result(timeout=_LIMIT_S))
            except FutureTimeout:
                text = f"no answer in {_LIMIT_S:.0f} s"
                rows.append(Row(check.__name__, "failure", text, "inventory status"))
            except Exception as error:  # noqa: BLE001 -- the row says what happened
                text = f"{type(error).__name__}: {error}".strip()[:300]
                rows.append(Row(check.__name__, "failure", text, "inventory status"))
    return rows


def exit_code(rows: Sequence[Row]) -> int:
    """0 when all is well, 1 with a warning, 2 with a failure."""
    verdicts = {row.verdict for row in rows}
    if "failure" in verdicts:
        return 2
    return 1 if "warning" in verdicts else 0
