"""An event loop driven step by step, so that a seed decides every interleaving.

The engine's tasks, locks and conditions run on it unchanged. It has no clock, no thread and no I/O.
A task that sleeps or uses a thread waits for the simulation's scheduler instead.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")

SLEEP: Final = "sleep"
TIME_LIMIT: Final = "time limit"
# The function with which tasks wait for the scheduler. Its argument is `SLEEP`, `TIME_LIMIT`, or
# the name of the function that a thread would execute. Each simulated process sets it for all of
# its tasks.
WAIT: Final[ContextVar[Callable[[str], Awaitable[None]]]] = ContextVar("wait")


class StepLoop:
    """The part of an event loop that tasks and futures need."""

    def __init__(self) -> None:
        self._ready: deque[tuple[asyncio.Handle, Callable[[], object]]] = deque()
        self.failures: list[BaseException] = []

    @property
    def as_loop(self) -> asyncio.AbstractEventLoop:
        """Return this loop, cast to the type that asyncio's constructors require.

        The cast is safe: these constructors call only methods that this class has.
        """
        return cast(asyncio.AbstractEventLoop, self)

    def start(
        self, coroutine: Coroutine[Any, Any, T], context: Context | None = None
    ) -> asyncio.Task[T]:
        """Return a task that takes its first step with the next `run`."""
        return asyncio.Task(coroutine, loop=self.as_loop, context=context)

    def run(self) -> None:
        """Execute every ready step, until all tasks wait for the scheduler."""
        set_running = asyncio._set_running_loop  # noqa: SLF001 -- asyncio exports it for loops
        set_running(self.as_loop)
        try:
            while self._ready:
                handle, step = self._ready.popleft()
                if not handle.cancelled():
                    step()
        finally:
            set_running(None)

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """Queue a step. Return its handle, which can cancel the step."""
        context = copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self.as_loop, context)
        self._ready.append((handle, partial(context.run, callback, *args)))
        return handle

    def call_later(
        self, _delay: float, callback: Callable[..., object], *args: object
    ) -> asyncio.Handle:
        """Return the handle of a step that runs when the scheduler ends the sleep.

        The delay is ignored.
        """
        return self._call_after(SLEEP, callback, *args)

    def call_at(
        self, _when_s: float, callback: Callable[..., object], *args: object
    ) -> asyncio.Handle:
        """Return the handle of a step that runs when the scheduler ends the time limit."""
        return self._call_after(TIME_LIMIT, callback, *args)

    def time(self) -> float:
        """Return 0 s, because there is no clock. `asyncio.timeout` adds its limit to this value."""
        return 0.0

    def run_in_executor(self, _executor: None, work: partial[T]) -> asyncio.Task[T]:
        """Return a task for the work of `asyncio.to_thread`; the scheduler decides when it runs."""
        return self.start(_done_in_thread(work))

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return asyncio.Future(loop=self.as_loop)

    def create_task(self, coroutine: Coroutine[Any, Any, T], **_: object) -> asyncio.Task[T]:
        """Return a task of this loop."""
        return self.start(coroutine)

    def get_debug(self) -> bool:
        """Return False: there is no debug mode."""
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Record exceptions that no task has caught; tasks left pending by a kill don't count."""
        if "exception" in context:
            self.failures.append(context["exception"])

    def _call_after(
        self, what: str, callback: Callable[..., object], *args: object
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self.as_loop)

        def wake(_ended: object) -> None:
            if not handle.cancelled():
                callback(*args)

        self.start(_waited(what)).add_done_callback(wake)
        return handle


async def _waited(what: str) -> None:
    await WAIT.get()(what)


async def _done_in_thread(work: partial[T]) -> T:
    await _waited(work.args[0].__name__)
    return work()
