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
    """Return a function that runs `command`, and then prints machine, commit and load.

    It prints them on standard error. The load is the machine's load average before the measurement.
    After an error of `command`, except `typer.Exit`, the function prints nothing.
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
