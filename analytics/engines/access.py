"""Give tasks on other machines the driver's access to the archive's server.

Executors of a cluster don't inherit the driver's environment. Spark properties would reveal a
secret: Spark writes them into the event log and into the arguments of the driver's JVM. Every user
of the machine can list these arguments.
"""

import os
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from analytics.archive.storage import is_url, variables
from analytics.engines.unit import ArchiveUnit

Result = TypeVar("Result")
_LOCAL: Final = "file:"


class WithAccess(Generic[Result]):
    """A task that first copies the driver's `AWS_…` variables into the environment of its process.

    It copies them only if the archive of a unit is at a URL, for example of S3.

    Spark ships the variables inside the serialized job. Nothing prints them.
    """

    def __init__(self, task: Callable[[ArchiveUnit], Result], units: Sequence[ArchiveUnit]) -> None:
        self._task = task
        self._variables = dict(variables()) if any(map(_is_remote, units)) else {}

    def __call__(self, unit: ArchiveUnit) -> Result:
        """Return the result of the task for one unit."""
        os.environ.update(self._variables)
        return self._task(unit)


def _is_remote(unit: ArchiveUnit) -> bool:
    return is_url(unit.archive) and not unit.archive.startswith(_LOCAL)
