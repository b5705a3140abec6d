"""The effects of one chunk: the records that its fold causes.

`Effects` collects them while the chunk is folded. `Writer` then encodes them into Kafka records.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cdc.contracts.decisions import (
    DecisionContext,
    PriceEvent,
    ReorderEvent,
    encode_price,
    encode_reorder,
)
from cdc.contracts.progress import (
    BEAT_HEADER,
    Beat,
    Progress,
    encode_beat,
    progress_headers,
)
from cdc.contracts.rejects import Late, Origin, Rejection, encode_late, encode_rejection
from cdc.contracts.retained import HEADER as RETAINED_HEADER
from cdc.contracts.retained import encode_retained
from cdc.contracts.state import encode_changed, encode_window, window_key
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    PRICE_EVENTS,
    REORDER_EVENTS,
    SALES_WINDOWS_CHANGELOG,
    STOCK_LATE,
    STOCK_REJECTED,
)
from inventory.model.ids import InvKey
from inventory.model.outputs import Output, PriceOutput, ReorderOutput
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION
from streams.engine.records import Send, Stage


@dataclass(slots=True)
class Effects:
    """The effects of a chunk (records that are folded together) on one partition.

    - `rows` has each key whose level (state record) must be written. It maps the key to the starts
      of its changed window rows.
    - `decisions` maps the id of a need or price proposal to a pair: its last revision, and the
      key's state after that revision.
    - `beats` maps the key of a heartbeat to the newest heartbeat.
    - `expired` has the window rows that changed and then expired. It maps (key, start) to the last
      record of the row.
    - `applied`, `resent`, `replayed` and `undecodable` count the chunk's records.
    """

    rows: dict[InvKey, set[int]] = field(default_factory=dict)
    decisions: dict[str, tuple[Output, KeyState]] = field(default_factory=dict)
    lates: list[Late] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    beats: dict[InvKey, Beat] = field(default_factory=dict)
    expired: dict[tuple[InvKey, int], bytes] = field(default_factory=dict)
    applied: int = 0
    resent: int = 0
    replayed: int = 0
    undecodable: int = 0

    def add_changed(self, key: InvKey, rows: Iterable[int]) -> None:
        """Add a changed key: its level (state record) and the window rows that start at `rows`.

        The writer sends the level and these rows.
        """
        known = self.rows.get(key)
        if known is None:
            self.rows[key] = set(rows)
        else:
            known.update(rows)

    def keep_expired(self, before: KeyState, rows: Iterable[int]) -> None:
        """Store the last record of those window rows in `rows` that this chunk has changed.

        `rows` are the starts of rows that expire with the next state. `before` is the last state
        that has them. The read model keeps expired rows, so it must get their last content.
        """
        changed = self.rows.get(before.key, ())
        for start in rows:
            if start in changed and start in before.windows:
                content = encode_window(before.key, before.windows[start], before.position)
                self.expired[before.key, start] = content

    def add_decisions(self, outputs: Iterable[Output], state: KeyState) -> None:
        """Add the decisions that one record caused. `state` is the key's state after the record.

        A later revision of a need or price proposal replaces an earlier one.
        """
        for output in outputs:
            self.decisions[output.id] = (output, state)

    def add_resend(self, state: KeyState) -> None:
        """Add a key's present level, all its window rows and its last decisions.

        The writer sends all of them again, because a consumer may have missed them.
        """
        self.add_changed(state.key, state.windows)
        for output in (state.episode.last_output, state.price_episode.last_output):
            if output is not None:
                self.decisions.setdefault(output.id, (output, state))


class ChangedKey(NamedTuple):
    """The changelog records of one key: its level (state record) and its changed window rows."""

    level: Send
    windows: list[Send]


@dataclass(slots=True)
class Writer:
    """An encoder of a chunk's effects into the Kafka records of one partition.

    `generation` is the number of the source log.
    """

    generation: int
    partition: int

    def stages(
        self, effects: Effects, states: dict[InvKey, KeyState], progress: Progress
    ) -> list[Stage]:
        """Return the records of a chunk as `staged` does, but encode all keys without a pause."""
        return self.staged(effects, list(self.changed_keys(effects, states)), progress)

    def staged(
        self, effects: Effects, changed: Iterable[ChangedKey], progress: Progress
    ) -> list[Stage]:
        """Return the records of a chunk in up to three stages. A stage without records is left out.

        1. Rejected records and late sales.
        2. Levels (the states of changed keys). The last one has `progress` in its headers.
        3. Window rows and decisions.

        No record may become visible before those of an earlier stage (domain.md 4).
        """
        refusals = [*self._rejections(effects), *self._lates(effects)]
        levels, windows = _changelogs(effects, changed)
        if levels:
            last = levels[-1]
            headers = (*last.headers, *progress_headers(progress))
            levels[-1] = Send(last.topic, last.key, last.value, headers)
        followers = [*windows, *self.decision_sends(effects.decisions.values(), progress)]
        return [stage for stage in (refusals, levels, followers) if stage]

    def decision_sends(
        self, decisions: Iterable[tuple[Output, KeyState]], progress: Progress
    ) -> Iterator[Send]:
        """Yield one record per decision (need or price), with the as-of time of `progress`."""
        for output, state in decisions:
            key = state.key
            at = DecisionContext(
                inv_key=key,
                origin=Origin(self.generation, self.partition, state.position.offset),
                as_of_us=progress.newest_commit_us or 0,
                logic_revision=LOGIC_REVISION,
            )
            yield _decision_send(output, state, at)

    def _rejections(self, effects: Effects) -> Iterator[Send]:
        for rejection in effects.rejections:
            yield Send(STOCK_REJECTED, rejection.key, encode_rejection(rejection))

    def _lates(self, effects: Effects) -> Iterator[Send]:
        for late in effects.lates:
            yield Send(STOCK_LATE, late.inv_key.encode(), encode_late(late))

    def changed_keys(
        self, effects: Effects, states: dict[InvKey, KeyState]
    ) -> Iterator[ChangedKey]:
        """Yield the changelog records of each changed key.

        This is most of the work of encoding a chunk, so callers may pause between two keys.
        """
        for key, rows in effects.rows.items():
            state = states[key]
            level, changed = encode_changed(state, [row for row in rows if row in state.windows])
            beat = effects.beats.get(key)
            headers = () if beat is None else ((BEAT_HEADER, encode_beat(beat)),)
            if len(changed) < len(state.windows):
                headers = (*headers, (RETAINED_HEADER, encode_retained(len(state.windows))))
            windows = [
                Send(SALES_WINDOWS_CHANGELOG, window_key(key, start), content)
                for start, content in changed.items()
            ]
            yield ChangedKey(Send(ON_HAND_CHANGELOG, key.encode(), level, headers), windows)


def _changelogs(effects: Effects, changed: Iterable[ChangedKey]) -> tuple[list[Send], list[Send]]:
    """Return the levels' records and the window rows' records. Expired window rows come first."""
    levels = []
    windows = [
        Send(SALES_WINDOWS_CHANGELOG, window_key(key, start), content)
        for (key, start), content in effects.expired.items()
    ]
    for each in changed:
        levels.append(each.level)
        windows += each.windows
    return levels, windows


def _decision_send(output: Output, state: KeyState, at: DecisionContext) -> Send:
    policy = state.policy
    match output:
        case ReorderOutput():
            supplier = None if policy is None else policy.supplier
            cost_minor = 0 if policy is None else policy.cost_minor
            event = ReorderEvent(output, supplier, cost_minor, at)
            return Send(REORDER_EVENTS, at.inv_key.encode(), encode_reorder(event))
        case PriceOutput():
            return Send(PRICE_EVENTS, at.inv_key.encode(), encode_price(PriceEvent(output, at)))
