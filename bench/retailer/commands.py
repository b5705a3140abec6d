"""Idempotent commands of a run: if an answer is lost, a retry writes nothing twice.

The parts of an id identify the command, for example run, tick and index in the tick. If a service
takes no command id, `run_once` calls it inside a transaction that stores the id.
"""

from collections.abc import Callable
from typing import Final
from uuid import UUID, uuid5

from ledger.kernel.idempotency import Done, run_command

NAMESPACE: Final = UUID("7d3b2a64-0f1c-5e0a-9a51-2f6f1c1d7e10")


def command_id(*parts: object) -> UUID:
    """Return the command id for these parts; equal parts give equal ids."""
    return uuid5(NAMESPACE, ":".join(str(part) for part in parts))


def run_once(identity: UUID, kind: str, actor: str, work: Callable[[], object]) -> bool:
    """Execute `work` unless an earlier call with this id has committed; return True if it ran."""
    done = []

    def first() -> Done:
        work()
        done.append(identity)
        return Done()

    run_command(identity, f"simulated {kind}", actor, first, Done, content=kind)
    return bool(done)
