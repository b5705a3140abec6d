"""An event loop that only moves when it is told to, so that a seed decides every interleaving.

The engine's tasks, locks and conditions run on it unchanged. There is no clock and no input: what
waits, waits for the scheduler.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, cast

T = TypeVar("T")


class StepLoop:
    """The part of an event loop that tasks and futures need."""

    def __init__(self) -> None:
        self._ready: deque[tuple[asyncio.Handle, Callable[..., object], tuple[object, ...]]] = (
            deque()
        )
        self.failures: list[BaseException] = []

    @property
    def as_loop(self) -> asyncio.AbstractEventLoop:
        """This loop for asyncio's constructors, which ask for less than the type says."""
        return cast(asyncio.AbstractEventLoop, self)

    def start(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that takes its first step with the next `run`."""
        return asyncio.Task(coroutine, loop=self.as_loop)

    def run(self) -> None:
        """Take every step that can be taken, until all tasks wait for the scheduler."""
        set_running = asyncio._set_running_loop  # noqa: SLF001 -- asyncio exports it for loops
        set_running(self.as_loop)
        try:
            while self._ready:
                handle, callback, args = self._ready.popleft()
                if not handle.cancelled():
                    callback(*args)
        finally:
            set_running(None)

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """Queue a step; contexts are not kept apart, because nothing here has any."""
        handle = asyncio.Handle(callback, args, self.as_loop, context)
        self._ready.append((handle, callback, args))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self.as_loop)

    def create_task(self, coroutine: Coroutine[Any, Any, T], **_: object) -> asyncio.Task[T]:
        """A task of this loop."""
        return self.start(coroutine)

    def get_debug(self) -> bool:
        """Never in debug mode."""
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what no task has caught; a task that a kill leaves pending is no failure."""
        if "exception" in context:
            self.failures.append(context["exception"])
