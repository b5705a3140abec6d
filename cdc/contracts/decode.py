"""The decoder of `stock.events`: from a record's bytes to a `Record` for the rules.

It refuses only bytes that are no Debezium envelope (domain.md 11.2: `malformed`). It returns all
other records, even with columns of a wrong type. The fold then rejects such a record with a reason,
so live workers and recomputations give the same reason. Timestamps become integer microseconds,
never floats.
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

    A missing key becomes "". Key bytes that are not UTF-8 become lone surrogates. Neither is a
    valid key (domain.md 0), so the fold rejects the record as `key_mismatch`.

    Raises:
        Malformed: `value` is no envelope; see `parse_envelope`.
    """
    envelope = parse_envelope(value)
    columns = TIMESTAMP_COLUMNS.get(envelope.table, ())
    # Positional arguments: with keyword arguments, this call takes a third more time.
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
    """Convert the times in `columns` of `image` by `timestamp_us`, in place. Return `image`."""
    if type(image) is dict:
        for column in columns:
            text = image.get(column)
            if text is not None:
                image[column] = timestamp_us(text)
    return image


def timestamp_us(text: object) -> int | str:
    """Return µs since 1970 UTC of Debezium's ISO text, such as `2026-11-21T02:48:05.032085Z`.

    For any other value return a text, which the fold rejects as `limit`. A number gives a text too,
    because its unit (seconds, milliseconds or microseconds) is unknown.
    """
    if type(text) is not str:
        return f"not a timestamp: {short_text(text)}"
    if not _PLAIN_LENGTH <= len(text) <= _LONGEST or text[10] != "T" or text[-1] != "Z":
        return text
    try:
        return us_of(datetime.fromisoformat(text))
    except ValueError:
        return text
