"""Wait until workers have sent an open need again, which they do every minute.

A need that is sent again would replace a wrong proposal that the bench has planted. So the bench
plants the proposal soon after the need was sent.
"""

import time
from typing import Final

from analytics import kafka
from bench.verification.states import Target
from cdc.contracts.partition import partition_of
from cdc.contracts.topics import output_topics
from cdc.deciding import deciding_revision

_FRESH_S: Final = 20.0
_LONGEST_S: Final = 120.0
_POLL_S: Final = 1.0


def wait_repeated(target: Target, key: str) -> None:
    """Wait until the newest decision on the key is at most 20 s old, and all sinks have applied it.

    Workers send a decision again every 60 s, so the next copy comes in 40 s at the earliest. If no
    newer decision comes in 120 s, wait no longer for one.
    """
    deadline = time.monotonic() + _LONGEST_S
    while _age_s(target, key) > _FRESH_S and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    target.wait_until_now()


def _age_s(target: Target, key: str) -> float:
    """Return the age of the newest decision on the key in seconds, by its Kafka timestamp."""
    bootstrap, partitions = target.settings.kafka_bootstrap, target.settings.partitions
    with target.reading() as connection:
        topic = output_topics(deciding_revision(connection)).reorder_events
    number = partition_of(key.encode(), partitions)
    ends = kafka.end_offsets(bootstrap, topic, partitions)
    tail = kafka.Tail(bootstrap, topic, partitions)
    newest_ms = 0
    for message in tail.read_until({number: ends[number]}, deadline=time.monotonic() + _LONGEST_S):
        if message.error() is None and message.key() == key.encode():
            newest_ms = message.timestamp()[1]
    return time.time() - newest_ms / 1000
