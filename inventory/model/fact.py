"""Facts, and the contribution of one to its key: one image, one effect (domain.md 2.3).

Times are epoch microseconds (`_us`). `business_at_us` is min(occurred, recorded), floored to the
second (domain.md 2.1). It depends on the image alone, so a retraction has the same time as the
original.
"""

from typing import Protocol

from inventory.model.value import value


@value
class Effect:
    """The contribution of one row image, added (`sign` 1) or retracted (`sign` -1), signs applied.

    A movement of on-hand and a sale or return line lie at the second `at_us`. `line_units` is the
    quantity of a line as in its row, 0 for an image that is no line. Only the line's own numbers
    are unsigned, because the sign of its quantity separates sales from returns.
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
    """A row image of a captured table, checked and typed. Each table has a class of its own."""

    @property
    def id(self) -> int:
        """Return the primary key of the row."""
        ...

    def effect(self, sign: int) -> Effect | None:
        """Return the contribution of this image with `sign` 1 or -1, None if there is none."""
        ...

    def business_times(self) -> tuple[int, ...]:
        """Return the business times of this image, at any status (domain.md 11.3)."""
        ...


@value
class WithoutEffect:
    """Part of a fact that moves no stock by itself."""

    def effect(self, sign: int) -> Effect | None:
        """Return None."""
        del sign
        return None


@value
class WithoutTimes:
    """Part of a fact without business times."""

    def business_times(self) -> tuple[int, ...]:
        """Return no time."""
        return ()
