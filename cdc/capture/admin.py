"""Creates the topics and says where existing ones differ from `cdc.contracts.topics`.

Connect's producer blocks for ever on a missing topic, also for the topics that exist, so this step
comes before the connector is registered.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from cdc.contracts.topics import TOPICS, Topic

_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Drift:
    """One setting of an existing topic that is not what the contract says."""

    topic: str
    setting: str
    expected: str
    found: str


def admin_client(bootstrap: str) -> AdminClient:
    """An admin client that keeps its connection complaints to itself while a broker starts."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def broker_answers(bootstrap: str, *, timeout_s: float = 2.0) -> bool:
    """Whether a broker gives its metadata."""
    try:
        return bool(admin_client(bootstrap).list_topics(timeout=timeout_s).brokers)
    except KafkaException:
        return False


def create_topics(
    bootstrap: str, topics: Iterable[Topic] = TOPICS, *, replication: int = 1
) -> tuple[str, ...]:
    """Create the topics that are missing; gives their names."""
    client = admin_client(bootstrap)
    wanted = [
        NewTopic(
            topic.name,
            num_partitions=topic.partitions,
            replication_factor=replication,
            config=topic.config,
        )
        for topic in topics
    ]
    created: list[str] = []
    for name, future in client.create_topics(wanted, operation_timeout=_TIMEOUT_S).items():
        try:
            future.result()
            created.append(name)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    return tuple(sorted(created))


def topic_drift(bootstrap: str, topics: Iterable[Topic] = TOPICS) -> tuple[Drift, ...]:
    """Every difference between the broker's topics and the contract, missing topics included."""
    client = admin_client(bootstrap)
    existing = client.list_topics(timeout=_TIMEOUT_S).topics
    found: list[Drift] = []
    present: list[Topic] = []
    for topic in topics:
        if topic.name not in existing:
            found.append(Drift(topic.name, "topic", "exists", "missing"))
            continue
        present.append(topic)
        count = len(existing[topic.name].partitions)
        if count != topic.partitions:
            found.append(Drift(topic.name, "partitions", str(topic.partitions), str(count)))
    return (*found, *_config_drift(client, present))


def _config_drift(client: AdminClient, topics: Iterable[Topic]) -> tuple[Drift, ...]:
    by_name = {topic.name: topic for topic in topics}
    if not by_name:
        return ()
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in by_name]
    found: list[Drift] = []
    for resource, future in client.describe_configs(resources).items():
        settings = future.result(timeout=_TIMEOUT_S)
        for setting, expected in by_name[resource.name].config.items():
            value = settings[setting].value
            if set(value.split(",")) != set(expected.split(",")):
                found.append(Drift(resource.name, setting, expected, value))
    return tuple(found)
