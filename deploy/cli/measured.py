"""Print the machine, the commit and the load of a measurement."""

import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from bench.machine import machine
from deploy import output

P = ParamSpec("P")


def measured(command: Callable[P, None]) -> Callable[P, None]:
    """Return `command`, extended: at its end it prints machine, commit and load on standard error.

    The load is the machine's load average before the measurement. If the command is refused, it
    prints only its error.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        before = f"{machine()}, load {os.getloadavg()[0]:.1f}"
        try:
            command(*args, **kwargs)
        except typer.Exit:  # the command has printed what it found
            output.errors.print(before)
            raise
        output.errors.print(before)

    return run
