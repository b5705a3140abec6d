"""Parts that all operations share: schemas, cursors, the age of figures, the command id."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal, NoReturn, TypeVar
from uuid import UUID

from django.conf import settings
from ninja import Header, Path, Schema
from pydantic import (
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
)

from cdc.contracts.times import moment_of
from ledger.decisions.documents import cursor
from ledger.kernel.proposals import LONGEST_SNOOZE
from webui.api.problems import Problem, seen
from webui.shell.fields import DAY
from webui.shell.page import freshness

MOST_ROWS: Final = 200
USUAL_ROWS: Final = 50
_LARGEST: Final = 2**63 - 1
# The longest cursor is that of a product code. Its SKU, supplier and number have up to 640 bytes,
# which are about 860 characters in base64.
_LONGEST_CURSOR: Final = 1000
_NO_ZEROS: Final = r"^[^\x00]*$"

S = TypeVar("S", bound=Schema)
R = TypeVar("R")


def _day(value: object) -> object:
    if isinstance(value, str) and DAY.fullmatch(value):
        return date.fromisoformat(value)
    message = "a day like 2026-11-21"
    raise ValueError(message)


def _moment(value: object) -> object:
    # Without this pattern, Pydantic would accept numbers, too: seconds or milliseconds since 1970.
    if isinstance(value, str) and DAY.match(value):
        return value
    message = "a time like 2026-11-21T10:42:00Z"
    raise ValueError(message)


def _whole(value: object) -> object:
    """Return 6.0 as 6, because JSON doesn't distinguish the two; return other values unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE: Final = BeforeValidator(_whole)
Units = Annotated[StrictInt, Field(ge=1, le=1_000_000), WHOLE]
Revision = Annotated[StrictInt, Field(ge=0, le=2**31 - 1), WHOLE]
Id = Annotated[StrictInt, Field(ge=0, le=_LARGEST), WHOLE]
Flag = StrictBool
Day = Annotated[date, BeforeValidator(_day)]
Moment = Annotated[AwareDatetime, BeforeValidator(_moment)]
Text = Annotated[str, StringConstraints(strict=True, max_length=200, pattern=_NO_ZEROS)]
Limit = Annotated[int, Field(ge=1, le=MOST_ROWS, description="Rows of a page.")]
After = Annotated[
    str, Field(max_length=_LONGEST_CURSOR, description="The `next` of the page before.")
]
Location = Annotated[str, Field(max_length=24, description="Code of a location.")]
SkuInPath = Annotated[
    str,
    Path(
        description="SKU, percent-encoded. `~2F` for `/`, `~2E` for the SKU `.`, `~2E~2E` for `..`,"
        " and `~7E` for a `~` before `2E`, `2F` or `7E`."
    ),
]
SUPPLIER: Final = "Code of a supplier."
CommandId = Annotated[
    UUID,
    Header(
        alias="Idempotency-Key",
        description="A new UUID for each command. A repeated request with the same key and the"
        " same content returns the first result and writes nothing.",
    ),
]


class Given(Schema):
    """Base of request bodies; a body with an unknown field is refused."""

    model_config = ConfigDict(extra="forbid")


class Snooze(Given):
    """Snooze a need or a proposed price for some days."""

    action: Literal["snooze"]
    revision: Revision
    days: Annotated[StrictInt, Field(ge=1, le=LONGEST_SNOOZE.days), WHOLE]
    reason: Text | None = None


class Aged(Schema):
    """Age of the figures. They are complete up to the time `as_of`, which is `age_ms` ms ago.

    Both are null while the age is unknown, for example before the first record of an item's
    partition has arrived. Then treat the figures as old.
    """

    as_of: datetime | None
    age_ms: int | None


def described(schema: type[S], row: object, **further: Any) -> S:  # noqa: ANN401 -- fields of the schema
    """Return a `schema` object, with each field's value from `further` or else from `row`.

    `row` has the value as an attribute with the name of the field. A field without a value in
    `further` and in `row` gets its default.
    """
    names = schema.model_fields.keys() - further.keys()
    values = {name: getattr(row, name) for name in names if hasattr(row, name)}
    return schema(**values, **further)


def age_of(keys: Sequence[str]) -> dict[str, Any]:
    """Return the fields of `Aged`, {"as_of": …, "age_ms": …}, for the partitions of these keys.

    Without keys, they are for all partitions.
    """
    found = freshness(keys)
    age_ms = None if found.age_us is None else found.age_us // 1000
    return {"as_of": time_of(found.as_of_us), "age_ms": age_ms}


def time_of(at_us: int | None) -> datetime | None:
    """Return a time in microseconds since 1970 UTC as a datetime in UTC, or None."""
    return None if at_us is None else moment_of(at_us)


def currency() -> str:
    """Return the currency of every amount, an ISO 4217 code such as EUR."""
    return str(settings.CURRENCY)


def position_of(after: str) -> str:
    """Return the position that a cursor encodes: the sort key of a page's last row.

    An empty cursor gives an empty text.

    Raises:
        Problem: the text is not a cursor (status 422).
    """
    try:
        found = base64.b64decode(f"{after}{'=' * (-len(after) % 4)}", b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        refuse_cursor(after)
    if "\x00" in found:
        refuse_cursor(after)
    return found


def refuse_cursor(after: str) -> NoReturn:
    """Raise the `Problem` for a cursor that no page returned as `next` (status 422)."""
    named = {"field": "after", "value": seen(after), "rule": "the `next` of a page"}
    detail = "after: this is not the `next` of a page."
    raise Problem(422, "refused-value", detail, "Begin with the first page.", **named)


def number_of(after: str) -> int | None:
    """Return the number that a cursor encodes, or None for an empty cursor.

    Raises:
        Problem: the text is not a cursor with a number (status 422).
    """
    text = position_of(after)
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or int(text) > _LARGEST:
        refuse_cursor(after)
    return int(text)


def split_page(
    rows: Sequence[R], limit: int, position: Callable[[R], object]
) -> tuple[list[R], str | None]:
    """Return the first `limit` rows, and the cursor of the next page or None.

    A next page exists if there are more than `limit` rows. `position` returns a row's sort key.
    """
    shown = list(rows[:limit])
    return shown, cursor(str(position(shown[-1]))) if len(rows) > limit else None
