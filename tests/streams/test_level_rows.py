"""The text of a level or window record is cut into the parts that a parser finds."""

import asyncio
import itertools
import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings

from cdc.contracts.state import encode_window
from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from inventory.model.ids import InvKey, Position
from inventory.model.state import WindowRow
from streams.engine.level_rows import (
    _WINDOW,
    LevelText,
    _cut_level,
    _parsed_level,
    _parsed_window,
    level_text,
    window_text,
)
from tests.golden.workers import kept_state
from tests.streams.lives import PARTITION, Crashes, live
from tests.streams.test_engine import Step, history, steps

MOVED = WindowRow(600_000_000, sold_units=2, had_line=True, moves={601_000_000: -3, 602_000_000: 1})
EMPTY = WindowRow(0, revenue_minor=-5)


def changelogs(plan: list[Step]) -> tuple[list[bytes], list[bytes]]:
    """Return the level records and the window records that a worker writes for the plan."""
    broker = history(plan)
    asyncio.run(live(broker, Crashes(), itertools.repeat(3), iter(())))
    topics = ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG
    levels, windows = (broker.values(topic, PARTITION) for topic in topics)
    return levels, windows


def spaced(content: bytes) -> bytes:
    """Return the same JSON document with spaces, which the project's writers never write."""
    return json.dumps(json.loads(content)).encode()


@settings(deadline=None, max_examples=40)
@given(plan=steps)
def test_cutting_a_written_record_gives_the_parsed_parts(plan: list[Step]) -> None:
    levels, windows = changelogs(plan)

    for content in levels:
        assert _cut_level(content) == _parsed_level(content)
        assert level_text(content).with_rows(level_text(content).rows) == content
    for content in windows:
        assert _WINDOW.fullmatch(content) is not None
        assert window_text(content) == _parsed_window(content)


@pytest.mark.parametrize("row", [MOVED, EMPTY])
@pytest.mark.parametrize("key", ["S1|A", 'S1|"A"', "S1|\\", "S1|ä"])
def test_a_window_record_has_the_same_parts_with_and_without_spaces(
    key: str, row: WindowRow
) -> None:
    content = encode_window(InvKey(key), row, Position(2, 7))

    found = window_text(content)

    assert (found.key, found.order, found.start_us) == (key, (2, 7), row.start_us)
    assert found == _parsed_window(content) == window_text(spaced(content))


@pytest.mark.parametrize("kind", ["level", "state"])
def test_rows_replace_those_of_a_level_in_order(kind: str) -> None:
    content = kept_state(kind, 1)[0]
    rows = {
        row.start_us: window_text(encode_window(InvKey("K"), row, Position(1, 1))).row
        for row in (MOVED, EMPTY)
    }
    expected: dict[str, Any] = orjson.loads(content)
    expected["rows"] = [orjson.loads(rows[at]) for at in sorted(rows)]

    for form in (content, spaced(content)):
        found = level_text(form).with_rows(rows)
        assert found == orjson.dumps(expected, option=orjson.OPT_SORT_KEYS)


@pytest.mark.parametrize("name", ["rows", "position", "stream_time_us"])
def test_a_level_with_extra_spaces_is_parsed_instead_of_cut(name: str) -> None:
    document = json.loads(kept_state("level", 1)[0])
    document["rows"] = [json.loads(encode_window(InvKey("K"), EMPTY, Position(1, 1)))["row"]]
    content = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    value = orjson.dumps(document[name], option=orjson.OPT_SORT_KEYS)
    other = content.replace(
        b'"%b":%b' % (name.encode(), value), b'"%b": %b' % (name.encode(), value)
    )

    assert other != content
    assert _cut_level(other) is None
    assert level_text(other) == level_text(content)


@pytest.mark.parametrize("counter", ["schema", "logic_revision"])
def test_a_window_of_another_version_is_refused(counter: str) -> None:
    document = json.loads(encode_window(InvKey("K"), MOVED, Position(1, 1))) | {counter: 9}

    with pytest.raises(UnknownVersion, match=f"{counter} 9"):
        window_text(orjson.dumps(document, option=orjson.OPT_SORT_KEYS))


def test_a_damaged_window_record_is_refused() -> None:
    content = encode_window(InvKey("K"), MOVED, Position(1, 1))

    assert _WINDOW.fullmatch(content.replace(b'"sold_units":2', b'"sold_units":"2"')) is None
    for damaged in (
        content[:-1],
        content.replace(b'"K"', b'"K\xff"'),
        content.replace(b'"K"', b'"K\n"'),
        content.replace(b'"sold_units":2', b'"sold_units":02'),
    ):
        with pytest.raises(UnreadableRecord):
            window_text(damaged)


def test_the_order_of_levels_compares_the_generation_first() -> None:
    assert LevelText(b"", b"", (2, 1), None, {}).order > (1, 9)
