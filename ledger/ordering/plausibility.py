"""Detection of probable typing errors in the units of an order line, like 999999 for 12.

The units of an approval are compared with the suggested units. The new units of a draft line are
compared with its present units. A caller has to confirm a quantity far beyond the suggested or
present units. Nothing is forbidden here, because a buyer may order more than the suggestion
(docs/domain.md 7). Pages and the API ask the person for the confirmation. Other callers confirm by
default.

Buyers often multiply a suggestion of a few units, for example before a promotion. So up to 100
units need no confirmation.
"""

from typing import Final

from ledger.kernel.errors import ServiceError
from ledger.messages import Message
from ledger.nouns import counted

FACTOR: Final = 10
FEW_UNITS: Final = 100


class ImplausibleUnits(ServiceError):
    """A quantity that is allowed, but that the caller has to confirm."""

    def __init__(self, units: int, rule: str) -> None:
        super().__init__("units", units, rule)


def is_far_beyond(units: int, usual_units: int) -> bool:
    """Return True for more than 100 units that are also more than ten times `usual_units`.

    For 12 usual units, the result is True from 121 units on; for 5 usual units, from 101 units on.
    """
    return units > max(FEW_UNITS, FACTOR * usual_units)


def require_plausible_units(units: int, suggested_units: int) -> None:
    """Raise `ImplausibleUnits` for a quantity far beyond the suggestion."""
    if is_far_beyond(units, suggested_units):
        rule = Message(
            "more than ten times the suggestion of %(suggested)s: correct it, or confirm that it "
            "is meant",
            suggested=f"{suggested_units:,}",
        )
        raise ImplausibleUnits(units, rule)


def require_plausible_change(units: int, line_units: int) -> None:
    """Raise `ImplausibleUnits` for a quantity far beyond the units that a draft line has."""
    if is_far_beyond(units, line_units):
        rule = Message(
            "more than ten times the %(ordered)s of the line: correct it, or confirm that it is "
            "meant",
            ordered=counted(line_units, "unit"),
        )
        raise ImplausibleUnits(units, rule)
