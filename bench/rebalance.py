"""`inventory bench rebalance`: age of on-hand figures while workers leave, restart and join.

Sales continue during each step. One key per partition is sold. The figure of a step is the longest
time from the commit of a sale until a worker showed the sale.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

from bench.errors import BenchFailed
from bench.load import percentile
from bench.staleness import Staleness
from cdc.settings import Connections

QUIET: Final = "no change"
QUIET_S: Final = 10.0
_SHOWN_S: Final = 60.0

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Step:
    """A change of the workers, for example a restart.

    `change` executes it, and returns when it is complete.
    """

    name: str
    change: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Stale:
    """The measurement of one step in one round.

    `median_s` and `longest_s` are times from the commit of a sale until a worker showed the sale.
    """

    step: str
    seconds: float
    sales: int
    median_s: float
    longest_s: float


@dataclass(frozen=True, slots=True)
class Report:
    """All steps of all rounds, in their order."""

    steps: tuple[Stale, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return asdict(self)

    def as_text(self) -> str:
        """Return a table with one row per kind of step."""
        lines = ["step              rounds   sales   oldest number s: median   longest   step s"]
        for name in dict.fromkeys(one.step for one in self.steps):
            found = [one for one in self.steps if one.step == name]
            longest = [one.longest_s for one in found]
            lines.append(
                f"{name:<17} {len(found):>6} {sum(one.sales for one in found):>7} "
                f"{median(longest):>24.2f} {max(longest):>9.2f} "
                f"{median(one.seconds for one in found):>8.1f}"
            )
        return "\n".join(lines)

    __str__ = as_text


def run(settings: Connections, steps: Sequence[Step], *, rounds: int, progress: Progress) -> Report:
    """Measure ten seconds without a change, then all steps in their order, `rounds` times.

    Return the measurements.

    Raises:
        BenchFailed: workers didn't show a sale within 60 s after a step, or a step had no sale.
    """
    found = []
    with Staleness(settings) as staleness:
        quiet = Step(QUIET, lambda: time.sleep(QUIET_S))
        for number in range(rounds):
            for step in (quiet, *steps):
                stale = _measured(staleness, step)
                found.append(stale)
                progress(
                    f"round {number + 1}, {step.name}: oldest number {stale.longest_s:.2f} s "
                    f"of {stale.sales} sales"
                )
    return Report(tuple(found))


def _measured(staleness: Staleness, step: Step) -> Stale:
    began = time.monotonic()
    step.change()
    ended = time.monotonic()
    delays = staleness.delays(began, ended, _SHOWN_S)
    if not delays:
        problem = f"no sale was committed during the step {step.name!r} of {ended - began:.1f} s"
        raise BenchFailed(problem)
    return Stale(step.name, ended - began, len(delays), percentile(delays, 500), delays[-1])
