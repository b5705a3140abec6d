"""Refuse to publish a run that is partial, or whose rules or log differ from the present ones."""

import time
from typing import Final

from analytics import kafka
from analytics.archive.manifest import Manifest
from analytics.backfill.plan import (
    Plan,
    partial_text,
)
from analytics.damage import Damage
from analytics.engines.code import code_hash, uncommitted
from cdc.contracts.topics import STOCK_EVENTS
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION

KEPT: Final = "nothing was published"
STEP: Final = (
    "correct archive or rules if they are wrong, then compute a run with `inventory backfill run`"
)
TAIL_WAIT_S: Final = 3.0  # an archiver writes the head some milliseconds after a manifest line
_POLL_S: Final = 0.1
_COMPLETE: Final = "compute a complete run: `inventory backfill run`"
_NAMED: Final = 3  # number of files listed in a message about uncommitted files


class NotPublishable(Damage, ValueError):
    """The run is unfinished or partial, or its rules or log differ from the present ones."""

    def __init__(self, problem: str, kept: str = KEPT, step: str = STEP) -> None:
        super().__init__(problem, kept, step)


def refuse_tail(archive: Manifest, tail_wait_s: float) -> None:
    """Raise `NotPublishable` if the manifest ends with bytes that its head file doesn't cover.

    A running archiver replaces the head soon, so wait up to `tail_wait_s` seconds.
    """
    deadline = time.monotonic() + tail_wait_s
    while archive.behind_head():
        if time.monotonic() > deadline:
            tail = f"{archive.behind_head()} bytes that its head file doesn't cover"
            problem = f"{archive.path} ends with {tail}"
            step = "run `inventory up`: its archiver removes these bytes"
            raise NotPublishable(problem, step=step)
        time.sleep(_POLL_S)
        archive.refresh()


def refuse_part(plan: Plan) -> None:
    """Raise `NotPublishable` for a run of only some keys, or of only some records.

    A publication fills the workers' topics. These topics must hold every key, and the windows and
    rejected records of the complete history.
    """
    if plan.base is not None:
        raise NotPublishable(partial_text(plan), step=f"{_COMPLETE} without --from")
    if not plan.selection.is_all:
        problem = f"run {plan.run} holds {plan.selection.text()} only"
        raise NotPublishable(problem, step=f"{_COMPLETE} without a filter")


def refuse_other_rules(plan: Plan) -> None:
    """Raise `NotPublishable` unless the run was computed by this code's committed rules."""
    if plan.logic_revision != LOGIC_REVISION:
        problem = (
            f"run {plan.run} has logic revision {plan.logic_revision}, but this code has "
            f"{LOGIC_REVISION}: name the source tree of the other revision with --code"
        )
        raise NotPublishable(problem)
    if plan.code != code_hash():
        problem = (
            f"run {plan.run} was computed by rules with the hash {plan.code}, but the rules here "
            f"have the hash {code_hash()}"
        )
        raise NotPublishable(problem)
    changed = uncommitted()
    if changed:
        names = ", ".join(changed[:_NAMED]) + (", …" if len(changed) > _NAMED else "")
        problem = f"the rules have uncommitted changes, so no run can be published: {names}"
        raise NotPublishable(problem)


def refuse_other_log(settings: Connections, plan: Plan) -> None:
    """Raise `NotPublishable` unless the broker still has every record that the run read."""
    topic = settings.kafka_bootstrap, STOCK_EVENTS
    topic_id = kafka.topic_id(*topic)
    if topic_id != plan.source_topic_id:
        problem = (
            f"run {plan.run} read the {STOCK_EVENTS} with id {plan.source_topic_id}, but the "
            f"broker's topic has id {topic_id}: the topic was deleted and recreated"
        )
        raise NotPublishable(problem)
    first = kafka.start_offsets(*topic, settings.partitions)
    last = kafka.end_offsets(*topic, settings.partitions)
    for number, end in plan.ends.items():
        if first[number] > 0 or last[number] < end:
            problem = (
                f"{STOCK_EVENTS}[{number}] holds offsets {first[number]} to {last[number]}, "
                f"but run {plan.run} was computed from offsets 0 to {end}"
            )
            raise NotPublishable(problem)
