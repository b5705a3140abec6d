"""A worker on topics that another program changed.

The changes are gaps in the offsets, transactions, tombstones and more partitions. Uses a separate
broker and worker. Tests send the facts as Connect does, without heartbeats.
"""

import json
import shutil
import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import NewPartitions

from analytics.archive.complete import archive_until
from analytics.kafka import end_offsets
from cdc.capture.admin import admin_client
from cdc.contracts.partition import partition_of
from cdc.contracts.topics import APP_ID, ON_HAND_CHANGELOG, PARTITIONS, STOCK_EVENTS
from deploy.stack import service_commands
from deploy.stack.membership import leave
from deploy.stack.requested import read_requested, write_requested
from streams.exit_codes import ExitCode
from tests.stack.running import RunningStack, run_inventory, start
from tests.streams import facts

pytestmark = pytest.mark.soak

KEY = "S1|A"
PLACE = partition_of(KEY.encode())


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """A broker and one worker. No heartbeats run, so the tests' records are the last ones."""
    home = tmp_path_factory.mktemp("changed") / "home"
    try:
        yield start(home, "--workers", "1", "--only", "kafka,topics,worker-1")
    finally:
        run_inventory("down", home=home)


def sold(number: int) -> bytes:
    now_us = time.time_ns() // 1000
    image = facts.sale(id_=number, at_us=now_us, key=KEY)
    return facts.change("sale_line", after=image, lsn=number, commit_us=now_us)


def sell(own: RunningStack, *numbers: int) -> None:
    producer = Producer({"bootstrap.servers": own.settings.kafka_bootstrap, "acks": "all"})
    for number in numbers:
        producer.produce(STOCK_EVENTS, sold(number), KEY.encode(), partition=PLACE)
    assert producer.flush(60) == 0


def asked(own: RunningStack, path: str) -> Any:
    """Return the decoded JSON of the worker's answer, or None after an error."""
    headers = {"Authorization": f"Bearer {own.settings.query_token.get_secret_value()}"}
    try:
        answer = httpx.get(f"{own.runtime.services['worker-1'].url}{path}", headers=headers)
    except httpx.HTTPError:
        return None
    return answer.json() if answer.is_success else None


def wait_for(own: RunningStack, on_hand: int) -> None:
    def is_there() -> bool:
        found = asked(own, f"/iq/v1/store/on-hand/{KEY}")
        return found is not None and found["on_hand_units"] == on_hand

    own.wait_until(is_there, describe=lambda: own.runtime.services["worker-1"])


def restart(own: RunningStack) -> None:
    wanted = read_requested(own.home)
    assert wanted is not None
    write_requested(own.home, wanted.restarted("worker-1"))


def doctor(own: RunningStack) -> dict[str, str]:
    """Return the doctor's row about the workers."""
    rows = json.loads(own.cli("doctor", "--json").stdout)
    return dict(next(row for row in rows if row["name"] == "workers"))


def wait_for_halt(own: RunningStack, reason: str) -> dict[str, str]:
    """Wait until the worker has ended with `LOG_MISMATCH` and the doctor names `reason`.

    Return the doctor's row.
    """
    own.wait_until(
        lambda: own.runtime.services["worker-1"].last_exit == ExitCode.LOG_MISMATCH,
        describe=lambda: own.runtime.services["worker-1"],
    )

    def told() -> dict[str, str]:
        row = doctor(own)
        return row if reason in row["found"] else {}

    return own.wait_until(told)


def test_a_group_offset_set_to_the_end_skips_no_record(own: RunningStack) -> None:
    sell(own, 1, 2)
    wait_for(own, -2)
    crashes = own.runtime.services["worker-1"].restarts

    service_commands.pause(own.home)
    leave(own.settings.kafka_bootstrap, "worker-1")
    sell(own, 3, 4, 5)
    ends = end_offsets(own.settings.kafka_bootstrap, STOCK_EVENTS, PARTITIONS)
    places = [TopicPartition(STOCK_EVENTS, number, end) for number, end in ends.items()]
    admin = admin_client(own.settings.kafka_bootstrap)
    group = ConsumerGroupTopicPartitions(APP_ID, places)
    admin.alter_consumer_group_offsets([group])[APP_ID].result(30)
    service_commands.resume(own.home)

    wait_for(own, -5)
    assert own.runtime.services["worker-1"].restarts == crashes


def test_worker_and_archiver_skip_records_of_an_aborted_transaction(
    own: RunningStack,
) -> None:
    wait_for(own, -5)
    producer = Producer(
        {
            "bootstrap.servers": own.settings.kafka_bootstrap,
            "transactional.id": uuid.uuid4().hex,
        }
    )
    producer.init_transactions(60)

    producer.begin_transaction()
    producer.produce(STOCK_EVENTS, sold(6), KEY.encode(), partition=PLACE)
    producer.flush(60)
    producer.abort_transaction(60)
    ends = end_offsets(own.settings.kafka_bootstrap, STOCK_EVENTS, PARTITIONS)

    def is_past() -> bool:
        found = asked(own, "/iq/v1/partitions?scope=worker")
        places = {row["partition"]: row["next_offset"] for row in found["partitions"]}
        return bool(places[PLACE] == ends[PLACE])

    own.wait_until(is_past, describe=lambda: asked(own, "/iq/v1/lag"))
    manifest = archive_until(own.settings, ends, timeout_s=20)
    assert manifest.next_offset(PLACE) < ends[PLACE]
    wait_for(own, -5)
    sell(own, 7)
    wait_for(own, -6)


def test_a_tombstone_in_the_state_changelog_halts_a_worker(own: RunningStack) -> None:
    producer = Producer({"bootstrap.servers": own.settings.kafka_bootstrap, "acks": "all"})
    producer.produce(ON_HAND_CHANGELOG, None, KEY.encode(), partition=PLACE)
    assert producer.flush(60) == 0
    shutil.rmtree(own.home.path / "workers" / APP_ID / "worker-1")

    restart(own)
    told = wait_for_halt(own, "is a tombstone, which no worker writes")

    assert told["repair"] == "inventory workers rebuild --yes"


def test_a_source_topic_with_added_partitions_halts_a_worker(own: RunningStack) -> None:
    admin = admin_client(own.settings.kafka_bootstrap)
    for answer in admin.create_partitions([NewPartitions(STOCK_EVENTS, 13)]).values():
        answer.result(30)

    restart(own)
    told = wait_for_halt(own, "has 13 partitions")

    assert "inventory generation --yes" in told["repair"]
