"""Publication of a backfill: a logic revision starts at the end of a run, without a replay.

The run has the state of every key. This module writes these states with the functions by which
workers write their changelogs. So the operator must use the code of that revision.

Nothing is overwritten. The changelogs must be empty, or have only records from an earlier,
interrupted publication of the same run. Otherwise the error names the reason.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from aiokafka.errors import KafkaError as ProducerError
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from analytics import kafka
from analytics.backfill.history import PartitionHistory
from analytics.backfill.lock import only_run
from analytics.backfill.plan import directory_of
from analytics.backfill.publish import Publishable, publishable
from analytics.backfill.run import runs_dir
from analytics.locks import exclusive
from cdc.capture.admin import admin_client, create_topics
from cdc.contracts.topic_ids import decode_topic_ids, topic_ids_document
from cdc.contracts.topics import APP_ID, STOCK_EVENTS, topics_of
from cdc.contracts.versions import UnreadableRecord
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.revisions import progress, shadow
from deploy.revisions.approval import refuse_other_review
from deploy.revisions.members import remaining_members, retry_while_young
from deploy.revisions.promote import active, connect
from deploy.stack.home import PROJECT, Home, write_json
from deploy.time_left import TimeLeft
from inventory.explain.formatting import counted_text
from inventory.revision import LOGIC_REVISION
from streams.engine.publication import SOURCES, Publication
from streams.engine.records import Fenced
from streams.engine.restore import CHANGELOGS
from streams.engine.transactions import PartitionProducers

MARK: Final = "publication.json"  # file of a run with the ids of the topics that it is published to
_LOCK: Final = "publishing.lock"
_WAIT_S: Final = 30.0
_LIST: Final = "inventory revision list"
_RETIRE: Final = f"inventory revision retire {LOGIC_REVISION} --delete"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PublishReport:
    """State of the changelogs after a publication.

    `partitions_written`, `keys` and `transactions` count what this call wrote. `next_offsets` is
    a map from partition to the offset at which workers continue.
    """

    run: str
    logic_revision: int
    partitions: int
    partitions_written: int
    keys: int
    transactions: int
    seconds: float
    next_offsets: Mapping[int, int]

    def as_json(self) -> dict[str, Any]:
        """Return the report for scripts."""
        return asdict(self) | {"seconds": round(self.seconds, 3)}


def publish(
    settings: Connections, name: str, report: Progress, *, with_reviews: bool = True
) -> PublishReport:
    """Write the run `name` into the changelogs of this code's revision. Return their state.

    After an interruption, another call writes the missing partitions. `with_reviews` is False if
    there is no Postgres, and so no review of other rules.

    Raises:
        UnknownRun: there is no such run.
        RunInUse: another process computes, publishes or discards the run.
        NotPublishable: the run is unfinished, of other rules, or of another log.
        StackError: workers of the revision run, other rules have written its state, or its
        changelogs have other records.
    """
    began = time.monotonic()
    directory = directory_of(runs_dir(settings), name)
    with only_run(directory), _only_publication(directory.parent):
        found = publishable(settings, directory.name)
        refuse_workers(settings)
        if with_reviews:
            with connect(settings) as connection:
                refuse_other_review(connection, LOGIC_REVISION, found.code)
        _refuse_other_rules(settings, found.code)
        create_topics(settings.kafka_bootstrap, topics_of(LOGIC_REVISION))
        retry_while_young(lambda: _have_records(settings))
        missing = _missing(settings, found)
        shadow.claim(Home(settings.home), LOGIC_REVISION, PROJECT, found.code)
        try:
            made = asyncio.run(_write(settings, missing, report))
        except (Fenced, ProducerError) as error:
            message = f"run {found.run} is published only in part: {error}"
            repair = f"inventory backfill publish {found.run}"
            raise StackError(message, repair=repair) from error
    reached = progress.reached(settings, LOGIC_REVISION)
    commit(settings.kafka_bootstrap, reached, report)
    return PublishReport(
        run=found.run,
        logic_revision=LOGIC_REVISION,
        partitions=len(found.histories),
        partitions_written=len(missing),
        keys=sum(one.keys for one in made),
        transactions=sum(one.transactions for one in made),
        seconds=time.monotonic() - began,
        next_offsets=reached,
    )


@contextmanager
def _only_publication(runs: Path) -> Iterator[None]:
    """Hold the lock for publications. Two publications at the same time could mix their states.

    Raises:
        StackError: another process holds the lock.
    """
    with exclusive(runs / _LOCK) as mine:
        if not mine:
            message = "another backfill is being published; this command changed nothing"
            raise StackError(message)
        yield


def refuse_workers(settings: Connections) -> None:
    """Raise `StackError` if workers of this code's revision run.

    They write the same changelogs.
    """
    members = remaining_members(settings.kafka_bootstrap, LOGIC_REVISION)
    if members:
        of_revision = f"of logic revision {LOGIC_REVISION}"
        run = counted_text(members, f"worker {of_revision} runs", f"workers {of_revision} run")
        message = f"{run}: end all of them first; nothing was published"
        raise _refused(settings, message, repair=_LIST)


def _refuse_other_rules(settings: Connections, code: str) -> None:
    """Raise `StackError` if other rules have written the state of this code's revision.

    This function records nothing, unlike `shadow.claim`.
    """
    try:
        shadow.refuse_other_rules(Home(settings.home), LOGIC_REVISION, PROJECT, code)
    except shadow.OtherRules as error:
        raise _refused(settings, str(error), repair=error.repair) from error


def _refused(settings: Connections, message: str, *, repair: str) -> StackError:
    """Return the error with `message` and `repair`.

    If this code's revision decides, its workers and its state are needed. Then the message advises
    to publish another revision, and the repair is `_LIST`.
    """
    if active(settings) != LOGIC_REVISION:
        return StackError(message, repair=repair)
    meant = "to publish another revision, name its source tree with --code"
    message = f"{message}; logic revision {LOGIC_REVISION} decides here; {meant}"
    return StackError(message, repair=_LIST)


def _missing(settings: Connections, found: Publishable) -> list[PartitionHistory]:
    """Return the partitions that are not published yet.

    Also write the ids of the changelogs into the file `MARK` of the run. If the file already had
    these ids, an earlier attempt has begun to fill the changelogs.

    Raises:
        StackError: the changelogs have progress or records that this run did not write.
    """
    whole = progress.reached(settings, LOGIC_REVISION, tail=sys.maxsize)
    ids = {topic: kafka.topic_id(settings.kafka_bootstrap, topic) for topic in CHANGELOGS}
    mark = found.directory / MARK
    is_begun = _marked(mark) == ids
    ends = {history.number: history.end for history in found.histories}
    # A publication writes the progress of a partition only at the end of the run. Progress before
    # this end isn't from this run. Progress after it is from workers that have continued there.
    own = {number: at for number, at in whole.items() if 0 < at < ends.get(number, 0)}
    if not is_begun:
        own = {number: at for number, at in whole.items() if at > 0}
    if own:
        message = (
            f"logic revision {LOGIC_REVISION} has its own state already, next offsets by "
            f"partition: {own}; nothing was published"
        )
        raise _refused(settings, message, repair=_RETIRE)
    if not is_begun and _have_records(settings):
        message = (
            f"changelogs of logic revision {LOGIC_REVISION} hold records that {found.run} didn't "
            "write; nothing was published"
        )
        raise _refused(settings, message, repair=_RETIRE)
    write_json(mark, topic_ids_document(ids))
    return [history for history in found.histories if whole[history.number] < history.end]


def _have_records(settings: Connections) -> bool:
    ends = (
        kafka.end_offsets(settings.kafka_bootstrap, topic, settings.partitions)
        for topic in CHANGELOGS
    )
    return any(any(end.values()) for end in ends)


def _marked(mark: Path) -> Mapping[str, str] | None:
    """Return the topic ids in the file `mark`, None if there was no earlier attempt.

    Raises:
        UnreadableRecord: the file is damaged, or another release has written it.
    """
    if not mark.exists():
        return None
    try:
        return decode_topic_ids(mark.read_bytes())
    except UnreadableRecord as error:
        raise type(error)(error.problem, str(mark)) from error


async def _write(
    settings: Connections, histories: Sequence[PartitionHistory], report: Progress
) -> list[Publication]:
    """Write the states of all partitions, and then the progress of each. Return the publications.

    A partition is complete when its progress is written. By this order, no partition is complete
    before the states of all partitions are written.
    """
    ids = {topic: kafka.topic_id(settings.kafka_bootstrap, topic) for topic in SOURCES}
    producers = PartitionProducers(settings.kafka_bootstrap, APP_ID)
    try:
        await producers.own(history.number for history in histories)
        made = [Publication(history, producers, ids) for history in histories]
        for one in made:
            await one.begin()
        left = TimeLeft((0, time.monotonic()))
        for number, one in enumerate(made, 1):
            await one.write()
            after = left.text(number, len(made), time.monotonic())
            done = f"{number} of {counted_text(len(made), 'partition')}"
            report(f"{done}: {counted_text(one.keys, 'key')}{after}")
        for one in made:
            await one.write_progress()
    finally:
        await producers.close()
    return made


def commit(bootstrap: str, reached: Mapping[int, int], report: Progress) -> None:
    """Set the committed offsets of the workers' group to `reached`.

    Without these offsets, workers would first read from offset 0. If workers have joined the group
    meanwhile, they commit offsets themselves, and the broker refuses this change. An error is only
    reported, because the publication is complete already.
    """
    places = [TopicPartition(STOCK_EVENTS, number, at) for number, at in reached.items() if at > 0]
    if not places:
        return
    try:
        retry_while_young(lambda: _give_offsets(bootstrap, places))
    except KafkaException as error:
        reason = error.args[0].str()
        report(f"the run is published; the offsets of group {APP_ID} stay unchanged: {reason}")


def _give_offsets(bootstrap: str, places: list[TopicPartition]) -> None:
    client = admin_client(bootstrap)
    request = [ConsumerGroupTopicPartitions(APP_ID, places)]
    answer = client.alter_consumer_group_offsets(request, request_timeout=_WAIT_S)[APP_ID]
    for place in answer.result(_WAIT_S).topic_partitions or ():
        if place.error is not None:
            raise KafkaException(place.error)
