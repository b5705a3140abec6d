"""Topics and brokers of the last second: whoever asks them next gets an answer."""

import subprocess
import sys
import uuid
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from cdc.capture.admin import admin_client, create_topics, delete_topics
from cdc.contracts.topics import Topic
from deploy.peers.environments import make
from deploy.peers.services import running
from tests.stack.running import RunningStack

ROUNDS = 5
PROCESSES = 6
LOOK = """
import sys
from pathlib import Path
from cdc.contracts.topics import PARTITIONS
from streams.worker.origins import refuse_other_topics
refuse_other_topics(sys.argv[1], Path(sys.argv[2]), PARTITIONS)
"""


def test_new_topics_have_a_leader_for_each_partition(stack: RunningStack) -> None:
    bootstrap = stack.settings.kafka_bootstrap
    made = [Topic(f"led.{uuid.uuid4().hex}") for _ in range(ROUNDS)]
    try:
        for topic in made:
            create_topics(bootstrap, [topic])
            client = admin_client(bootstrap)
            places = [TopicPartition(topic.name, n) for n in range(topic.partitions)]
            asked = client.list_offsets(dict.fromkeys(places, OffsetSpec.latest()))
            assert [answer.result(30).offset for answer in asked.values()] == [0] * len(places)
    finally:
        delete_topics(bootstrap, [topic.name for topic in made])


def test_a_broker_in_its_first_seconds_is_waited_for_by_all_who_ask_for_offsets(
    tmp_path: Path,
) -> None:
    """The admin client's question for a group ended half of the processes that asked so soon."""
    environments = make(["ours"], lambda _: None)
    with running(environments, with_postgres=False) as (services, _):
        create_topics(services.bootstrap)
        asking = [
            subprocess.Popen(  # noqa: S603 -- our own code
                [sys.executable, "-c", LOOK, services.bootstrap, str(tmp_path / f"{n}.json")]
            )
            for n in range(PROCESSES)
        ]
        assert [process.wait(120) for process in asking] == [0] * PROCESSES
