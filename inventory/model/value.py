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


class Referable:
    """A base for values that something may remember for as long as they live, by a weak reference.

    A slotted class has no room for one by itself, and most values need none.
    """

    __slots__ = ("__weakref__",)
