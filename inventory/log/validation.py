"""The checks that turn a record into a change, in the order of the reason codes (domain.md 11.2).

These checks need no state. The fold makes the checks that need one, for example the check that a
count is not before the horizon.
"""

from typing import NoReturn

from inventory.errors import (
    BEFORE_DEDUPE_HORIZON,
    KEY_MISMATCH,
    MALFORMED,
    NO_AFTER_IMAGE,
    NO_BEFORE_IMAGE,
    PRICE_ROW_IMMUTABLE,
    SNAPSHOT_AFTER_START,
    UNKNOWN_OP,
    UNKNOWN_TABLE,
    Rejected,
    short_text,
)
from inventory.log.dedupe import Admission
from inventory.model.arithmetic import MAX_STORED
from inventory.model.fact import Fact
from inventory.model.record import Record
from inventory.model.value import value
from inventory.tables.captured import Parser
from inventory.tables.catalogue import PARSERS

HEARTBEAT_PREFIX = "~heartbeat|"
HEARTBEAT_TABLE = "pipeline_heartbeat"

_LOCATION_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_LONGEST_LOCATION = 24
_LONGEST_SKU = 32
_OPS = frozenset({"c", "u", "d", "r"})
_OPS_WITH_BEFORE = ("u", "d")


@value
class Change:
    """The operation of a checked record, and its row before and after the change."""

    op: str
    before: Fact | None
    after: Fact | None


def validate(record: Record, admission: Admission, *, is_known_key: bool) -> Change:
    """Return the change in `record`, with both row images checked and parsed.

    `admission` is the dedupe ring's verdict, any but `RESENT`. `is_known_key` is True if an earlier
    record with the same key was accepted. The pattern of the key is then not checked again, except
    for heartbeat keys.

    Raises:
        Rejected: with the first reason of domain.md 11.2 that applies.
    """
    parse = PARSERS.get(record.table)
    if parse is None or admission is not Admission.NEW or record.op not in _OPS:
        _refuse(record, admission)
    key, op = record.key, record.op
    before = _image(record, "before", record.before) if op in _OPS_WITH_BEFORE else None
    after = None if op == "d" else _image(record, "after", record.after)
    if not is_known_key or key.startswith(HEARTBEAT_PREFIX):
        _check_pattern(record.table, key)
    if before is not None:
        _check_key(key, before)
    if after is not None:
        _check_key(key, after)
    if before is None:
        return Change(op, None, None if after is None else parse(key, after))
    return _changed(record, parse, before, after)


def _changed(
    record: Record, parse: Parser, before: dict[str, object], after: dict[str, object] | None
) -> Change:
    """Return the change in a record with op `u` or `d`."""
    if after is not None and before["id"] != after["id"]:
        detail = f"id must not change, got {before['id']} and {after['id']}"
        raise Rejected(KEY_MISMATCH, detail)
    if record.table == "price_change":
        detail = f"price_change {record.op}: prices are added, never changed"
        raise Rejected(PRICE_ROW_IMMUTABLE, detail)
    old = parse(record.key, before)
    return Change(record.op, old, None if after is None else parse(record.key, after))


def _refuse(record: Record, admission: Admission) -> NoReturn:
    """Raise `Rejected`. The caller has found that admission, table or operation is invalid."""
    if admission is Admission.MALFORMED:
        raise Rejected(MALFORMED, _why_malformed(record))
    if admission is Admission.BEFORE_DEDUPE_HORIZON:
        detail = (
            f"commit time {record.commit_us} and lsn {record.lsn} are older than the dedupe ring"
        )
        raise Rejected(BEFORE_DEDUPE_HORIZON, detail)
    if record.table not in PARSERS:
        detail = f"table {record.table!r:.80} is not captured"
        raise Rejected(UNKNOWN_TABLE, detail)
    if record.op not in _OPS:
        detail = f"op must be c, u, d or r, got {record.op!r:.80}"
        raise Rejected(UNKNOWN_OP, detail)
    detail = "this snapshot row comes after the first change of the partition"
    raise Rejected(SNAPSHOT_AFTER_START, detail)


def _why_malformed(record: Record) -> str:
    if not -MAX_STORED <= record.commit_us <= MAX_STORED:
        return f"commit time must lie within ±(2^53 - 1), got {short_text(record.commit_us)}"
    return "no identity: images must be rows with an integer id, and a change needs an lsn"


def _image(record: Record, name: str, image: object) -> dict[str, object]:
    """Return an image that the operation requires, or raise `Rejected` if it is None.

    `image` is a row or None. For any other value, the dedupe ring gives the verdict `MALFORMED`,
    and `validate` rejects the record before it calls this function.
    """
    if isinstance(image, dict):
        return image
    detail = f"{record.table} {record.op}: {name} is missing"
    if name == "before":
        raise Rejected(NO_BEFORE_IMAGE, f"{detail}; is the replica identity FULL?")
    raise Rejected(NO_AFTER_IMAGE, detail)


def _check_pattern(table: str, key: str) -> None:
    """Reject a key that is not LOCATION|SKU, except a heartbeat's key on a heartbeat record."""
    if is_key(key) or (table == HEARTBEAT_TABLE and is_heartbeat_key(key)):
        return
    detail = f"key must be LOCATION|SKU, got {key!r:.80}"
    if is_heartbeat_key(key):
        detail = f"key {key!r:.80} belongs to {HEARTBEAT_TABLE}, got a record of {table}"
    raise Rejected(KEY_MISMATCH, detail)


def _check_key(key: str, image: dict[str, object]) -> None:
    location, _, sku = key.partition("|")
    if image.get("inv_key") != key or image.get("location") != location or image.get("sku") != sku:
        _check_image_key(image, (("inv_key", key), ("location", location), ("sku", sku)))


def _check_image_key(image: dict[str, object], wanted: tuple[tuple[str, str], ...]) -> None:
    for column, expected in wanted:
        found = image.get(column)
        if found is not None and found != expected:
            detail = f"{column} must be {expected!r:.80} as in the key, got {short_text(found)}"
            raise Rejected(KEY_MISMATCH, detail)


def is_key(key: str) -> bool:
    """Return True if `key` is LOCATION|SKU (domain.md 0).

    LOCATION has 1 to 24 characters of A-Z, 0-9 and `-`. SKU has 1 to 32 printable characters
    without `|`, and no blank at its ends.
    """
    location, bar, sku = key.partition("|")
    return (
        bar == "|"
        and 1 <= len(location) <= _LONGEST_LOCATION
        and _LOCATION_CHARACTERS.issuperset(location)
        and 1 <= len(sku) <= _LONGEST_SKU
        and "|" not in sku
        and sku.isprintable()
        and sku == sku.strip(" ")
    )


def is_heartbeat_key(key: str) -> bool:
    """Return True if `key` is the key of a partition's heartbeat row: ~heartbeat|n."""
    number = key.removeprefix(HEARTBEAT_PREFIX)
    return number != key and number.isascii() and number.isdigit()
