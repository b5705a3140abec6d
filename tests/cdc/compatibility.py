"""Check that a newer schema of a record stays compatible with readers of the older schema.

The rule: version N+1 keeps everything of version N literally, except the version number. Every
addition is an optional field. Then code of N+1 reads records of N. A consumer written for N reads
records of N+1, because it skips the fields that it doesn't know.
"""

from collections.abc import Iterator
from typing import Any

DESCRIBING = ("$schema", "title", "description")  # for people: they may be reworded
NAMED = ("properties", "$defs")  # may grow: a new field is optional while `required` stays


def breaks(older: Any, newer: Any, path: str = "$") -> Iterator[str]:
    """Yield every path at which `newer` differs from `older` by more than added optional fields."""
    if isinstance(older, dict) and isinstance(newer, dict):
        yield from _breaks_of_object(older, newer, path)
    elif older != newer:
        yield f"{path}: {older!r} became {newer!r}"


def _breaks_of_object(older: dict[str, Any], newer: dict[str, Any], path: str) -> Iterator[str]:
    for name in sorted((older.keys() | newer.keys()) - {*DESCRIBING, *NAMED}):
        yield from breaks(older.get(name), newer.get(name), f"{path}.{name}")
    for part in NAMED:
        known, found = older.get(part, {}), newer.get(part, {})
        for name in known:
            if (part, path, name) != ("properties", "$", "schema"):
                yield from breaks(known[name], found.get(name), f"{path}.{name}")
