"""Random sequence of faults from a seed. Equal seeds give equal faults, not equal timing."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

KILL: Final = "kill"
KILL_ALL: Final = "kill-all"
FREEZE: Final = "freeze"
SINKS: Final = "sinks"
CONNECT: Final = "connect"
BROKER: Final = "broker"
KINDS: Final = (KILL, KILL_ALL, FREEZE, SINKS, CONNECT, BROKER)
_FIXED: Final = {
    SINKS: ("projector", "actuator"),
    CONNECT: ("connect",),
    BROKER: ("kafka",),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Services to kill with SIGKILL, or, if `kind` is `freeze`, to suspend and later continue."""

    kind: str
    victims: tuple[str, ...]

    @property
    def is_freeze(self) -> bool:
        """Return True if the victims are suspended and continue afterwards."""
        return self.kind == FREEZE


def draw(
    seed: int, *, rounds: int, workers: Sequence[str], kinds: Sequence[str] = KINDS
) -> Iterator[Fault]:
    """Yield `rounds` random faults. Each of `kinds` has the same probability."""
    chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
    for _ in range(rounds):
        kind = chance.choice(kinds)
        if kind in (KILL, FREEZE):
            yield Fault(kind, (chance.choice(workers),))
        else:
            yield Fault(kind, _FIXED.get(kind, tuple(workers)))
