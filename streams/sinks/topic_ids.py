"""A check that no topic of a sink was deleted and created again.

A topic that was created again has the same name, and offsets from 0 on. Once it is longer than the
former topic, the broker answers at the sink's next offset without an error. The sink would then
skip the new topic's records before that offset. The ids that the broker gives to topics are
therefore stored with the sink's positions.
"""

from collections.abc import Mapping, Sequence

from confluent_kafka.admin import AdminClient

from cdc.capture.admin import topic_ids
from streams.exit_codes import ExitCode, repair_at_topic
from streams.sinks.source import SourceLost

# Time limit of the request. The stack restarts a sink after 15 s without a heartbeat.
TIMEOUT_S = 5.0


def checked_ids(
    client: AdminClient, topics: Sequence[str], stored: Mapping[str, str]
) -> dict[str, str]:
    """Compare the ids in `stored` with the broker's. Return the broker's ids of `topics`.

    A topic that `stored` lacks, or that doesn't exist in the broker, is not compared. `stored`
    lacks a topic if the sink has no position in it, or if an earlier release stored the position
    without an id.

    Raises:
        SourceLost: a topic was deleted and created again.
        KafkaException: the broker can't be reached, or answers with an error.
    """
    found = topic_ids(client, topics, timeout_s=TIMEOUT_S)
    for topic, topic_id in found.items():
        if stored.get(topic, topic_id) != topic_id:
            raise SourceLost(_problem(topic, stored[topic], topic_id), topic)
    return found


def _problem(topic: str, known: str, found: str) -> str:
    return (
        f"was deleted and recreated: its id is {found}, but the sink has read the topic {known}. "
        "Rows and positions in Postgres are kept. The topic no longer has the records that the "
        f"sink had not read: `{repair_at_topic(topic, ExitCode.LOG_MISMATCH)}` writes them again"
    )
