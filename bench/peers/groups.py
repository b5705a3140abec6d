"""Consumer groups of the peers, and the offsets that they have committed."""

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from bench.peers.topics import clients_consumer, shared_admin, until


def forget_group(bootstrap: str, group: str) -> None:
    """Delete a consumer group once its members have left; a missing group is no error."""
    until(lambda: _forgotten(bootstrap, group), f"group {group} still has members")


def _forgotten(bootstrap: str, group: str) -> bool:
    try:
        shared_admin(bootstrap).delete_consumer_groups([group])[group].result(timeout=30)
    except KafkaException as error:
        return bool(error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND)
    return True


def wake_groups(bootstrap: str) -> None:
    """Make the broker create its topic of committed offsets.

    librdkafka 2.16 crashes a client that requests a group's offsets before that topic exists.
    """
    consumer = clients_consumer(bootstrap, "bench-peers")
    until(lambda: _coordinated(consumer), "there is no coordinator of groups")
    consumer.close()


def _coordinated(consumer: Consumer) -> bool:
    try:
        consumer.committed([TopicPartition("bench-peers", 0)], timeout=10)
    except KafkaException:
        return False
    return True


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """Return the committed offset of each partition that has one; {} if the group doesn't exist."""
    client = shared_admin(bootstrap)
    try:
        answer = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        places = answer[group].result(timeout=30).topic_partitions
    except KafkaException:
        return {}
    return {p.partition: p.offset for p in places if p.topic == topic and p.offset >= 0}


def step_back(bootstrap: str, group: str, topic: str) -> None:
    """Set each committed offset back by one, so that a restarted peer has records to process.

    Raises:
        BenchFailed: the group still has members after 90 s.
    """
    before = committed(bootstrap, group, topic)
    places = [TopicPartition(topic, number, max(0, at - 1)) for number, at in before.items()]
    request = ConsumerGroupTopicPartitions(group, places)
    until(lambda: _altered(shared_admin(bootstrap), request), f"group {group} still has members")


def _altered(client: AdminClient, request: ConsumerGroupTopicPartitions) -> bool:
    try:
        client.alter_consumer_group_offsets([request])[request.group_id].result(timeout=30)
    except KafkaException:
        return False
    return True
