"""Faults of processes: kill, end or suspend each service; kill or suspend the supervisor."""

import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from bench.faults.fault import SERVICES, Expected, Fault, mentions
from bench.faults.stack_under_test import (
    ConditionTimeout,
    StackUnderTest,
    send,
    state_of,
    wait_for,
)

_KINDS: Final = (
    ("kill", signal.SIGKILL),
    ("stop", signal.SIGTERM),
    ("pause", signal.SIGSTOP),
)
_NOT_RUNNING: Final = ("T", "Z", "")
_ENDS_WITHIN_S: Final = 3.0


def faults() -> Iterator[Fault]:
    """Yield the faults of services, by signal and then by service."""
    for verb, number in _KINDS:
        for service in SERVICES:
            yield _of_service(f"{verb} {service}", service, number)


def supervisor_faults() -> Iterator[Fault]:
    """Yield the faults of the supervisor. The stack needs a restart after them."""
    yield _of_supervisor("pause supervisor", signal.SIGSTOP)
    yield _of_supervisor("kill supervisor", signal.SIGKILL)


def _of_service(name: str, service: str, number: signal.Signals) -> Fault:
    def prepare(stack: StackUnderTest) -> Expected:
        pid = stack.pid(service)

        def is_broken(now: StackUnderTest) -> bool:
            entry = now.entry(service)
            is_same = entry["pid"] in (pid, None) and state_of(pid) in _NOT_RUNNING
            return is_same or entry["state"] != "running"

        return Expected(is_broken, mentions(service))

    def cause(stack: StackUnderTest) -> None:
        pid = stack.pid(service)
        send(pid, number)
        if number == signal.SIGTERM:
            _wait_ended(pid)

    return Fault(name, cause, prepare)


def _wait_ended(pid: int) -> None:
    """Wait up to 3 s until the process has ended: after SIGTERM, it first finishes its work."""
    with suppress(ConditionTimeout):  # Postgres, for example, ends only after its last client
        wait_for(lambda: state_of(pid) in _NOT_RUNNING, f"end of process {pid}", _ENDS_WITHIN_S)


def _of_supervisor(name: str, number: signal.Signals) -> Fault:
    def prepare(stack: StackUnderTest) -> Expected:
        pid = stack.supervisor

        def is_broken(now: StackUnderTest) -> bool:
            return now.supervisor == pid and state_of(pid) in _NOT_RUNNING

        return Expected(is_broken, mentions("supervisor", "phase is down"))

    def cause(stack: StackUnderTest) -> None:
        send(stack.supervisor, number)

    return Fault(name, cause, prepare, heals=False)
