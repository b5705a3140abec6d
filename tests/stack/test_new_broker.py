"""Every client that requests offsets waits until a broker that has just started can answer."""

import subprocess
import sys

import pytest

from cdc.capture.admin import create_topics
from deploy.peers.environments import make
from deploy.peers.services import running

pytestmark = pytest.mark.soak

PROCESSES = 6
ASK = """
import sys
from cdc.capture.admin import committed_offsets
from cdc.contracts.topics import APP_ID, PARTITIONS, STOCK_EVENTS
assert committed_offsets(sys.argv[1], APP_ID, STOCK_EVENTS, range(PARTITIONS), timeout_s=60) == {}
"""


def test_clients_that_request_offsets_wait_until_a_new_broker_answers() -> None:
    """In the first seconds, the admin client's request for a group's offsets may fail."""
    environments = make(["ours"], lambda _: None)
    with running(environments, with_postgres=False) as (services, _):
        create_topics(services.bootstrap)
        asking = [
            subprocess.Popen([sys.executable, "-c", ASK, services.bootstrap])  # noqa: S603 -- our own code
            for _ in range(PROCESSES)
        ]
        assert [process.wait(120) for process in asking] == [0] * PROCESSES
