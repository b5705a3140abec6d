"""Protocols of the two sides of a comparison: two runs, or a run and the live state."""

from typing import Any, Protocol


class Side(Protocol):
    """One side of a comparison: a finished run, or the live state."""

    @property
    def name(self) -> str:
        """Return the name of the side, for people."""
        ...

    def as_json(self) -> dict[str, Any]:
        """Return name and rules as a JSON object."""
        ...


class Sides(Protocol):
    """Both sides, and the records over which they are compared."""

    @property
    def a(self) -> Side: ...  # noqa: D102 -- a protocol's fields, described above

    @property
    def b(self) -> Side: ...  # noqa: D102 -- a protocol's fields, described above

    def history(self) -> dict[str, object]:
        """Return properties that both sides share, such as end offsets. The digest covers them."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Return one sentence about each kind of result that the comparison leaves out."""
        ...
