"""Every record that workers write follows the published, strict schema of its version."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cdc.contracts import versions
from cdc.contracts.state import (
    decode_level,
    decode_state,
    decode_window,
    encode_level,
    encode_state,
    encode_window,
)
from cdc.contracts.topics import APP_ID, TOPICS
from tests.cdc.compatibility import breaks
from tests.cdc.contract import (
    ANSWERS,
    FILES,
    KINDS,
    OF_TOPIC,
    complaints,
    kind_and_version,
    names,
    schema,
    validator,
)
from tests.cdc.released import RELEASED, schema_hashes
from tests.golden.workers import kept, written
from tests.inventory.builders import Log, at, sale

PAGE = Path(__file__).parents[2] / "docs" / "contracts.md"
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SIMULATED = range(100, 130 if LONG else 110)


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object schema within a schema."""
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for inner in node.values():
            yield from objects(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from objects(inner)


def objects_in(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every JSON object within a record, except those with a version of their own."""
    if isinstance(node, dict):
        yield node
        for inner in node.values():
            if not (isinstance(inner, dict) and "schema" in inner):
                yield from objects_in(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from objects_in(inner)


def test_every_kind_of_record_has_a_schema_for_every_version_that_is_read() -> None:
    kinds = (*KINDS, *ANSWERS, *FILES)
    expected = {f"{kind}.v{version}" for kind in kinds for version in versions.known(kind)}

    assert set(names()) == expected


def test_every_topic_that_workers_write_has_a_kind() -> None:
    from_others = ("stock.events", "reference.")

    ours = {topic.name for topic in TOPICS if not topic.name.startswith(from_others)}

    assert OF_TOPIC.keys() == ours


@pytest.mark.parametrize("name", names())
def test_a_schema_is_strict_and_carries_its_version(name: str) -> None:
    kind, version = kind_and_version(name)
    counter = FILES.get(kind, "schema")
    found = schema(name)

    Draft202012Validator.check_schema(found)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["properties"][counter] == {"const": version}
    assert counter in found["required"]
    for described in objects(found):
        assert described["additionalProperties"] is False
        assert set(described["required"]) <= described["properties"].keys()


def test_a_released_schema_is_never_edited() -> None:
    lines = [line.split("  ") for line in RELEASED.read_text().splitlines()]
    listed = {file: digest for digest, file in lines}

    assert listed == schema_hashes(), (
        f"a change of a record is a new version; {RELEASED.name} lists it then"
    )


def test_a_schema_hash_covers_rules_and_fields_but_not_descriptions(tmp_path: Path) -> None:
    file = tmp_path / "row.v1.json"
    field = {"type": "string", "description": "A text"}

    def hash_of(**changed: object) -> str:
        row = {"title": "A row", "properties": {"description": field}} | changed
        file.write_text(json.dumps(row))
        return schema_hashes(tmp_path)[file.name]

    first = hash_of()
    assert hash_of(title="A row of a table") == first
    assert hash_of(properties={"description": field | {"description": "Words"}}) == first
    assert hash_of(properties={"description": field | {"type": "integer"}}) != first
    assert hash_of(properties={}) != first
    assert hash_of(required=["description"]) != first


# Version 1 of level, window and state requires 0 or more lines in a window. The number is below 0
# if a retracted line was never counted (domain.md 3.3). Readers accept such a record.
RETRACTED = re.compile(r"\.(sale_lines|return_lines): -\d+ is less than the minimum of 0$")


def test_a_retracted_uncounted_line_is_encoded_as_minus_one_and_decoded() -> None:
    log = Log(commit_us=at("12:00"))
    log.delete("sale_line", sale(1, 2, at("11:50")))
    state, start_us = log.state, at("11:50")
    window = encode_window(state.key, state.windows[start_us], state.position)

    assert decode_window(window)[1].sale_lines == -1
    assert decode_state(encode_state(state)) == state
    assert decode_level(encode_level(state, [start_us])) == (state, ())
    for kind, content in (
        ("window", window),
        ("state", encode_state(state)),
        ("level", encode_level(state, [start_us])),
    ):
        [said] = complaints(kind, content)
        assert RETRACTED.search(said), f"{kind}: {said}"


@pytest.mark.generated
def test_records_of_simulated_workers_match_their_schemas() -> None:
    seen: set[str] = set()
    for seed in SIMULATED:
        for kind, content in written(seed):
            seen.add(kind)
            assert json.loads(content)["schema"] == max(versions.known(kind))
            found = [said for said in complaints(kind, content) if not RETRACTED.search(said)]
            assert found == [], f"seed {seed}"

    assert seen == set(KINDS)


@pytest.mark.parametrize("kind", [*KINDS, *ANSWERS, *FILES])
def test_an_unknown_field_anywhere_in_a_record_is_a_violation(kind: str) -> None:
    for version in versions.known(kind):
        for content in kept(kind, version):
            assert complaints(kind, content) == []
            for number, _ in enumerate(objects_in(json.loads(content))):
                row = json.loads(content)
                list(objects_in(row))[number]["surprise"] = None  # maps allow no unknown key either
                assert not validator(f"{kind}.v{version}").is_valid(row)


@pytest.mark.parametrize("name", names())
def test_a_newer_schema_only_adds_optional_fields(name: str) -> None:
    kind, version = kind_and_version(name)
    if version > min(versions.known(kind)):
        assert list(breaks(schema(f"{kind}.v{version - 1}"), schema(name))) == []


OLDER = {
    "title": "A thing",
    "type": "object",
    "properties": {
        "schema": {"const": 1},
        "kind": {"enum": ["a", "b"]},
        "place": {"$ref": "#/$defs/place"},
        "marks": {"type": "array", "items": {"type": "integer"}},
        "lines": {"type": "integer", "minimum": 0},
    },
    "required": ["kind", "schema"],
    "additionalProperties": False,
    "$defs": {"place": {"type": "object", "properties": {"x": {"type": "integer"}}}},
}


def edited(path: str, value: Any) -> dict[str, Any]:
    """Return `OLDER` as version 2 with `value` at `path`. The value None removes the entry."""
    newer: dict[str, Any] = json.loads(json.dumps(OLDER))
    newer["properties"]["schema"] = {"const": 2}
    *way, last = path.split("/")
    node = newer
    for step in way:
        node = node[step]
    node[last] = value
    if value is None:
        del node[last]
    return newer


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("title", "A thing, said better"),
        ("properties/note", {"type": "string"}),
        ("$defs/place/properties/y", {"type": "integer"}),
        ("$defs/shelf", {"type": "integer"}),
    ],
)
def test_adding_an_optional_field_is_compatible(path: str, value: Any) -> None:
    assert list(breaks(OLDER, edited(path, value))) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("properties/kind", None),
        ("properties/kind/enum", ["a", "b", "c"]),
        ("properties/kind/enum", ["a"]),
        ("properties/kind", {"type": "string"}),
        ("properties/marks/items/type", "number"),
        ("properties/marks/minItems", 1),
        ("properties/lines/minimum", None),  # a consumer may rely on it: docs/contracts.md
        ("properties/lines/minimum", -1),
        ("required", ["kind", "marks", "schema"]),
        ("required", ["schema"]),
        ("additionalProperties", True),
        ("$defs/place/properties/x", None),
        ("$defs/place/properties/x/type", "string"),
        ("$defs/place/required", ["x"]),
        ("$defs/place", None),
    ],
)
def test_a_change_other_than_an_added_optional_field_is_incompatible(path: str, value: Any) -> None:
    assert list(breaks(OLDER, edited(path, value)))


def test_the_page_of_contracts_names_every_topic_and_every_schema() -> None:
    page = PAGE.read_text("utf-8")

    for topic in TOPICS:
        name = topic.name.replace(APP_ID, "inventory-vN")
        assert f"`{name}`" in page or f"`.{name.rpartition('.')[2]}`" in page, name
    for kind in (*KINDS, *ANSWERS, *FILES):
        released = ", ".join(map(str, versions.known(kind)))
        assert f"| `{kind}` | {released} |" in page, kind
