"""Commands of a run that may be sent twice: a lost answer must not repeat a transfer or a count.

Each command has an id made from the run, its tick and its place in it. Services that take no
command id are called inside a transaction that remembers it.
"""

from collections.abc import Callable
from typing import Final
from uuid import UUID, uuid5

from webui.ledger.services.transactions import Row, ledger_transaction, once

NAMESPACE: Final = UUID("7d3b2a64-0f1c-5e0a-9a51-2f6f1c1d7e10")


def command_id(*parts: object) -> UUID:
    """The same parts, the same id."""
    return uuid5(NAMESPACE, ":".join(str(part) for part in parts))


def once_only(identity: UUID, kind: str, actor: str, work: Callable[[], object]) -> bool:
    """Do `work` unless an earlier call with this id has committed; whether it was done now."""
    done = []

    def first() -> Row:
        work()
        done.append(identity)
        return {}

    with ledger_transaction():
        once(identity, f"simulated {kind}", actor, first)
    return bool(done)
