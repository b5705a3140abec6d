"""A check, before a worker joins the group, that no topic was deleted and created again.

A topic that was created again has the same name and settings and, after a while, the same offsets.
A state restored from it would lack records without any error. The broker's topic ids are therefore
stored in a file (`WorkerSettings.topics_file`), and a worker ends if an id has changed. If the file
is deleted, one check remains: a worker ends if the level changelog is empty although the group has
committed offsets.
"""

import json
import os
from pathlib import Path
from typing import Final

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from cdc.capture.admin import admin_client, committed_offsets
from cdc.contracts.topic_ids import decode_topic_ids, topic_ids_document
from cdc.contracts.topics import (
    APP_ID,
    ON_HAND_CHANGELOG,
    SALES_WINDOWS_CHANGELOG,
    STOCK_EVENTS,
)
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from streams.engine.kafka_log import found_topics
from streams.engine.mismatch import (
    REPAIR,
    LogMismatch,
    refuse_other_counts,
    refuse_truncated_levels,
    repair_of_topic,
    repair_phrase,
)
from streams.engine.records import TopicIds

ORIGINS: Final = (STOCK_EVENTS, ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG)
_TIMEOUT_S: Final = 30.0


def refuse_other_topics(bootstrap: str, known: Path, partitions: int) -> TopicIds:
    """Compare the topics' ids with those in the file `known`. Store the ids there and return them.

    Raises:
        LogMismatch: a topic is missing or was created again, its number of partitions is not
            `partitions`, or the level changelog has lost records.
        KafkaException: the broker doesn't answer.
        UnknownVersion: another release has written the file.
        OSError: the file can't be written; its former content is unchanged.
    """
    client = admin_client(bootstrap)
    found = found_topics(client, ORIGINS)
    refuse_other_counts({name: topic.partitions for name, topic in found.items()}, partitions)
    ids = {name: topic.id for name, topic in found.items()}
    former = _read(known)
    refuse_recreated(former, ids)
    _refuse_lost_levels(client, bootstrap, partitions)
    if former != ids:
        _store(known, ids)
    return ids


def refuse_recreated(former: TopicIds, ids: TopicIds) -> None:
    """Raise `LogMismatch` if a topic's id differs from its id in `former`."""
    for topic, found in ids.items():
        if former.get(topic, found) != found:
            problem = (
                f"{topic} was deleted and recreated after this state was computed; "
                f"{repair_phrase(topic)}"
            )
            raise LogMismatch(problem, repair_of_topic(topic))


def _store(known: Path, ids: TopicIds) -> None:
    """Write the file under a temporary name and rename it.

    Without the renaming, a crash could leave an incomplete file. A reader would ignore that file
    and miss a recreated topic.
    """
    known.parent.mkdir(parents=True, exist_ok=True)
    unfinished = known.with_suffix(f".{os.getpid()}")  # workers share the directory
    try:
        unfinished.write_text(json.dumps(topic_ids_document(ids), indent=1), encoding="utf-8")
        unfinished.replace(known)
    finally:
        unfinished.unlink(missing_ok=True)


def _read(known: Path) -> TopicIds:
    """Return the ids in the file, or no ids if it is missing or unreadable.

    Raises:
        UnknownVersion: another release has written it.
    """
    try:
        return decode_topic_ids(known.read_bytes())
    except UnknownVersion as error:
        raise UnknownVersion(error.problem, str(known)) from error
    except (OSError, UnreadableRecord):
        return {}


def _refuse_lost_levels(client: AdminClient, bootstrap: str, partitions: int) -> None:
    """Raise `LogMismatch` if the level changelog was truncated, or lost all its records.

    An empty changelog has lost its records if the group has committed offsets, because a chunk's
    offsets are committed only after its levels are written.
    """
    levels = [TopicPartition(ON_HAND_CHANGELOG, number) for number in range(partitions)]
    for tp, first in _offsets(client, levels, OffsetSpec.earliest()).items():
        refuse_truncated_levels(tp, first)
    if any(_offsets(client, levels, OffsetSpec.latest()).values()):
        return
    asked = APP_ID, STOCK_EVENTS, range(partitions)
    found = committed_offsets(bootstrap, *asked, timeout_s=_TIMEOUT_S)
    committed = max(found.values(), default=0)
    if committed > 0:
        problem = (
            f"{ON_HAND_CHANGELOG} is empty, but {STOCK_EVENTS} was folded up to offset "
            f"{committed}; {REPAIR}"
        )
        raise LogMismatch(problem)


def _offsets(client: AdminClient, tps: list[TopicPartition], spec: OffsetSpec) -> dict[int, int]:
    answers = client.list_offsets(dict.fromkeys(tps, spec), request_timeout=_TIMEOUT_S)
    return {tp.partition: answer.result(_TIMEOUT_S).offset for tp, answer in answers.items()}
