"""The protocol of facts, and the effect of a row image on its key (domain.md 2.3).

Times (`_us`) are microseconds since 1970 UTC. `business_at_us` is min(occurred, recorded), floored
to the second (domain.md 2.1). It depends on the image alone. So a record that retracts an image
gives the same business time as the record that added it.
"""

from typing import Protocol

from inventory.model.value import value


@value
class Effect:
    """The change of stock and window by one row image (domain.md 2.3).

    `sign` is 1 for the effect itself. It is -1 for its reversal, after the row was changed or
    deleted. `moved_units`, `unavailable_units`, `on_order_units` and `in_transit_units` are already
    multiplied by `sign`, so they can be summed. `line_units` and `line_minor` are the quantity and
    amount of a sale line as in its row, not multiplied by `sign`. A quantity below 0 is a return.
    Both are 0 for rows of other tables. `at_us` is the business time of the movement and of the
    line, in whole seconds. It is 0 for an image that changes only on-order or in-transit.
    """

    sign: int
    at_us: int = 0
    moved_units: int = 0
    unavailable_units: int = 0
    on_order_units: int = 0
    in_transit_units: int = 0
    line_units: int = 0
    line_minor: int = 0


class Fact(Protocol):
    """A row image of a captured table that passed its checks. Each table has its own class."""

    @property
    def id(self) -> int:
        """Return the primary key of the row."""
        ...

    def effect(self, sign: int) -> Effect | None:
        """Return the effect of this image on stock and window, or None if it has none.

        With `sign` -1, return the reversal of that effect.
        """
        ...

    def business_times(self) -> tuple[int, ...]:
        """Return the business times of this image in µs (domain.md 11.3).

        The status of the row doesn't matter: a draft or a void row has business times, too.
        """
        ...


@value
class WithoutEffect:
    """Base of facts that change no stock and no window by themselves."""

    def effect(self, sign: int) -> Effect | None:
        """Return None, because facts of this class have no effect on stock or window."""
        del sign
        return None


@value
class WithoutTimes:
    """Base of facts whose table has no business time."""

    def business_times(self) -> tuple[int, ...]:
        """Return an empty tuple, because facts of this class have no business time."""
        return ()
