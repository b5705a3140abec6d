"""`inventory bench faults` on the running stack: one worker killed, one suspended."""

import json

import pytest

from tests.stack.running import RunningStack
from tests.stack.test_workers import shared

pytestmark = pytest.mark.soak


def test_the_faults_bench_reports_recovery_times_and_finds_no_difference(
    stack: RunningStack,
) -> None:
    stack.wait_until(lambda: shared(stack))
    before = sum(stack.runtime.services[name].restarts for name in ("worker-1", "worker-2"))
    options = ("--yes", "--rounds", "2", "--freeze", "0.5", "--seed", "5")

    done = stack.cli("bench", "faults", *options, "--kinds", "kill,freeze", "--json")

    found = json.loads(done.stdout)
    after = sum(stack.runtime.services[name].restarts for name in ("worker-1", "worker-2"))
    assert found["faults"] == {"kill": 1, "freeze": 1}, done.stderr
    assert after > before
    assert found["fresh_s"]["kill"]["median"] > 0
    assert found["transactions"] > 0
    # Other tests of this stack may have left differences of their own.
    assert "FLT-" not in json.dumps(found["verify"]["differences"])
