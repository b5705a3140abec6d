"""Which fault comes when: a seed decides, so a run can be repeated as far as processes allow."""

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
    """What happens to which services: SIGKILL, or SIGSTOP and later SIGCONT."""

    kind: str
    victims: tuple[str, ...]

    @property
    def is_freeze(self) -> bool:
        """Whether the victims go on afterwards as if nothing had been."""
        return self.kind == FREEZE


def draw(
    seed: int, *, rounds: int, workers: Sequence[str], kinds: Sequence[str] = KINDS
) -> Iterator[Fault]:
    """`rounds` faults of these kinds, each as likely as the others."""
    chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
    for _ in range(rounds):
        kind = chance.choice(kinds)
        if kind in (KILL, FREEZE):
            yield Fault(kind, (chance.choice(workers),))
        else:
            yield Fault(kind, _FIXED.get(kind, tuple(workers)))
