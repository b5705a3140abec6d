"""All logic revisions that this stack knows, with their workers and the lag of these workers."""

import re
from dataclasses import dataclass
from typing import Final

from cdc.capture.admin import admin_client
from cdc.contracts.topics import application_id, output_topics
from cdc.settings import Connections
from deploy.revisions import progress, shadow
from deploy.revisions.promote import active
from deploy.stack.home import Home
from deploy.stack.runtime import read_runtime
from inventory.revision import CHANGES, LOGIC_REVISION

_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Revision:
    """One logic revision. `records_behind` is None while the revision has no topics.

    `changes` is a text about the results that differ from those of the previous revision. It is
    empty for a revision that this code doesn't know.
    """

    revision: int
    decides: bool
    workers: str
    records_behind: int | None
    group: str
    outputs: str
    changes: str


def known_revisions(home: Home, settings: Connections) -> list[Revision]:
    """Return every revision that has topics on the broker, or that is a shadow of this stack."""
    topics = admin_client(settings.kafka_bootstrap).list_topics(timeout=_TIMEOUT_S).topics
    changelog = re.compile(re.escape(output_topics(1).on_hand_changelog).replace("v1", r"v(\d+)"))
    started = {int(found[1]) for name in topics if (found := changelog.fullmatch(name))}
    beside = shadow.shadows(home)
    decides = active(settings)
    barrier = progress.ends(settings)
    rows: list[Revision] = []
    for number in sorted(started | beside.keys()):
        reached = progress.reached(settings, number) if number in started else {}
        rows.append(
            Revision(
                revision=number,
                decides=number == decides,
                workers=_workers(number, beside),
                records_behind=progress.behind(reached, barrier) if reached else None,
                group=application_id(number),
                outputs=output_topics(number).reorder_events,
                changes=CHANGES.get(number, ""),
            )
        )
    return rows


def _workers(number: int, beside: dict[int, Home]) -> str:
    if number == LOGIC_REVISION:
        return "of this stack"
    # A published revision has a directory before its first start.
    if number not in beside or not beside[number].runtime_file.exists():
        return "none here"
    runtime = read_runtime(beside[number])
    return f"shadow {runtime.phase}" if runtime.running else "shadow down"
