"""Topics that were made just now: whoever asks for their ends next gets an answer."""

import uuid

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from cdc.capture.admin import admin_client, create_topics, delete_topics
from cdc.contracts.topics import Topic
from tests.stack.running import RunningStack

ROUNDS = 5


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
