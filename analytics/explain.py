"""`inventory explain`: the facts of an item by business time, then the arithmetic of its numbers.

Facts come from Postgres, their offsets from the archive, the state from the worker that holds the
key. The lines are those of `inventory.explain`, which the item page shows, too. The split of stock
by cause, and the orders and transfers with open units, come from SQL functions (docs/domain.md
11.10).
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg

from analytics.explain_facts import (
    Facts,
    SourcedState,
    Step,
    read_decision,
    read_facts,
    read_state,
    why_unknown,
)
from analytics.explain_history import Revision, RowOffsets, history_of
from analytics.explain_text import revision_lines, section_lines, step_lines
from cdc.contracts.partition import partition_of
from cdc.contracts.times import us_of
from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.settings import Connections
from inventory.explain.key import Provenance
from inventory.explain.key import explain as lines_of
from inventory.explain.key import explain_at as lines_at
from inventory.explain.lines import Line, Section, gaps, with_actors
from inventory.explain.stock import stock_section
from inventory.model.price_timeline import in_force
from inventory.revision import LOGIC_REVISION

__all__ = ["Explanation", "Step", "UnknownItem", "explain"]


class UnknownItem(ValueError):
    """No fact and no state has this key, or the requested time is invalid."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The facts of a key by business time, and the lines of arithmetic that follow from them."""

    inv_key: str
    partition: int
    at: str | None
    steps: tuple[Step, ...]
    revisions: tuple[Revision, ...]
    sections: tuple[Section, ...]
    came_from: (
        str | None
    )  # source of the state: a worker, the read model, the archived log; else None

    @property
    def on_hand_units(self) -> int:
        """Return on-hand after the last fact, in units; 0 without facts."""
        return self.steps[-1].on_hand_units if self.steps else 0

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as a JSON object.

        `adds_up` is True if each sum line is the total of the step lines above it.
        """
        wrong = gaps(self.sections)
        return {
            "inv_key": self.inv_key,
            "partition": self.partition,
            "at": self.at,
            "on_hand_units": self.on_hand_units,
            "state_from": self.came_from,
            "adds_up": not wrong,
            "gaps": list(wrong),
            "terms": [_term(part, line) for part in self.sections for line in part.lines],
            "facts": [asdict(step) for step in self.steps],
            "window_revisions": [asdict(revision) for revision in self.revisions],
        }

    def as_text(self) -> str:
        """Return the explanation as text for a terminal."""
        at = "" if self.at is None else f", as of business time {self.at}"
        state = "" if self.came_from is None else f", state from the {self.came_from}"
        return "\n".join(
            [
                f"{self.inv_key} (partition {self.partition}{state}){at}",
                *step_lines(self.steps),
                *revision_lines(self.revisions),
                *section_lines(self.sections),
                *(f"does not add up: {gap}" for gap in gaps(self.sections)),
            ]
        )

    __str__ = as_text


def _term(section: Section, line: Line) -> dict[str, Any]:
    source = line.source
    return {
        "section": section.name,
        "name": line.name,
        "amount": line.amount,
        "part": line.part,
        "detail": line.detail,
        "table": None if source is None else source.table,
        "id": None if source is None else source.id,
        "actor": None if source is None else source.actor,
    }


def explain(
    sku: str, location: str, at: str | None = None, *, settings: Connections | None = None
) -> Explanation:
    """Return the explanation of one item, now or at a business time (ISO 8601, UTC).

    Raises:
        UnknownItem: nothing is known of the key, or `at` is not an ISO 8601 time.
    """
    known = settings or Connections()
    key = f"{location}|{sku}"
    until = _moment(at)
    number = partition_of(key.encode(), known.partitions)
    until_us = None if until is None else us_of(until)
    logged = history_of(known, key, number, until_us=until_us)
    with psycopg.connect(known.read_database_url.get_secret_value()) as connection:
        # One snapshot, so that facts, orders, transfers and read model are of the same moment.
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        facts = read_facts(connection, key, until, logged.row_offsets)
        if until_us is not None:
            found = None
            price = in_force(facts.prices, until_us)
            sections = lines_at(facts.stock, price, until_us, logged.state)
        else:
            found = read_state(connection, known, key, ON_HAND_CHANGELOG)
            sections = _sections(connection, facts, found, number, logged.row_offsets)
        if not (facts.steps or found or facts.policy):
            raise UnknownItem(why_unknown(connection, sku, location))
    origin = None if found is None else found.came_from
    if until_us is not None and logged.state is not None:
        origin = "archived log"
    named = with_actors(sections, facts.actors)
    # A window that starts after `at` has none of the shown facts.
    revisions = tuple(
        one for one in logged.revisions if until_us is None or one.start_us <= until_us
    )
    return Explanation(key, number, at, facts.steps, revisions, named, origin)


def _sections(
    connection: psycopg.Connection,
    facts: Facts,
    known: SourcedState | None,
    partition: int,
    row_offsets: RowOffsets,
) -> tuple[Section, ...]:
    if known is None:
        return (stock_section(None, facts.stock),)
    policy = facts.policy
    offsets = [] if policy is None else row_offsets.get((policy.table, policy.id), [])
    position = known.state.position.offset
    came_from = Provenance(
        partition=partition,
        logic_revision=LOGIC_REVISION,
        as_of_us=known.as_of_us,
        policy=policy,
        policy_row_offset=max((at for at in offsets if at <= position), default=None),
        decision=read_decision(connection, known.state),
    )
    return lines_of(known.state, facts.stock, came_from, has_windows=known.has_windows)


def _moment(at: str | None) -> datetime | None:
    if at is None:
        return None
    try:
        moment = datetime.fromisoformat(at)
    except ValueError as error:
        problem = f"--at {at!r}: expected ISO 8601, such as 2026-11-21T09:00:00Z"
        raise UnknownItem(problem) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
