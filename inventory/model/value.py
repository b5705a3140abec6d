"""The one way values are made here: slotted, comparable, never mutated.

`dataclass(frozen=True)` would enforce the last point at run time, at several times the price per
construction. The fold builds a state per record, so the type checker enforces it instead.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make `cls` a slotted, comparable value that the type checker refuses to mutate."""
    return dataclass(slots=True)(cls)
