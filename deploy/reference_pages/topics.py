"""The page about topics: their settings, and the fields of every record, answer and file."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from cdc.contracts.topics import APP_ID, TOPICS, Topic
from cdc.contracts.versions import known

_SCHEMAS: Final = Path(str(files("cdc.contracts"))) / "schemas"
_NEVER: Final = "-1"
_DAY_MS: Final = 86_400_000
_LIMITS: Final = {"minimum": "at least", "multipleOf": "a multiple of"}
_SHOWN: Final = ("cleanup.policy", "retention.ms", "retention.bytes")

_FIELDS: Final = (
    "Each section has the newest version of one schema. A field without *optional* is always",
    "there. If the type of a field is a name, such as `policy`, a table of this name below the",
    "schema has its fields. The fields of `policy` have the meanings of the columns of the",
    "history table [`policies`](history-tables.md#policies). The [glossary](glossary.md) explains",
    "terms such as level, episode, position and generation. The end of a name states the unit:",
    "",
    "| end of the name | unit |",
    "|---|---|",
    "| `_us` | microseconds since 1970, UTC |",
    "| `_units` | units of a product |",
    "| `_minor` | minor units of the currency, for example cents |",
    "| `_micro` | millionths |",
    "| `_permille` | thousandths |",
    "| `_bp` | hundredths of a percent |",
    "| `_centidays` | hundredths of a day |",
)

Schema = dict[str, Any]


def page() -> str:
    """Return the page docs/reference/topics.md without its heading."""
    lines = [
        "This page has the topics of Kafka, and the fields of each record, file and answer of a",
        "worker. [Contracts](../contracts.md) has keys and writers, and the rules for versions.",
        "",
        "## Topics",
        "`N` in a name is the logic revision, the version number of the rules. `inventory up`",
        "creates all topics. The broker doesn't create a topic by itself.",
        "",
        "| topic | partitions | cleanup | retention | other settings |",
        "|---|---|---|---|---|",
        *map(_topic, TOPICS),
        "",
        "## Fields",
        *_FIELDS,
    ]
    kinds = sorted({path.name.partition(".v")[0] for path in _SCHEMAS.glob("*.json")})
    for kind in kinds:
        lines += _kind(kind)
    return "\n".join(lines) + "\n"


def _topic(topic: Topic) -> str:
    name = topic.name.replace(APP_ID, "inventory-vN")
    others = [f"`{name}={value}`" for name, value in topic.config.items() if name not in _SHOWN]
    cleanup, kept = topic.config["cleanup.policy"], topic.config.get("retention.ms", "")
    retention = "unlimited" if kept == _NEVER else f"{int(kept) // _DAY_MS} days" if kept else ""
    return f"| `{name}` | {topic.partitions} | {cleanup} | {retention} | {', '.join(others)} |"


def _kind(kind: str) -> Iterator[str]:
    version = known(kind)[-1]
    schema = json.loads((_SCHEMAS / f"{kind}.v{version}.json").read_text(encoding="utf-8"))
    yield f"\n### {kind}"
    yield f"{schema['title']}. Version {version}."
    yield ""
    yield "| field | type | note |\n|---|---|---|"
    yield from _fields(schema)
    for name, inner in schema.get("$defs", {}).items():
        if "properties" in inner:
            yield f"\n`{name}` of `{kind}`:"
            yield ""
            yield "| field | type | note |\n|---|---|---|"
            yield from _fields(inner)


def _fields(schema: Schema, prefix: str = "") -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        if "properties" in field:
            yield from _fields(field, f"{prefix}{name}.")
            continue
        notes = [] if name in required else ["optional"]
        notes += [field["description"].rstrip(".")] if "description" in field else []
        notes += [f"{text} {field[word]}" for word, text in _LIMITS.items() if word in field]
        yield f"| `{prefix}{name}` | {_type(field)} | {'; '.join(notes)} |".replace("|  |", "| |")


def _type(field: Schema) -> str:
    """Return the type of a schema's field as text: "string or null", or "list of `policy`"."""
    if "const" in field:
        return _literal(field["const"])
    if "enum" in field:
        return " or ".join(map(_literal, field["enum"]))
    if "$ref" in field:
        return f"`{field['$ref'].rpartition('/')[2]}`"
    for word in ("anyOf", "oneOf"):
        if word in field:
            return " or ".join(map(_type, field[word]))
    found = field.get("type", "any")
    if found in ("array", "object"):
        return _container(field)
    return " or ".join(found) if isinstance(found, list) else str(found)


def _container(field: Schema) -> str:
    """Return the type of a list or object, with the type of its members if the schema states it."""
    if field["type"] == "array":
        return f"list of {_type(field['items'])}" if "items" in field else "list"
    values = field.get("additionalProperties")
    if isinstance(values, dict) and "$ref" in values:
        return f"object of {_type(values)}"
    return "object"


def _literal(value: object) -> str:
    """Return a string, number, boolean or null of JSON as Markdown code."""
    names = {None: "null", True: "true", False: "false"}
    if isinstance(value, bool) or value is None:
        return f"`{names[value]}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"
