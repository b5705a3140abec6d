"""The records of `stock.rejected` and `stock.late`.

A worker writes them in the transaction of the source record's chunk, because no later state can
produce them again (domain.md 4). Their id is the position of the source record. A record that is
written again has the same id, so consumers upsert.
"""

import json
from base64 import b64decode, b64encode
from typing import Any

from cdc.contracts.versions import built, document_of
from inventory.model.value import value

SCHEMA = 1
MOST_BYTES = 500_000  # largest part of a rejected value that is kept


@value
class Origin:
    """Position of a source record: generation of the source log, partition and offset."""

    generation: int
    partition: int
    offset: int

    @property
    def id(self) -> str:
        """Return `generation-partition-offset`, the same whenever the record is read again."""
        return f"{self.generation}-{self.partition}-{self.offset}"


@value
class Rejection:
    """A source record that had no effect, with its original bytes and the reason.

    `reason` is a code of domain.md 11.2. `topic` is the topic of the source record.
    """

    origin: Origin
    topic: str
    reason: str
    stage: str  # decode | fold
    detail: str
    key: bytes | None
    value: bytes | None
    logic_revision: int
    commit_us: int | None  # None if the bytes contain no commit time


@value
class Late:
    """The net sales of one source record in windows before the horizon (domain.md 3.2).

    No window row includes these units. On-hand follows the count rule as for any other sale
    (domain.md 2.4). Units and amounts are positive for sales and negative for returns.
    """

    origin: Origin
    inv_key: str
    units: int
    amount_minor: int
    reason: str
    commit_us: int


def truncated(content: bytes | None, detail: str) -> tuple[bytes | None, str]:
    """Return `content`, cut to `MOST_BYTES`, and the text `detail` for people.

    `content` is the value of a rejected record. If it was cut, the returned text also has its
    original length.
    """
    if content is None or len(content) <= MOST_BYTES:
        return content, detail
    detail = f"{detail} (first {MOST_BYTES} of {len(content)} bytes kept here)"
    return content[:MOST_BYTES], detail


def encode_rejection(rejection: Rejection) -> bytes:
    """Return the rejection as canonical JSON: names sorted, no blanks. The bytes are base64."""
    origin = rejection.origin
    return _dumps(
        {
            "schema": SCHEMA,
            "id": origin.id,
            "generation": origin.generation,
            "partition": origin.partition,
            "offset": origin.offset,
            "topic": rejection.topic,
            "reason": rejection.reason,
            "stage": rejection.stage,
            "detail": rejection.detail,
            "key_base64": _base64(rejection.key),
            "value_base64": _base64(rejection.value),
            "logic_revision": rejection.logic_revision,
            "commit_us": rejection.commit_us,
        }
    )


def decode_rejection(payload: bytes) -> Rejection:
    """Return the rejection that `encode_rejection` wrote.

    Raises:
        UnreadableRecord: the payload has another version, or is no rejection.
    """
    return built("stock_rejected", document_of("stock_rejected", payload), _rejection)


def _rejection(row: dict[str, Any]) -> Rejection:
    return Rejection(
        origin=Origin(row["generation"], row["partition"], row["offset"]),
        topic=row["topic"],
        reason=row["reason"],
        stage=row["stage"],
        detail=row["detail"],
        key=_bytes(row["key_base64"]),
        value=_bytes(row["value_base64"]),
        logic_revision=row["logic_revision"],
        commit_us=row["commit_us"],
    )


def encode_late(late: Late) -> bytes:
    """Return the late sale as canonical JSON: names sorted, no blanks."""
    origin = late.origin
    return _dumps(
        {
            "schema": SCHEMA,
            "id": origin.id,
            "inv_key": late.inv_key,
            "units": late.units,
            "amount_minor": late.amount_minor,
            "reason": late.reason,
            "position": position_json(origin),
            "commit_us": late.commit_us,
        }
    )


def decode_late(payload: bytes) -> Late:
    """Return the late sale that `encode_late` wrote.

    Raises:
        UnreadableRecord: the payload has another version, or is no late sale.
    """
    return built("stock_late", document_of("stock_late", payload), _late)


def _late(row: dict[str, Any]) -> Late:
    return Late(
        origin=origin_of(row["position"]),
        inv_key=row["inv_key"],
        units=row["units"],
        amount_minor=row["amount_minor"],
        reason=row["reason"],
        commit_us=row["commit_us"],
    )


def position_json(origin: Origin) -> dict[str, int]:
    """Return the position as a JSON object, the same in all record formats."""
    return {
        "generation": origin.generation,
        "partition": origin.partition,
        "offset": origin.offset,
    }


def origin_of(position: dict[str, int]) -> Origin:
    """Return the position that `position_json` wrote."""
    return Origin(position["generation"], position["partition"], position["offset"])


def _dumps(row: dict[str, object]) -> bytes:
    # `json` escapes lone surrogates of a broken key, so `encode` can't fail.
    return json.dumps(row, sort_keys=True, separators=(",", ":")).encode()


def _base64(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode("ascii")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text, validate=True)
