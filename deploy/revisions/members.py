"""Members of the consumer group of a logic revision. They are its workers, on any machine."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

from cdc.capture.admin import admin_client
from cdc.contracts.topics import application_id

_WAIT_S: Final = 30.0
_SESSION_S: Final = 10.0
_POLL_S: Final = 0.2
_YOUNG: Final = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)

T = TypeVar("T")


def remaining_members(bootstrap: str, revision: int) -> int:
    """Return the number of workers of the revision. Wait up to 10 s until it is 0.

    A worker that ended without leaving the group is a member until its session times out.
    """
    deadline = time.monotonic() + _SESSION_S
    while found := members(bootstrap, revision):
        if time.monotonic() > deadline:
            return found
        time.sleep(_POLL_S)
    return 0


def members(bootstrap: str, revision: int) -> int:
    """Return the number of members of the revision's consumer group, 0 if there is no group."""
    return retry_while_young(lambda: _members(bootstrap, application_id(revision)))


def retry_while_young(query: Callable[[], T]) -> T:
    """Return the result of `query`. Retry while a new topic or broker is not available yet.

    Raises:
        KafkaException: the query fails for another reason, or still fails after 30 s.
    """
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            return query()
        except KafkaException as error:
            if error.args[0].code() not in _YOUNG or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_S)


def _members(bootstrap: str, group: str) -> int:
    client = admin_client(bootstrap)
    asked = client.describe_consumer_groups([group], request_timeout=_WAIT_S)
    try:
        return len(asked[group].result(_WAIT_S).members)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise
        return 0
