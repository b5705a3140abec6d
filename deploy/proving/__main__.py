"""The process `prover`: it makes a proof every night, and executes requests of the page History.

A proof takes minutes to hours. It runs in a child process with a low priority, so that workers and
pages get the processor first. Commands may make a proof, too. A file lock allows only one proof at
a time.
"""

import subprocess
import sys
import threading
import time
from typing import Final

import structlog

from analytics.heartbeat import Heartbeat
from cdc.cpu_share import PROVER, lower_session_share
from cdc.logs import configure_logging
from cdc.processes import stop_event
from cdc.settings import Connections
from deploy.proving.schedule import is_due
from deploy.proving.settings import ProofSettings
from deploy.requests.runner import Runner
from deploy.stack.django import setup_django
from deploy.stack.processes import end_child

SERVICE: Final = "prover"
_PAUSE_S: Final = 1.0
_ASK_AGAIN_S: Final = 30.0  # between two queries for the newest proof
_TRY_AGAIN_S: Final = 900.0  # after a proof that could compare nothing
_RECORDED: Final = (0, 1)
_US: Final = 1_000_000

log = structlog.get_logger(__name__)


class Prover:
    """Nightly proofs: the child process of a running proof, and the time of the next check."""

    def __init__(self, hour: int | None, command: tuple[str, ...]) -> None:
        self._hour = hour
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._next_s = 0.0
        self._last_s: float | None = None

    @property
    def detail(self) -> dict[str, object]:
        """Return the content of the heartbeat row.

        `hour` is the hour of the nightly proof. `last_us` is the time of the newest proof in µs
        since 1970 UTC. `proving` is True while a proof runs.
        """
        last_us = None if self._last_s is None else round(self._last_s * _US)
        return {"hour": self._hour, "last_us": last_us, "proving": self._child is not None}

    def step(self, now_s: float) -> None:
        """Start a proof if one is due, or handle the end of the running one."""
        if self._child is not None:
            self._note_end(now_s)
        elif self._hour is not None and now_s >= self._next_s:
            self._next_s = now_s + _ASK_AGAIN_S
            self._last_s = newest_proof_s()
            if self._last_s is not None and is_due(now_s, self._hour, self._last_s):
                self._child = subprocess.Popen(self._command)  # noqa: S603 -- our own module

    def end(self) -> None:
        """End the child process, first with SIGTERM. An interrupted proof records nothing."""
        if self._child is not None:
            end_child(self._child)

    def _note_end(self, now_s: float) -> None:
        code = None if self._child is None else self._child.poll()
        if code is None:
            return
        self._child = None
        self._next_s = now_s + _TRY_AGAIN_S
        if code not in _RECORDED:
            log.warning("proof is tried again", exit_code=code, after_s=_TRY_AGAIN_S)


def newest_proof_s() -> float | None:
    """Return the time of the newest proof in s since 1970 UTC, or None if Postgres doesn't answer.

    Without a proof, return the time at which the table of proofs was created.
    """
    from django.db import InterfaceError, OperationalError, connection  # noqa: PLC0415 -- after setup

    from ledger.proofs.queries import proven_since  # noqa: PLC0415 -- as above

    try:
        return proven_since().timestamp()
    except (OperationalError, InterfaceError) as problem:
        log.warning("database_lost", error=str(problem).strip())
        connection.close()
        return None


def run(prover: Prover, runner: Runner, heartbeat: Heartbeat, stop: threading.Event) -> None:
    """Make the nightly proof and execute requests of the page History until `stop` is set."""
    try:
        while not stop.is_set():
            heartbeat.write_if_due(prover.detail | {"executing": runner.is_executing})
            prover.step(time.time())
            runner.step(time.time())
            stop.wait(_PAUSE_S)
    finally:
        prover.end()
        runner.end()
        heartbeat.close()


def main() -> None:
    """Run the prover until SIGTERM or SIGINT."""
    configure_logging(service=SERVICE)
    lower_session_share(PROVER)  # the proofs and requests are processes of this session
    setup_django()
    settings, hour = Connections(), ProofSettings().proof_hour
    log.info("prover_started", hour=hour)
    command = (sys.executable, "-m", "deploy.proving.once")
    heartbeat = Heartbeat(SERVICE, settings.database_url.get_secret_value())
    run(Prover(hour, command), Runner(settings), heartbeat, stop_event())


if __name__ == "__main__":
    main()
