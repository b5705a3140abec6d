"""The steps of a history as records of `stock.events`, each with its expected verdict.

The verdicts come from the definition in docs/domain.md 4, applied to all records sent before. This
is slow, but independent of the dedupe ring, so it tests the ring.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson

from bench.simulation.history import HOUR_US, KEYS, PARTITIONS, SECOND_US, Step
from inventory.replenishment.families import MIN_MAX

Row = dict[str, Any]
Identity = tuple[str, int, int | None, str]

APPLIED: Final = "applied"
RESENT: Final = "resent"
MALFORMED: Final = "rejected:malformed"
BEFORE_HORIZON: Final = "rejected:before_dedupe_horizon"
SNAPSHOT_AFTER_START: Final = "rejected:snapshot_after_start"
_HORIZON_US: Final = 120 * SECOND_US
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US: Final = 1_780_000_000 * SECOND_US
_ON_ARRIVAL: Final = {"wrong_key": "rejected:key_mismatch", "zero": "rejected:limit"}
# Keys of garbage records, by the `units` of their step. Such a step has no other use for `units`.
_STRANGE_KEYS: Final[dict[int, bytes | None]] = {7: None, 8: b"\xff\xfe", 9: b""}
_POLICY: Final[Row] = {
    "status": "active",
    "clock_mode": "live",
    "replenish_family": MIN_MAX.code,
    "levels": "fixed",
    "reorder_point_units": 6,
    "order_up_to_units": 20,
    "cost_minor": 500,
    "supplier": "ACME",
}
# The floor is 750. At a price of 500 the rules propose a higher price when the next window closes.
_PRICED: Final[Row] = {
    "price_mode": "advise",
    "regular_minor": 999,
    "tax_bp": 2000,
    "margin_permille": 200,
    "ladder_permille": [150, 300],
    "endings": [49, 99],
}


class SentRecord(NamedTuple):
    """One record as the broker has it.

    `verdict` is None if it depends on the state of the key. `clock_us` is the time to which the
    record, if applied, moves the stream time of its key. `clock_us` is None for heartbeats and
    snapshot rows, which move no stream time.
    """

    number: int
    partition: int
    key: bytes | None
    value: bytes | None
    at_ms: int
    verdict: str | None
    clock_us: int | None = None


@dataclass(slots=True)
class _Seen:
    """Values of all earlier records of a partition, as the definition of idempotence needs them."""

    commits: dict[Identity, int] = field(default_factory=dict)
    newest_us: int | None = None
    highest_lsn: int | None = None
    streamed: bool = False

    def verdict_of(self, identity: Identity, *, lsn: int, commit_us: int) -> str:
        oldest_us = None if self.newest_us is None else self.newest_us - _HORIZON_US
        known_us = self.commits.get(identity)
        if known_us is not None and (
            not self.streamed or oldest_us is None or known_us >= oldest_us
        ):
            verdict = RESENT
        elif identity[3] == "r":
            verdict = SNAPSHOT_AFTER_START if self.streamed else APPLIED
        elif (
            oldest_us is not None
            and commit_us < oldest_us
            and self.highest_lsn is not None
            and lsn <= self.highest_lsn
        ):
            verdict = BEFORE_HORIZON
        else:
            verdict = APPLIED
        if verdict != RESENT:
            self.commits[identity] = commit_us
        self._move(identity, lsn=lsn, commit_us=commit_us)
        return verdict

    def _move(self, identity: Identity, *, lsn: int, commit_us: int) -> None:
        self.streamed = self.streamed or identity[3] != "r"
        self.newest_us = commit_us if self.newest_us is None else max(self.newest_us, commit_us)
        self.highest_lsn = lsn if self.highest_lsn is None else max(self.highest_lsn, lsn)


@dataclass(slots=True)
class _Change:
    """A sent change.

    `fate` is the verdict of the fold if the dedupe ring admits the change. It is None if the
    verdict depends on the state of the key.
    """

    key: str
    table: str
    op: str
    image: Row
    lsn: int
    commit_us: int
    fate: str | None

    @property
    def identity(self) -> Identity:
        lsn = None if self.op == "r" else self.lsn
        return self.table, self.image["id"], lsn, self.op

    def encoded(self) -> bytes:
        source = {"table": self.table, "lsn": self.lsn, "ts_us": self.commit_us}
        images = {"before": self.image, "after": None}
        if self.op != "d":
            images = {"before": self.image if self.op == "u" else None, "after": self.image}
        return orjson.dumps({**images, "source": source, "op": self.op})


class SourceWriter:
    """A writer that turns steps into records in the connector's format."""

    def __init__(self) -> None:
        self._now_us = _FIRST_US
        self._ids = itertools.count(1)
        self._lsns = itertools.count(1_000)
        self._seen = [_Seen() for _ in range(PARTITIONS)]
        self._changes: dict[int, _Change] = {}

    def write(self, step: Step) -> SentRecord | None:
        """Return the record of the step; None if the step refers to a step that was left out."""
        self._now_us += step.gap_us
        at_ms = self._now_us // 1000 + 5 + step.skew_ms
        if step.kind in ("garbage", "tombstone"):
            value = None if step.kind == "tombstone" else b"\x00not a change"
            key = _STRANGE_KEYS.get(step.units, KEYS[step.key].encode())
            return SentRecord(step.number, step.partition, key, value, at_ms, MALFORMED)
        change = self._change(step)
        if change is None:
            return None
        self._changes[step.number] = change
        verdict: str | None = self._seen[step.partition].verdict_of(
            change.identity, lsn=change.lsn, commit_us=change.commit_us
        )
        if verdict == APPLIED:
            verdict = change.fate
        is_clock = change.op != "r" and change.table != "pipeline_heartbeat"
        return SentRecord(
            step.number,
            step.partition,
            change.key.encode(),
            change.encoded(),
            at_ms,
            verdict,
            change.commit_us if is_clock else None,
        )

    def _change(self, step: Step) -> _Change | None:
        if step.kind == "resend":
            sent = self._changes.get(step.refers or 0)
            if sent is None or sent.op != "r":
                return sent
            # An interrupted snapshot starts again and reads the row with a later LSN and commit
            # time.
            return replace(sent, lsn=next(self._lsns), commit_us=self._now_us)
        if step.kind == "delete":
            gone = self._changes.get(step.refers or 0)
            if gone is None:
                return None
            return _Change(
                gone.key, gone.table, "d", gone.image, next(self._lsns), self._now_us, APPLIED
            )
        table, key, image, fate = self._row(step)
        op = "r" if step.kind.startswith("snapshot") else "u" if step.kind == "beat" else "c"
        return _Change(key, table, op, image, next(self._lsns), self._now_us, fate)

    def _row(self, step: Step) -> tuple[str, str, Row, str | None]:
        """Return table, topic key, image (the row), and the fold's verdict.

        The verdict counts if the dedupe ring admits the record. It is None if the state of the key
        decides.
        """
        key = KEYS[step.key]
        match step.kind:
            case "count" | "snapshot_count":
                image = self._image(key, units=step.units * 2, kind="cycle", status="approved")
                return "stock_count", key, image, None  # the key's horizon decides
            case "range" | "snapshot_range":
                return "item_location", key, self._image(key, **_POLICY), APPLIED
            case "price_rule":
                return "item_location", key, self._image(key, **_POLICY, **_PRICED), APPLIED
            case "price":
                image = self._image(key, price_minor=500, floor_minor=0, kind="manual", step=0)
                image["effective_from"] = _iso(self._now_us - HOUR_US)
                return "price_change", key, image, APPLIED
            case "beat":
                beat_key = f"~heartbeat|{step.partition}"
                image = self._image(beat_key, beat=step.number)
                return "pipeline_heartbeat", beat_key, image, APPLIED
            case _:
                return self._line(step, key)

    def _line(self, step: Step, key: str) -> tuple[str, str, Row, str | None]:
        signs = {"return": -1, "zero": 0}
        ages_us = {"old_sale": step.units * 20 * HOUR_US}
        image = self._image(
            key,
            age_us=ages_us.get(step.kind, SECOND_US),
            quantity_units=signs.get(step.kind, 1) * step.units,
            amount_minor=signs.get(step.kind, 1) * step.units * 100,
            condition="resaleable",
            source="till",
            source_ref=str(step.number),
        )
        topic_key = "S9|Z" if step.kind == "wrong_key" else key
        return "sale_line", topic_key, image, _ON_ARRIVAL.get(step.kind, APPLIED)

    def _image(self, key: str, *, age_us: int = SECOND_US, **columns: object) -> Row:
        location, _, sku = key.partition("|")
        return {
            "id": next(self._ids),
            "inv_key": key,
            "location": location,
            "sku": sku,
            "recorded_at": _iso(self._now_us),
            "recorded_by": None,
            "occurred_at": _iso(self._now_us - age_us),
            **columns,
        }


def sent_records(steps: Iterable[Step]) -> tuple[SentRecord, ...]:
    """Return the records of all steps that have one, in the order in which they are sent."""
    writer = SourceWriter()
    sent = (writer.write(step) for step in steps)
    return tuple(record for record in sent if record is not None)


def _iso(at_us: int) -> str:
    """Return a time as the connector writes it."""
    moment = _EPOCH + timedelta(microseconds=at_us)
    return moment.replace(tzinfo=None).isoformat() + "Z"
