"""Readers of decisions refuse records that are simulated, unreadable or of another revision."""

import json
from typing import Any

import pytest

from cdc.contracts.versions import UnknownVersion
from inventory.revision import LOGIC_REVISION
from streams.sinks.actionable import Refused, decision_in
from tests.golden.workers import kept


def need(**changes: Any) -> bytes:
    released = (json.loads(line) for line in kept("reorder_event", 1))
    return json.dumps(next(released) | {"logic_revision": LOGIC_REVISION} | changes).encode()


def test_a_reorder_decision_is_decoded() -> None:
    event = decision_in(need(id="R:A|B:1-7"), LOGIC_REVISION, is_reorder=True)

    assert event.output.id == "R:A|B:1-7"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "tombstone"),
        (b"no decision", "not JSON"),
        (need(kind="price"), "kind 'reorder' expected"),
        (need(id="SIM:R:A|B:1-7"), "simulated"),
        (need(logic_revision=LOGIC_REVISION + 1), "logic revision"),
    ],
)
def test_a_record_that_is_no_decision_of_the_revision_is_refused(
    content: bytes | None, reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        decision_in(content, LOGIC_REVISION, is_reorder=True)


def test_a_decision_of_an_unknown_version_raises_an_error() -> None:
    with pytest.raises(UnknownVersion):
        decision_in(need(schema=99), LOGIC_REVISION, is_reorder=True)
