"""Commands that read topics name the offset of an unreadable record."""

from dataclasses import dataclass

import pytest

from analytics import kafka
from analytics.live_state import LiveState
from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.contracts.versions import UnknownVersion
from cdc.settings import Connections


@dataclass
class Found:
    """A message as the client returns it."""

    content: bytes

    def topic(self) -> str:
        return ON_HAND_CHANGELOG

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 812

    def value(self) -> bytes:
        return self.content


def test_a_level_with_an_unknown_schema_version_stops_the_live_state_reader() -> None:
    with pytest.raises(UnknownVersion, match="schema 2 is unknown here; known: 1") as stopped:
        LiveState(Connections())._take_level(Found(b'{"schema":2}'))

    assert stopped.value.position == f"{ON_HAND_CHANGELOG}[3]@812"


def test_a_readable_record_raises_no_error() -> None:
    with kafka.with_position(Found(b"{}")):
        pass
