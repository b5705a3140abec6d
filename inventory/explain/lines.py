"""Lines of an explanation. A program can check their sums without knowing the rules."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from inventory.model.value import value

ADD, SUM, NOTE = "add", "sum", "note"

Amount = int | str | None


@value
class Source:
    """The table row that a line comes from. `actor` is the row's author, None if unknown."""

    table: str
    id: int
    actor: str | None = None


@value
class Line:
    """One named value. The name ends with its unit.

    `part` is the line's role in the sums of its section. `add` is a signed step. `sum` equals the
    total of all `add` lines above it. `note` is in no sum. `detail` is a short text for people.
    """

    name: str
    amount: Amount
    part: str = NOTE
    detail: str = ""
    source: Source | None = None


@value
class Section:
    """Lines of one subject, in fixed order."""

    name: str
    lines: tuple[Line, ...]


def gaps(sections: tuple[Section, ...]) -> tuple[str, ...]:
    """Return one message for each `sum` line that differs from the sum of the `add` lines above.

    Example: `stock.on_hand_units: 8, but its steps give 7`.
    """
    return tuple(_gaps(sections))


def _gaps(sections: tuple[Section, ...]) -> Iterator[str]:
    for section in sections:
        total = 0
        for line in section.lines:
            if line.part == ADD and isinstance(line.amount, int):
                total += line.amount
            elif line.part != NOTE and line.amount != total:
                yield f"{section.name}.{line.name}: {line.amount}, but its steps give {total}"


def with_actors(
    sections: tuple[Section, ...], actors: Mapping[tuple[str, int], str | None]
) -> tuple[Section, ...]:
    """Return the sections, with an actor added to each source that has none.

    `actors` maps (table, row id) to the author of the row, who becomes the actor. A source whose
    row is not in `actors` remains without an actor.
    """
    return tuple(
        Section(section.name, tuple(_with_actor(line, actors) for line in section.lines))
        for section in sections
    )


def _with_actor(line: Line, actors: Mapping[tuple[str, int], str | None]) -> Line:
    source = line.source
    if source is None or source.actor is not None:
        return line
    actor = actors.get((source.table, source.id))
    return replace(line, source=Source(source.table, source.id, actor))


def add(name: str, amount: int, detail: str = "", source: Source | None = None) -> Line:
    """Return an `add` line: a signed amount that each `sum` line below it includes."""
    return Line(name, amount, ADD, detail, source)


def total(name: str, amount: int, detail: str = "") -> Line:
    """Return a `sum` line. `gaps` checks that `amount` equals the sum of the `add` lines above."""
    return Line(name, amount, SUM, detail)


def note(name: str, amount: Amount, detail: str = "", source: Source | None = None) -> Line:
    """Return a `note` line: a value that takes no part in sums."""
    return Line(name, amount, NOTE, detail, source)
