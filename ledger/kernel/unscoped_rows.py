"""SELECT statements of commands, with typed rows of every store.

A command locks a row and then calls `require_store`, which refuses a row of another store. For this
refusal, the SELECT must find rows of all stores. Pages use `ledger.kernel.rows.select`, which
returns only rows of the person's stores.
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
    """Return an instance of `row` with the values of its fields.

    Values without a field are ignored. A field without a value gets its default. Raise `TypeError`
    for a field without value and default.
    """
    names = (field.name for field in fields(row))
    return row(**{name: values[name] for name in names if name in values})


def read_all(row: type[R], sql: str, *parameters: Any) -> list[R]:  # noqa: ANN401 -- any SQL value
    """Return every row of the result as `row`; columns without a field are ignored."""
    return [typed(row, found) for found in fetch_all(sql, *parameters)]


def read_one(row: type[R], sql: str, *parameters: Any) -> R | None:  # noqa: ANN401 -- any SQL value
    """Return the first row of the result as `row`, or None."""
    found = fetch_one(sql, *parameters)
    return None if found is None else typed(row, found)
