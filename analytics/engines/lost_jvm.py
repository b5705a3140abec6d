"""The end of a Spark session whose JVM was killed: one message, and a state that allows the next.

In local mode the JVM is the executor, too. pyspark sees its end as an error of a socket, prints the
traceback, and would use the dead JVM for the next session of the process.
"""

import logging
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from analytics.damage import Damage
from analytics.engines.failure import EngineFailed

KEPT: Final = "finished units are kept"
STEP: Final = "start the same command again, or use `--engine local`"
_ENDED_S: Final = 5.0  # the kernel closes a killed JVM's sockets before its parent can see its end
_OF_A_LIVING_JVM: Final = "Py4JJavaError"


@contextmanager
def without_traces() -> Iterator[None]:
    """Keep the bridge from printing tracebacks: an error is printed as one message."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def refuse(session: Any, master: str, error: Exception) -> None:  # noqa: ANN401 -- pyspark builds its session class at run time
    """Raise `EngineFailed` if the session's JVM has ended, as the cause of `error`."""
    if isinstance(error, Damage) or type(error).__name__ == _OF_A_LIVING_JVM:
        return
    code = _exit_code(session, wait_s=_ENDED_S)
    if code is not None:
        problem = (
            f"Spark with master {master!r}: its JVM ended with code {code}: killed, or no memory"
        )
        raise EngineFailed(problem, KEPT, STEP) from error


def stop(session: Any) -> None:  # noqa: ANN401 -- as above
    """Stop the session. Forget a JVM that has ended."""
    if _exit_code(session, wait_s=0.0) is None:
        session.stop()
        return
    context = session.sparkContext
    context._gateway.proc.stdin.close()  # noqa: SLF001 -- pyspark would close it never
    context._jsc = None  # noqa: SLF001 -- `stop` would call the dead JVM
    context.stop()
    for holder, names in (
        (type(context), ("_gateway", "_jvm")),
        (type(session), ("_instantiatedSession", "_activeSession")),
    ):
        for name in names:
            setattr(holder, name, None)


def _exit_code(session: Any, *, wait_s: float) -> int | None:  # noqa: ANN401 -- as above
    """Return the exit code of the JVM; None if it runs, or if another process started it."""
    jvm = getattr(session.sparkContext._gateway, "proc", None)  # noqa: SLF001 -- it has no other name
    if jvm is None:
        return None
    try:
        return int(jvm.wait(wait_s))
    except subprocess.TimeoutExpired:
        return None
