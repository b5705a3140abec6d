"""Published schemas, and the schema of a record that workers wrote."""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from cdc.contracts import answers, retained, topics
from cdc.contracts.progress import BEAT_HEADER, HEADER, RING_HEADER

SCHEMAS = Path(str(files("cdc.contracts"))) / "schemas"
OF_TOPIC = {
    topics.ON_HAND_CHANGELOG: "level",
    topics.SALES_WINDOWS_CHANGELOG: "window",
    topics.REORDER_EVENTS: "reorder_event",
    topics.PRICE_EVENTS: "price_event",
    topics.STOCK_LATE: "stock_late",
    topics.STOCK_REJECTED: "stock_rejected",
}
OF_HEADER = {
    HEADER: "progress",
    RING_HEADER: "ring",
    BEAT_HEADER: "beat",
    retained.HEADER: "retained",
}
KINDS = (*OF_TOPIC.values(), *OF_HEADER.values(), "state")
# Kind of a document in a file, and the name of its version field.
FILES = {
    "topic_ids": "schema",
    "archive_source": "schema",
    "archive_file": "schema",
    "archive_head": "schema",
    "plan": "schema",
    "run_unit": "schema",
    "run": "schema",
    "snapshot": "format",
}
ANSWERS = (*answers.ADDRESSES.values(), answers.PROBLEM)


def names() -> list[str]:
    """Return the schema names, such as `level.v1`."""
    return sorted(file.stem for file in SCHEMAS.glob("*.json"))


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    return loaded


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))


def kind_and_version(name: str) -> tuple[str, int]:
    """Return `("level", 1)` for `level.v1`."""
    kind, _, version = name.rpartition(".v")
    return kind, int(version)


def complaints(kind: str, content: bytes) -> list[str]:
    """Return the violations of the schema that the record's own version names."""
    row = json.loads(content)
    name = f"{kind}.v{row[FILES.get(kind, 'schema')]}"
    return [f"{name} {e.json_path}: {e.message}" for e in validator(name).iter_errors(row)]


def written_parts(
    topic: str, content: bytes, headers: tuple[tuple[str, bytes], ...]
) -> Iterator[tuple[str, bytes]]:
    """Yield kind and bytes of every part of a record that has its own schema."""
    yield OF_TOPIC[topic], content
    for name, payload in headers:
        yield OF_HEADER[name], payload
