"""Schema versions of records. A reader stops at an unreadable record and reports its position.

Every record of this project carries the version of its schema. A reader accepts the versions that
it was written for and no other. A guess would change stock or money silently.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, Self, TypeVar

Built = TypeVar("Built")

_FIRST: Final = (1,)
_RELEASED: Final[dict[str, tuple[int, ...]]] = {  # kinds with versions other than 1
    "answer_revision": (1, 2),
    "archive_file": (1, 2),
    "plan": (2, 3, 4),
    "progress": (1, 2),
    "run": (1, 2),
    "run_unit": (2, 3),
    "snapshot": (4,),
}


class UnreadableRecord(ValueError):
    """Bytes that are no record of this project.

    `position` is `topic[partition]@offset`, or "" if the position is not known.
    """

    def __init__(self, problem: str, position: str = "") -> None:
        super().__init__(f"{position}: {problem}" if position else problem)
        self.problem = problem
        self.position = position

    def at(self, topic: str, partition: int, offset: int) -> Self:
        """Return the same error with the record's position, which only the topic's reader knows."""
        return type(self)(self.problem, f"{topic}[{partition}]@{offset}")


class UnknownVersion(UnreadableRecord):
    """A record of a schema version or logic revision that this code doesn't know."""


class Positioned(Protocol):
    """A record with its position in Kafka, as consumers return it."""

    @property
    def topic(self) -> str:
        """Return the topic's name."""

    @property
    def partition(self) -> int:
        """Return the number of the partition."""

    @property
    def offset(self) -> int:
        """Return the record's offset in the partition."""


@contextmanager
def with_position(record: Positioned) -> Iterator[None]:
    """Add the record's position to an `UnreadableRecord` that the `with` block raises."""
    try:
        yield
    except UnreadableRecord as unreadable:
        raise unreadable.at(record.topic, record.partition, record.offset) from unreadable


def known(kind: str) -> tuple[int, ...]:
    """Return the schema versions that this code reads for records of one kind, in ascending order.

    This code writes the last of them. `kind` is a schema's name: `level` for `level.v1.json`.
    """
    return _RELEASED.get(kind, _FIRST)


def document_of(
    record: str,
    content: bytes,
    parse: Callable[[bytes], Any] = json.loads,
    *,
    default_version: int | None = None,
) -> dict[str, Any]:
    """Return the JSON object in `content`, of a schema version that this code knows.

    `default_version` is the version of a document without `schema`, for kinds whose first release
    had none.

    Raises:
        UnreadableRecord: `content` is no JSON object.
        UnknownVersion: the field `schema` is none of the versions that `known` returns.
    """
    try:
        document = parse(content)
    except (ValueError, RecursionError) as error:  # RecursionError: deeply nested lists
        problem = f"{record} record: not JSON: {error}"
        raise UnreadableRecord(problem) from error
    if type(document) is not dict:
        problem = f"{record} record: a JSON object was expected, got {content!r:.80}"
        raise UnreadableRecord(problem)
    if default_version is not None:
        document.setdefault("schema", default_version)
    check_version(record, "schema", document.get("schema"), known(record))
    return document


def built(record: str, document: dict[str, Any], build: Callable[[dict[str, Any]], Built]) -> Built:
    """Return the value that `build` makes of the document. `record` is the kind for error messages.

    Raises:
        UnreadableRecord: a field is missing or unexpected in this version.
    """
    try:
        return build(document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"{record} record: a field is missing, unknown or malformed: {error!r}"
        raise UnreadableRecord(problem) from error


def check_version(record: str, counter: str, found: object, wanted: tuple[int, ...]) -> None:
    """Check that `found`, the value of the version field `counter`, is one of `wanted`.

    Raises:
        UnknownVersion: `found` is not in `wanted`. The message has the version and `wanted`.
    """
    if type(found) is not int or found not in wanted:
        versions = ", ".join(map(str, wanted))
        problem = f"{record} record: {counter} {found!r} is unknown here; known: {versions}"
        raise UnknownVersion(problem)
