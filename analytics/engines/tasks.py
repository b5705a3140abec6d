"""The types that every engine shares: a task over one unit, and the runner that distributes it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from analytics.engines.failure import UnitFailed
from analytics.engines.unit import ArchiveUnit

Result = TypeVar("Result")
Task = Callable[[ArchiveUnit], Result | UnitFailed]


class RunTasks(Protocol):
    """A function of an engine that runs a task over units.

    A task is a function of a module, or a `partial` of one, so that processes can import it.
    """

    def __call__(
        self, units: Sequence[ArchiveUnit], task: Task[Result]
    ) -> Iterator[Result | UnitFailed]:
        """Yield one result per unit. The local engine submits no unit after a failed one."""
        ...
