"""Functions that create, check and delete topics and consumer groups.

`cdc.contracts.topics` defines the topics' settings. Create all topics before you register the
connector. One missing topic blocks Connect's producer for ever, so no topic gets records.
"""

import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from cdc.contracts.topics import TOPICS, Topic

_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 0.1
_LATER_S: Final = 2.0
_NO_COORDINATOR: Final = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
# Errors that end by themselves. The broker publishes a new leader of a partition before that leader
# has taken the partition over. Until then, requests for the partition get one of these errors.
_NO_LEADER: Final = (
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
_ALREADY_DELETED: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.GROUP_ID_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference between a topic in the broker and its definition in `cdc.contracts.topics`.

    `setting` is the name of the setting that differs. It is "partitions" if the number of
    partitions differs, and "topic" if the topic is missing.
    """

    topic: str
    setting: str
    expected: str
    found: str


def admin_client(bootstrap: str) -> AdminClient:
    """Return an admin client that doesn't log the connection errors of a starting broker."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def topic_ids(client: AdminClient, topics: Collection[str], *, timeout_s: float) -> dict[str, str]:
    """Return the broker's ids of those `topics` that exist, by topic name.

    A topic that was deleted and created again has another id.

    Raises:
        KafkaException: the broker doesn't answer within `timeout_s`, or answers with an error.
    """
    found: dict[str, str] = {}
    answers = client.describe_topics(TopicCollection(list(topics)), request_timeout=timeout_s)
    for topic, answer in answers.items():
        try:
            # Wait 2 s longer than the client, because the client's own error names the cause.
            found[topic] = str(answer.result(timeout_s + _LATER_S).topic_id)
        except TimeoutError as error:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from error  # noqa: SLF001 -- published under this name only
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


def committed_offsets(
    bootstrap: str, group: str, topic: str, partitions: Collection[int], *, timeout_s: float
) -> dict[int, int]:
    """Return the group's committed offsets by partition, without partitions that have none.

    In the first seconds after a broker's start, the group may have no coordinator. The request is
    then repeated for up to `timeout_s` seconds. A consumer sends the request, because librdkafka's
    admin client would crash the process (SIGSEGV, librdkafka issue 5040).

    Raises:
        KafkaException: the broker doesn't answer in time, or answers with an error.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return _committed_offsets(bootstrap, group, topic, partitions, timeout_s)
        except KafkaException as error:
            if error.args[0].code() not in _NO_COORDINATOR or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_S)


def _committed_offsets(
    bootstrap: str, group: str, topic: str, partitions: Collection[int], timeout_s: float
) -> dict[int, int]:
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    try:
        tps = [TopicPartition(topic, number) for number in partitions]
        found = consumer.committed(tps, timeout=timeout_s)
    finally:
        consumer.close()
    for tp in found:
        if tp.error is not None:
            raise KafkaException(tp.error)
    return {tp.partition: tp.offset for tp in found if tp.offset >= 0}


def broker_answers(bootstrap: str, *, timeout_s: float = 2.0) -> bool:
    """Return True if a broker answers a metadata request."""
    try:
        return bool(admin_client(bootstrap).list_topics(timeout=timeout_s).brokers)
    except KafkaException:
        return False


def create_topics(
    bootstrap: str, topics: Iterable[Topic] = TOPICS, *, replication: int = 1
) -> tuple[str, ...]:
    """Create missing topics, correct existing topics' settings, and return the new topics' names.

    The broker confirms a creation before it lists the topic, and lists it before each partition has
    a leader. The function returns once the leaders of all created topics answer. It doesn't change
    the number of partitions of an existing topic.

    Raises:
        TimeoutError: after 30 s, a created topic is not listed or has a partition without a leader.
        KafkaException: the broker can't create a topic or change its settings.
    """
    client = admin_client(bootstrap)
    topics = tuple(topics)
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
    _wait_for_list(client, lambda listed: set(created) - listed, "are not listed", "creation")
    _wait_for_leaders(client, [topic for topic in topics if topic.name in created])
    _update_settings(client, [topic for topic in topics if topic.name not in created])
    return tuple(sorted(created))


def _update_settings(client: AdminClient, topics: Iterable[Topic]) -> None:
    """Correct every setting of an existing topic that differs from the topic's definition."""
    drifted = [
        ConfigResource(
            ResourceType.TOPIC,
            drift.topic,
            incremental_configs=[
                ConfigEntry(
                    drift.setting,
                    drift.expected,
                    incremental_operation=AlterConfigOpType.SET,
                )
            ],
        )
        for drift in _config_drift(client, topics)
    ]
    for resource in drifted:
        for future in client.incremental_alter_configs([resource]).values():
            future.result(timeout=_TIMEOUT_S)


def delete_topics(bootstrap: str, names: Iterable[str]) -> None:
    """Delete the topics `names`, if they exist. Return once the broker lists none of them.

    Raises:
        TimeoutError: a topic is still listed after 30 s.
    """
    wanted = list(names)
    client = admin_client(bootstrap)
    _wait_deleted(client.delete_topics(wanted, operation_timeout=_TIMEOUT_S).values())
    _wait_for_list(client, lambda listed: listed & set(wanted), "are still listed", "deletion")


def _wait_for_list(
    client: AdminClient, waiting: Callable[[set[str]], set[str]], state: str, change: str
) -> None:
    """Read the broker's list of topics again and again, until `waiting` returns an empty set.

    `waiting` gets the names of the listed topics. It returns the names of the topics for which
    this function still has to wait.

    Raises:
        TimeoutError: `waiting` still returns names after 30 s. The message contains `state` and
            `change`, for example "are still listed" and "deletion".
    """
    deadline = time.monotonic() + _TIMEOUT_S
    while names := waiting(set(client.list_topics(timeout=_TIMEOUT_S).topics)):
        if time.monotonic() > deadline:
            problem = f"topics {sorted(names)} {state} {_TIMEOUT_S:g} s after their {change}"
            raise TimeoutError(problem)
        time.sleep(_POLL_S)


def _wait_for_leaders(client: AdminClient, topics: Iterable[Topic]) -> None:
    """Return once the leader of each partition has answered a request for the end offset.

    Without this wait, a worker could start before a leader answers. The worker would then end, as
    if the broker were down.

    Raises:
        TimeoutError: a partition still has no leader after 30 s.
        KafkaException: the broker answers with another error.
    """
    waiting = [TopicPartition(t.name, number) for t in topics for number in range(t.partitions)]
    deadline = time.monotonic() + _TIMEOUT_S
    while waiting and (waiting := _without_leader(client, waiting)):
        if time.monotonic() > deadline:
            names = sorted(f"{tp.topic}[{tp.partition}]" for tp in waiting)
            problem = f"partitions {names} have no leader {_TIMEOUT_S:g} s after their creation"
            raise TimeoutError(problem)
        time.sleep(_POLL_S)


def _without_leader(client: AdminClient, tps: list[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions whose leader doesn't answer yet."""
    answers = client.list_offsets(
        dict.fromkeys(tps, OffsetSpec.latest()), request_timeout=_TIMEOUT_S
    )
    found = []
    for tp, answer in answers.items():
        try:
            answer.result(_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() not in _NO_LEADER:
                raise
            found.append(tp)
    return found


def delete_group(bootstrap: str, group: str, *, within_s: float = _TIMEOUT_S) -> None:
    """Delete a consumer group with its offsets, if it exists.

    A killed process remains a member until its session times out. The deletion is therefore
    repeated for `within_s` seconds while the group has members.

    Raises:
        KafkaException: the group still has members (NON_EMPTY_GROUP), or the broker can't delete
            it.
    """
    client = admin_client(bootstrap)  # without this name, Python frees the client before the answer
    deadline = time.monotonic() + within_s
    while True:
        try:
            _wait_deleted(client.delete_consumer_groups([group]).values())
        except KafkaException as error:
            has_members = error.args[0].code() == KafkaError.NON_EMPTY_GROUP
            if not has_members or time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(_POLL_S)


def _wait_deleted(futures: Iterable[Future[None]]) -> None:
    for future in futures:
        try:
            future.result(timeout=_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() not in _ALREADY_DELETED:
                raise


def topic_drift(bootstrap: str, topics: Iterable[Topic] = TOPICS) -> tuple[Drift, ...]:
    """Return every difference between the broker's topics and their definitions."""
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
