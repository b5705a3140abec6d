"""A test that hangs fails after a time limit."""

import asyncio
import signal
import threading

import pytest

from tests import time_limit


@pytest.mark.parametrize(
    "hang", [lambda: threading.Event().wait(60), lambda: asyncio.run(asyncio.sleep(60))]
)
def test_a_test_that_hangs_fails(hang, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:  # ends here, because the clean-up has a limit, too
        patch.setattr(time_limit, "LONGEST_S", 0.05)
        with (
            pytest.raises(pytest.fail.Exception, match=r"longer than 0\.05 s"),
            time_limit.limited(),
        ):
            hang()

    left_s, _ = signal.getitimer(signal.ITIMER_REAL)
    assert left_s > 1  # the limit of this test itself
