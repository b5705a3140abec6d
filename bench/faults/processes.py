"""Faults of processes: each service killed, ended or suspended, and the supervisor's death."""

import signal
from collections.abc import Iterator
from typing import Final

from bench.faults.fault import SERVICES, Expected, Fault, named
from bench.faults.ground import Ground, send, state_of

_KINDS: Final = (
    ("kill", signal.SIGKILL),
    ("stop", signal.SIGTERM),
    ("pause", signal.SIGSTOP),
)
_AWAY: Final = ("T", "Z", "")


def faults() -> Iterator[Fault]:
    """Yield the faults of services, by signal and then by service."""
    for verb, number in _KINDS:
        for service in SERVICES:
            yield _of_service(f"{verb} {service}", service, number)


def supervisor_faults() -> Iterator[Fault]:
    """Yield the faults after which a person restarts the stack."""
    yield _of_supervisor("pause supervisor", signal.SIGSTOP)
    yield _of_supervisor("kill supervisor", signal.SIGKILL)


def _of_service(name: str, service: str, number: signal.Signals) -> Fault:
    def prepare(ground: Ground) -> Expected:
        pid = ground.pid(service)

        def is_broken(now: Ground) -> bool:
            entry = now.entry(service)
            is_same = entry["pid"] in (pid, None) and state_of(pid) in _AWAY
            return is_same or entry["state"] != "running"

        return Expected(is_broken, named(service))

    def cause(ground: Ground) -> None:
        send(ground.pid(service), number)

    return Fault(name, cause, prepare)


def _of_supervisor(name: str, number: signal.Signals) -> Fault:
    def prepare(ground: Ground) -> Expected:
        pid = ground.supervisor

        def is_broken(now: Ground) -> bool:
            return now.supervisor == pid and state_of(pid) in _AWAY

        return Expected(is_broken, named("supervisor", "phase is down"))

    def cause(ground: Ground) -> None:
        send(ground.supervisor, number)

    return Fault(name, cause, prepare, heals=False)
