"""A strict parser of Debezium change events.

It uses orjson, which is four times as fast as Python's `json`. orjson also refuses values that
`json` accepts: NaN, Infinity, lone surrogates, bytes that are not UTF-8. orjson returns an integer
beyond 64 bits as a float. The rules reject the float, because they accept integers only.
"""

from typing import Any

import orjson

from inventory.errors import short_text
from inventory.model.arithmetic import MAX_STORED
from inventory.model.value import value


class Malformed(ValueError):
    """Bytes that are no Debezium envelope with op, table and commit time (domain.md 11.2)."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@value
class Envelope:
    """The fields of a change event that the fold needs. The images are not checked yet.

    `commit_us` is `source.ts_us`, the commit time in µs since 1970 UTC.
    """

    table: str
    op: str
    before: object
    after: object
    lsn: int | None
    commit_us: int


def parse_envelope(payload: bytes | None) -> Envelope:
    """Return the envelope in `payload`.

    Raises:
        Malformed: `payload` is a tombstone or no JSON object. Or Connect's converter wrapped the
            envelope into `schema` and `payload`. Or the envelope lacks op, table or commit time,
            or has a wrong lsn.
    """
    if payload is None:
        detail = "tombstone: a record without value"
        raise Malformed(detail)
    try:
        parsed = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        detail = f"not JSON: {error}"
        raise Malformed(detail) from error
    if type(parsed) is not dict:
        detail = f"an envelope is a JSON object, got {type(parsed).__name__}"
        raise Malformed(detail)
    if "payload" in parsed and "schema" in parsed:
        detail = "envelope with schema and payload: the converter must have schemas.enable=false"
        raise Malformed(detail)
    return _envelope_of(parsed)


def _envelope_of(parsed: dict[str, Any]) -> Envelope:
    source = parsed.get("source")
    if type(source) is not dict:
        detail = f"source must be an object, got {short_text(source)}"
        raise Malformed(detail)
    op, table = parsed.get("op"), source.get("table")
    lsn, commit_us = source.get("lsn"), source.get("ts_us")
    if type(op) is not str or type(table) is not str:
        detail = f"op and source.table must be text, got {short_text(op)} and {short_text(table)}"
        raise Malformed(detail)
    if lsn is not None and (type(lsn) is not int or lsn < 0):
        detail = f"source.lsn must be an integer from 0 on, or null, got {short_text(lsn)}"
        raise Malformed(detail)
    if type(commit_us) is not int or not -MAX_STORED <= commit_us <= MAX_STORED:
        detail = f"source.ts_us must be an integer within ±(2^53 - 1), got {short_text(commit_us)}"
        raise Malformed(detail)
    return Envelope(table, op, parsed.get("before"), parsed.get("after"), lsn, commit_us)
