"""The quick scan of a level has the parser's result, or leaves the level to the parser."""

import asyncio
import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from cdc.contracts.state import decode_level, encode_level
from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from inventory.model.episode import Episode, PriceEpisode
from inventory.model.ids import InvKey, ProposalId
from inventory.model.state import KeyState
from streams.engine.level_scan import LevelFacts, _parsed, _scanned, scan_level
from streams.engine.store import has_open
from tests.golden.workers import kept_state
from tests.streams.lives import PARTITION, Crashes, live
from tests.streams.test_engine import Step, history, steps


def levels(plan: list[Step]) -> list[bytes]:
    """Return the level records that a worker writes for the plan."""
    broker = history(plan)
    asyncio.run(live(broker, Crashes(), itertools.repeat(3), iter(())))
    return broker.values(ON_HAND_CHANGELOG, PARTITION)


def level(**changes: Any) -> tuple[KeyState, bytes]:
    state, _dropped = decode_level(kept_state("level", 1)[0])
    changed = replace(state, **changes)
    return changed, encode_level(changed, list(changed.windows))


@settings(deadline=None, max_examples=60)
@given(plan=steps)
def test_a_quick_level_scan_equals_the_parsed_level(plan: list[Step]) -> None:
    for content in levels(plan):
        assert _scanned(content) == _parsed(content) == scan_level(content)


@pytest.mark.parametrize("state", ["idle", "open", "held-snoozed", "held-rejected", "held-short"])
@pytest.mark.parametrize("proposal", [None, "P:1"])
def test_a_quick_level_scan_finds_open_needs_and_prices(state: str, proposal: str | None) -> None:
    found, content = level(
        episode=Episode(state=state),
        price_episode=PriceEpisode(id=None if proposal is None else ProposalId(proposal)),
    )

    assert _scanned(content) == LevelFacts(found.key, has_open(found), len(found.windows))


@pytest.mark.parametrize("key", ['S1|"A"', "S1|\\", "S1|ä", 'S1|,"inv_key":"S2|B'])
def test_a_level_scan_reads_any_key(key: str) -> None:
    _, content = level(inv_key=InvKey(key))

    assert scan_level(content).key == key


@pytest.mark.parametrize("indent", [None, 1])
def test_a_level_with_other_whitespace_is_parsed_instead_of_scanned(indent: int | None) -> None:
    content = kept_state("level", 1)[0]
    other = json.dumps(json.loads(content), indent=indent).encode()

    assert _scanned(other) is None
    assert scan_level(other) == _parsed(content)


@pytest.mark.parametrize("counter", ["schema", "logic_revision"])
def test_a_level_of_another_version_is_refused(counter: str) -> None:
    document = json.loads(kept_state("level", 1)[0]) | {counter: 9}
    content = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()

    with pytest.raises(UnknownVersion, match=f"{counter} 9"):
        scan_level(content)


def test_a_truncated_level_record_is_refused() -> None:
    _, content = level()

    with pytest.raises(UnreadableRecord, match="not JSON"):
        scan_level(content[:-1])
