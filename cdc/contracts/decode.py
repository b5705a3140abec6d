"""Decoder from the bytes of one `stock.events` record to a `Record` for the rules.

Only a record without identity is refused here (domain.md 11.2: `malformed`). Everything else is
passed on unchanged, wrong column types included. The fold judges it, so that live workers and
recomputations give the same reason. Timestamps become integer microseconds without passing through
a float.
"""

from datetime import datetime
from typing import Final

from cdc.contracts.envelope import Malformed, parse_envelope
from cdc.contracts.times import us_of
from inventory.errors import short_text
from inventory.model.record import Record
from inventory.tables.catalogue import CAPTURED

__all__ = ["TIMESTAMP_COLUMNS", "Malformed", "decode", "timestamp_us"]

_PLAIN_LENGTH = len("2026-11-21T02:48:05Z")
_LONGEST = len("2026-11-21T02:48:05.032085Z")

# timestamptz columns of domain.md 2.6. `due_on` is a date that no rule reads and stays text.
TIMESTAMP_COLUMNS: Final = {table.name: table.times for table in CAPTURED}


def decode(key: bytes | None, value: bytes | None, *, offset: int) -> Record:
    """Return the record with this key and value.

    A missing key becomes "". Bytes that are not UTF-8 become lone surrogates. Neither is a key of
    domain.md 0, so the fold rejects both as `key_mismatch`.

    Raises:
        Malformed: no identity can be formed from `value`.
    """
    envelope = parse_envelope(value)
    columns = TIMESTAMP_COLUMNS.get(envelope.table, ())
    # Positional arguments, because keywords cost a third more.
    return Record(
        offset,
        "" if key is None else key.decode("utf-8", "surrogateescape"),
        envelope.table,
        envelope.op,
        _with_integer_times(envelope.before, columns),
        _with_integer_times(envelope.after, columns),
        envelope.lsn,
        envelope.commit_us,
    )


def _with_integer_times(image: object, columns: tuple[str, ...]) -> object:
    """Return `image`, freshly parsed and not shared, with its times replaced in place."""
    if type(image) is dict:
        for column in columns:
            text = image.get(column)
            if text is not None:
                image[column] = timestamp_us(text)
    return image


def timestamp_us(text: object) -> int | str:
    """Return epoch microseconds of Debezium's ISO text, such as `2026-11-21T02:48:05.032085Z`.

    Any other value returns text, which the fold rejects as `limit`. A bare number becomes text too:
    its unit (seconds, milliseconds or microseconds) would be a guess.
    """
    if type(text) is not str:
        return f"not a timestamp: {short_text(text)}"
    if not _PLAIN_LENGTH <= len(text) <= _LONGEST or text[10] != "T" or text[-1] != "Z":
        return text
    try:
        return us_of(datetime.fromisoformat(text))
    except ValueError:
        return text
