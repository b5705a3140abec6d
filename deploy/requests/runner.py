"""The part of the prover that serves the page History.

It starts a child process that executes requests. It also writes a snapshot into Postgres: a JSON
document with the archive, the runs and the questions, which the page shows.
"""

import subprocess
import sys
from typing import Any, Final

import structlog

from analytics.backfill.status import status
from analytics.history.questions import questions
from cdc.settings import Connections
from deploy.stack.processes import end_child

COMMAND: Final = (sys.executable, "-m", "deploy.requests.once")
_ASK_S: Final = 1.0
_TRY_AGAIN_S: Final = 30.0  # pause after a child process that failed, or after a lost connection
_SNAPSHOT_S: Final = 30.0
_SNAPSHOT_BUSY_S: Final = 3.0
_MOST_RUNS: Final = 50
_RUN: Final = (
    *("run", "engine", "logic_revision", "code", "base", "units", "units_finished", "finished"),
    *("records", "keys", "outputs", "open_reorders", "seconds", "digest", "problem"),
)

log = structlog.get_logger(__name__)


class Runner:
    """The child process that executes requests, if one runs, and the due times of two actions.

    The actions are a query for open requests, and the writing of a snapshot.
    """

    def __init__(self, settings: Connections, command: tuple[str, ...] = COMMAND) -> None:
        self._settings = settings
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._ask_s = self._snapshot_s = 0.0

    @property
    def is_executing(self) -> bool:
        """Return True while a child process executes requests."""
        return self._child is not None

    def step(self, now_s: float) -> None:
        """Start the child process if a request is open, handle its end, and write a due snapshot.

        If the connection to Postgres is lost, log that. A step 30 s later tries again.
        """
        from django.db import InterfaceError, OperationalError, connection  # noqa: PLC0415 -- after setup

        try:
            self._work(now_s)
        except (OperationalError, InterfaceError) as problem:
            log.warning("database_lost", error=str(problem).strip())
            connection.close()
            self._ask_s = now_s + _TRY_AGAIN_S

    def end(self) -> None:
        """End the child process with SIGTERM.

        The next child process records the interrupted request.
        """
        if self._child is not None:
            end_child(self._child)
        self._child = None

    def _work(self, now_s: float) -> None:
        from ledger.requests.execution import has_open  # noqa: PLC0415 -- needs Django set up

        if self._child is not None and (code := self._child.poll()) is not None:
            self._child, self._snapshot_s = None, 0.0
            self._ask_s = now_s + (_TRY_AGAIN_S if code else 0.0)
        if now_s >= self._snapshot_s:
            self._snapshot_s = now_s + (_SNAPSHOT_BUSY_S if self._child else _SNAPSHOT_S)
            self._write_snapshot()
        if self._child is None and now_s >= self._ask_s:
            self._ask_s = now_s + _ASK_S
            if has_open():
                self._child = subprocess.Popen(self._command)  # noqa: S603 -- our own module

    def _write_snapshot(self) -> None:
        from ledger.requests.execution import write_snapshot  # noqa: PLC0415 -- needs Django set up

        try:
            found = snapshot_of(self._settings)
        except OSError as problem:
            log.warning("runs_not_listed", error=str(problem))
            return
        write_snapshot(found)


def snapshot_of(settings: Connections) -> dict[str, Any]:
    """Return the archive, the newest 50 runs, the number of further runs, and the questions.

    Each run has the fields in `_RUN`. The questions are the SQL files in `analytics/questions`.
    """
    found = status(settings)
    runs = [{name: run.get(name) for name in _RUN} for run in found["runs"][:_MOST_RUNS]]
    asked = [
        {"name": one.name, "text": one.text, "statement": one.statement} for one in questions()
    ]
    more = len(found["runs"]) - len(runs)
    return {"archive": found["archive"], "runs": runs, "more": more, "questions": asked}
