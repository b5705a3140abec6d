"""A test that hangs fails after a time limit."""

import asyncio
import signal
import threading

import pytest

from tests import time_limit


def blocked() -> None:
    with time_limit.limited():
        threading.Event().wait(60)


async def _asleep() -> None:
    # The limit begins when the event loop runs. The signal must not interrupt its construction.
    with time_limit.limited():
        await asyncio.sleep(60)


def asleep() -> None:
    asyncio.run(_asleep())


@pytest.mark.parametrize("hang", [blocked, asleep])
def test_a_test_that_hangs_fails(hang, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:  # ends here, because the clean-up has a limit, too
        patch.setattr(time_limit, "LONGEST_S", 0.05)
        with pytest.raises(pytest.fail.Exception, match=r"longer than 0\.05 s"):
            hang()

    left_s, _ = signal.getitimer(signal.ITIMER_REAL)
    assert left_s > 1  # the limit of this test itself
