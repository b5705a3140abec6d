"""No secret of a running stack leaves its process, even after Postgres was killed."""

import httpx
import pytest

from deploy.leaks.search import search
from tests.stack.running import RunningStack
from tests.stack.test_faults import kill


def is_ready(stack: RunningStack) -> bool:
    """Return True when the pages reach Postgres."""
    url = stack.runtime.services["web"].url
    return httpx.get(f"{url}/readyz", timeout=10).status_code == 200


@pytest.mark.soak  # tests/deploy/test_leaks.py puts a secret into each kind of place
def test_no_secret_is_in_logs_answers_or_processes_after_postgres_is_killed(
    stack: RunningStack,
) -> None:
    log = stack.home.log_of("projector")
    before = log.stat().st_size
    kill(stack, "postgres")
    # The projector's current or next statement fails. It logs the failure with a traceback.
    stack.wait_until(lambda: b"sink failed" in log.read_bytes()[before:])
    stack.wait_until(lambda: is_ready(stack))

    found = search(stack.home)

    assert found.leaks == ()
    assert found.secrets >= 10
    assert found.processes >= len(stack.runtime.services)
    assert found.answers > 30
