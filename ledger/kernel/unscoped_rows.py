"""Rows that a command reads, typed, from every store.

A command locks a row and calls `require_store` on it, so it must find a row of another store to
refuse it. Pages read with `ledger.kernel.rows.select`, which finds only the stores of a person.
"""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, ClassVar, Protocol, TypeVar

from ledger.kernel.transactions import fetch_all, fetch_one


class Dataclass(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound=Dataclass)


def typed(row: type[R], values: Mapping[str, Any]) -> R:
    """Return a `row` with the values of its fields.

    Values without a field are left out. A field without a value takes its default; raise
    `TypeError` if it has none.
    """
    names = (field.name for field in fields(row))
    return row(**{name: values[name] for name in names if name in values})


def read_all(row: type[R], sql: str, *parameters: Any) -> list[R]:  # noqa: ANN401 -- any SQL value
    """Return every row of a command's query as `row`; columns without a field are left out."""
    return [typed(row, found) for found in fetch_all(sql, *parameters)]


def read_one(row: type[R], sql: str, *parameters: Any) -> R | None:  # noqa: ANN401 -- any SQL value
    """Return the first row of a command's query as `row`, or None."""
    found = fetch_one(sql, *parameters)
    return None if found is None else typed(row, found)
