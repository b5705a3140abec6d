"""Lines that add up, so that a program can check an explanation without knowing the rules."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from inventory.model.value import value

ADD, SUM, NOTE = "add", "sum", "note"

Amount = int | str | None


@value
class Source:
    """The row that a line rests on, and who wrote it, as far as that is known."""

    table: str
    id: int
    actor: str | None = None


@value
class Line:
    """One named value; the unit stands last in the name, as everywhere.

    `part` says how it adds up: `add` is a signed step, `sum` equals all steps of its section so
    far, `note` takes no part. `detail` says in words what a number alone cannot.
    """

    name: str
    amount: Amount
    part: str = NOTE
    detail: str = ""
    source: Source | None = None


@value
class Section:
    """Lines of one subject, in a fixed order."""

    name: str
    lines: tuple[Line, ...]


def gaps(sections: tuple[Section, ...]) -> tuple[str, ...]:
    """Names of the sums that their steps do not give; empty for an explanation that adds up."""
    return tuple(_gaps(sections))


def _gaps(sections: tuple[Section, ...]) -> Iterator[str]:
    for section in sections:
        total = 0
        for line in section.lines:
            if line.part == ADD and isinstance(line.amount, int):
                total += line.amount
            elif line.part != NOTE and line.amount != total:
                yield f"{section.name}.{line.name}: {line.amount}, but its parts give {total}"


def signed(
    sections: tuple[Section, ...], actors: Mapping[tuple[str, int], str | None]
) -> tuple[Section, ...]:
    """The sections with the people behind those rows that carry no name yet."""
    return tuple(
        Section(section.name, tuple(_signed(line, actors) for line in section.lines))
        for section in sections
    )


def _signed(line: Line, actors: Mapping[tuple[str, int], str | None]) -> Line:
    source = line.source
    if source is None or source.actor is not None:
        return line
    actor = actors.get((source.table, source.id))
    return replace(line, source=Source(source.table, source.id, actor))


def add(name: str, amount: int, detail: str = "", source: Source | None = None) -> Line:
    """A signed step."""
    return Line(name, amount, ADD, detail, source)


def total(name: str, amount: int, detail: str = "") -> Line:
    """What the steps of the section so far come to."""
    return Line(name, amount, SUM, detail)


def note(name: str, amount: Amount, detail: str = "", source: Source | None = None) -> Line:
    """A value that no sum counts."""
    return Line(name, amount, NOTE, detail, source)
