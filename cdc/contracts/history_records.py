"""The records of a history, read from its JSON lines."""

import json
from typing import Any, NoReturn

from inventory.errors import short_text
from inventory.model.record import Record

_FIELDS = frozenset({"offset", "table", "op", "key", "before", "after", "lsn", "commit_us"})


class HistoryError(ValueError):
    """A line of a history that is no record of the format. `line_number` counts from 1."""

    def __init__(self, line_number: int, reason: str) -> None:
        super().__init__(f"line {line_number}: {reason}")
        self.line_number = line_number
        self.reason = reason


def history_record(line_number: int, line: str) -> Record:
    """Return the record of one line of a history, which must be a JSON object.

    All fields are required except `before` and `after`. Only `before`, `after` and `lsn` may be
    null. The content of `before` and `after` is not checked. `line_number` appears in errors.

    Raises:
        HistoryError: the line is not a JSON object, has an unknown field, lacks a required field,
            or has a field of a wrong type.
    """
    parsed = _parsed(line_number, line)
    if type(parsed) is not dict:
        raise HistoryError(line_number, "a record must be a JSON object")
    unknown = sorted(parsed.keys() - _FIELDS)
    if unknown:
        raise HistoryError(line_number, "unknown field " + ", ".join(unknown))
    missing = sorted(_FIELDS - {"before", "after"} - parsed.keys())
    if missing:
        raise HistoryError(line_number, "missing field " + ", ".join(missing))
    for name, wanted in (("table", str), ("op", str), ("key", str)):
        if type(parsed[name]) is not wanted:
            raise HistoryError(
                line_number, f"{name} must be a text, got {short_text(parsed[name])}"
            )
    for name in ("offset", "lsn", "commit_us"):
        if type(parsed[name]) is not int and not (name == "lsn" and parsed[name] is None):
            raise HistoryError(
                line_number, f"{name} must be an integer, got {short_text(parsed[name])}"
            )
    return Record(
        offset=parsed["offset"],
        key=parsed["key"],
        table=parsed["table"],
        op=parsed["op"],
        before=parsed.get("before"),
        after=parsed.get("after"),
        lsn=parsed["lsn"],
        commit_us=parsed["commit_us"],
    )


def _parsed(line_number: int, line: str) -> Any:  # noqa: ANN401 -- JSON has no narrower type
    def refuse(constant: str) -> NoReturn:
        raise HistoryError(line_number, f"{constant} is not JSON")

    try:
        return json.loads(line, parse_constant=refuse)
    except HistoryError:
        raise
    # The causes of these errors are bad JSON, an integer of more digits than Python converts, and
    # lists nested a thousand deep.
    except (ValueError, RecursionError) as error:
        raise HistoryError(line_number, f"not JSON: {error}") from error
