"""Execute the open requests one after another, and then end: `python -m deploy.requests.once`.

The prover runs this module as a child process, because a process returns its memory when it ends.
The process holds a lock in Postgres until it ends, so only one such process runs.

At its start, the process looks for requests that have started and not ended. An earlier process has
died while it executed them, so they are recorded as interrupted.
"""

import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import structlog

from analytics.damage import Damage
from cdc.contracts.history_requests import COMPARE
from cdc.cpu_share import PROVER, lower_share
from cdc.logs import configure_logging
from cdc.settings import Connections
from deploy.requests.child import Output, Running
from deploy.requests.commands import command_line
from deploy.stack.django import setup_django

BUSY: Final = 3  # exit code if another process executes the requests
_EVERY_S: Final = 1.0
_PAUSE_S: Final = 2.0
_RESULTS: Final = (0, 1)

log = structlog.get_logger(__name__)


def main() -> int:
    """Execute every open request. Return 0, or 3 if another process executes requests."""
    configure_logging(service="prover")
    lower_share(PROVER)
    setup_django()
    signal.signal(signal.SIGTERM, _stop)
    return execute_all(Connections())


def execute_all(settings: Connections) -> int:
    """Execute requests until none is open. Return 0, or 3 if another process executes requests.

    Django must be set up.
    """
    from ledger.requests import execution  # noqa: PLC0415 -- needs Django set up

    if not execution.may_execute():
        return BUSY
    execution.fail_interrupted()
    while (taken := execution.take_next()) is not None:
        log.info("request started", request=taken.id, kind=taken.kind, actor=taken.requested_by)
        ended = _executed(settings, taken)
        _with_database(lambda: execution.finish(taken.id, ended))  # noqa: B023 -- called at once
        log.info("request ended", request=taken.id, exit_code=ended.exit_code)
    return 0


def _executed(settings: Connections, taken: Any) -> Any:  # noqa: ANN401 -- types of late imports
    from ledger.requests.execution import Ended  # noqa: PLC0415 -- needs Django set up

    try:
        command = command_line(settings, taken.kind, taken.given, taken.requested_by)
    except Damage as error:
        return Ended(error.exit_code, str(error))
    running = Running(command, taken.kind)
    try:
        found = running.wait(_reporter(taken.id))
    except SystemExit:
        running.stop()  # the next process records the interruption
        raise
    return Ended(found.exit_code, _problem(found), *_parts(taken.kind, found.document))


def _problem(found: Output) -> str:
    """Return the problem of a command, or "" if it printed a result and its exit code is 0 or 1."""
    if found.exit_code in _RESULTS and found.document is not None:
        return ""
    return found.messages or f"The command ended with exit code {found.exit_code}."


def _parts(kind: str, document: Any) -> tuple[Any, Any]:  # noqa: ANN401 -- JSON
    """Return the two parts of a comparison's JSON: the document without its rows, and the rows.

    For every other command, return the whole document and None.
    """
    if kind != COMPARE or not isinstance(document, dict):
        return document, None
    rows = document.pop("rows", {})
    return document, rows


def _reporter(number: int) -> Callable[[str], None]:
    """Return a function that stores a line as the progress of request `number`.

    It stores at most one line a second, and ignores the others.
    """
    from ledger.requests.execution import write_progress  # noqa: PLC0415 -- needs Django set up

    next_s = 0.0

    def report(line: str) -> None:
        nonlocal next_s
        if time.monotonic() >= next_s:
            next_s = time.monotonic() + _EVERY_S
            _with_database(lambda: write_progress(number, line), tries=1)

    return report


def _with_database(write: Callable[[], None], tries: int = 30) -> None:
    """Call `write`. If Postgres can't be reached, try up to `tries` times with pauses of 2 s.

    After the last attempt, raise its error. But with `tries=1` only log the error: such a call
    writes a text of progress, which isn't essential.
    """
    from django.db import InterfaceError, OperationalError, connection  # noqa: PLC0415 -- after setup

    for number in range(1, tries + 1):
        try:
            write()
        except (OperationalError, InterfaceError) as problem:
            connection.close()
            log.warning("database_lost", error=str(problem).strip())
            if number == tries and tries > 1:
                raise
            time.sleep(0.0 if tries == 1 else _PAUSE_S)
        else:
            return


def _stop(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
