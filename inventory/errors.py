"""Exceptions and reason codes of the rules.

InventoryError
├── Rejected          the record must have no effect; workers write it to `stock.rejected`
└── BrokenInvariant   the log or the state contradicts itself; the process must stop
"""

from typing import Final

MALFORMED: Final = "malformed"
BEFORE_DEDUPE_HORIZON: Final = "before_dedupe_horizon"
UNKNOWN_TABLE: Final = "unknown_table"
UNKNOWN_OP: Final = "unknown_op"
SNAPSHOT_AFTER_START: Final = "snapshot_after_start"
NO_BEFORE_IMAGE: Final = "no_before_image"
NO_AFTER_IMAGE: Final = "no_after_image"
KEY_MISMATCH: Final = "key_mismatch"
PRICE_ROW_IMMUTABLE: Final = "price_row_immutable"
LIMIT: Final = "limit"
COUNT_BEYOND_HORIZON: Final = "count_beyond_horizon"
OVERFLOW: Final = "overflow"

# In order of precedence: if several codes apply to a record, the first one in this tuple is the
# reason of the rejection (domain.md 11.2).
REASONS: Final = (
    MALFORMED,
    BEFORE_DEDUPE_HORIZON,
    UNKNOWN_TABLE,
    UNKNOWN_OP,
    SNAPSHOT_AFTER_START,
    NO_BEFORE_IMAGE,
    NO_AFTER_IMAGE,
    KEY_MISMATCH,
    PRICE_ROW_IMMUTABLE,
    LIMIT,
    COUNT_BEYOND_HORIZON,
    OVERFLOW,
)


class InventoryError(Exception):
    """Base of all exceptions that the rules raise."""


class Rejected(InventoryError):
    """A rule rejects the record. `reason` is one of `REASONS`; `detail` shows the value found."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class BrokenInvariant(InventoryError):
    """The log or a key's state is in a condition that the rules exclude.

    The process must stop, because later records would get wrong results too.
    """


def short_text(found: object, most: int = 80) -> str:
    """Return `repr(found)` for an error message, cut to `most` characters.

    `repr` raises an error for lists nested a thousand deep and for numbers with thousands of
    digits. For such a value, return a text with the name of its type, for example `list beyond any
    text`. So only the record with that value is rejected, and the process continues.
    """
    try:
        return repr(found)[:most]
    except (RecursionError, ValueError):
        return f"{type(found).__name__} beyond any text"
