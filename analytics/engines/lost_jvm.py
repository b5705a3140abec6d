"""End a Spark session whose JVM was killed, with one message, so that a new session can start.

In local mode the JVM is the executor, too. pyspark reports the end of the JVM as a socket error
with a traceback. pyspark would also reuse the dead JVM for the next session of the process.
"""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from analytics.damage import Damage
from analytics.engines.failure import EngineFailed

KEPT: Final = "finished units are kept"
STEP: Final = "start the same command again, or use `--engine local`"
_ENDED_S: Final = 5.0  # a killed JVM's sockets are closed before its parent can see its end
_OF_A_LIVING_JVM: Final = "Py4JJavaError"


@contextmanager
def without_traces() -> Iterator[None]:
    """Keep py4j, the bridge to the JVM, from printing a traceback besides the error's message."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def silence_accumulators(server: Any) -> None:  # noqa: ANN401 -- a server class of pyspark
    """Keep pyspark's server of accumulators from printing a traceback when the JVM has ended."""
    print_trace = server.handle_error

    def handle_error(request: Any, client: Any) -> None:  # noqa: ANN401 -- as in socketserver
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            print_trace(request, client)

    server.handle_error = handle_error


def refuse(master: str, error: Exception) -> None:
    """Raise `EngineFailed` if the end of this process's JVM has caused `error`."""
    if isinstance(error, Damage) or type(error).__name__ == _OF_A_LIVING_JVM:
        return
    code = _exit_code(_jvm(), wait_s=_ENDED_S)
    if code is not None:
        problem = (
            f"Spark with master {master!r}: its JVM ended with code {code}: it was killed, or "
            "memory ran out"
        )
        raise EngineFailed(problem, KEPT, STEP) from error


def stop(session: Any) -> None:  # noqa: ANN401 -- pyspark builds its session class at run time
    """Stop the session, if there is one. Forget a JVM that has ended."""
    jvm = _jvm()
    if _exit_code(jvm, wait_s=0.0) is not None:
        _forget(jvm)
    elif session is not None:
        session.stop()


def _jvm() -> Any:  # noqa: ANN401 -- a child process of pyspark
    """Return the JVM that pyspark started for this process, or None."""
    pyspark = sys.modules.get("pyspark")
    gateway = None if pyspark is None else pyspark.SparkContext._gateway  # noqa: SLF001 -- it has no other name
    return getattr(gateway, "proc", None)


def _exit_code(jvm: Any, *, wait_s: float) -> int | None:  # noqa: ANN401 -- a child process of pyspark
    """Return the exit code of the JVM; None if it runs, or if there is none."""
    if jvm is None:
        return None
    try:
        return int(jvm.wait(wait_s))
    except subprocess.TimeoutExpired:
        return None


def _forget(jvm: Any) -> None:  # noqa: ANN401 -- a child process of pyspark
    """Let the next session of this process start another JVM."""
    context_class = sys.modules["pyspark"].SparkContext
    session_class = sys.modules["pyspark.sql"].SparkSession
    jvm.stdin.close()
    context = context_class._active_spark_context  # noqa: SLF001 -- it has no other name
    if context is not None:
        context._jsc = None  # noqa: SLF001 -- `stop` would call the dead JVM
        context.stop()
    for holder, names in (
        (context_class, ("_gateway", "_jvm")),
        (session_class, ("_instantiatedSession", "_activeSession")),
    ):
        for name in names:
            setattr(holder, name, None)
