"""The class decorator of all value types: slotted, comparable, and immutable for type checkers.

`dataclass(frozen=True)` would enforce immutability at run time and make construction several times
as expensive. The fold builds a state per record, so only the type checker enforces immutability.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make `cls` a slotted, comparable class. Type checkers refuse assignments to its fields."""
    return dataclass(slots=True)(cls)


class Referable:
    """Base of values that can be the target of a weak reference.

    A slotted class has no `__weakref__` by itself, and most values need none.
    """

    __slots__ = ("__weakref__",)
