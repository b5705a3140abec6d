"""Print the machine, the commit and the load before a measurement."""

import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from bench.machine import machine
from deploy import output

P = ParamSpec("P")


def measured(command: Callable[P, None]) -> Callable[P, None]:
    """Return a command that prints these on standard error, then runs `command`."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        output.errors.print(f"{machine()}, load {os.getloadavg()[0]:.1f}")
        command(*args, **kwargs)

    return run
