"""Today's code reads released records. Released schemas accept today's records.

States of former rules aren't read. Fields newer than the schema are left out before the check.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cdc.contracts import answers, decisions, progress, rejects, retained, state, versions
from inventory.revision import LOGIC_REVISION
from tests.cdc.contract import ANSWERS, KINDS, complaints, schema
from tests.golden.workers import kept, kept_state, written

Reader = Callable[[bytes], Any]
Writer = Callable[[Any], bytes]


def level_again(found: Any) -> bytes:
    level, dropped = found
    return state.encode_level(level, (*level.windows, *dropped))


def beat(content: bytes) -> Any:
    return progress.beat_in(((progress.BEAT_HEADER, content),))


CODECS: dict[str, tuple[Reader, Writer]] = {
    "level": (state.decode_level, level_again),
    "window": (state.decode_window, lambda found: state.encode_window(*found)),
    "state": (state.decode_state, state.encode_state),
    "reorder_event": (decisions.decode_reorder, decisions.encode_reorder),
    "price_event": (decisions.decode_price, decisions.encode_price),
    "stock_late": (rejects.decode_late, rejects.encode_late),
    "stock_rejected": (rejects.decode_rejection, rejects.encode_rejection),
    "progress": (progress.decode_progress, progress.encode_progress),
    "ring": (progress.decode_ring, progress.encode_ring),
    "beat": (beat, progress.encode_beat),
    "retained": (retained.decode_retained, retained.encode_retained),
}
STATES = ("level", "window", "state")
RELEASES = [(kind, version) for kind in KINDS for version in versions.known(kind)]


def released(kind: str, version: int) -> list[bytes]:
    return kept_state(kind, version) if kind in STATES else kept(kind, version)


@pytest.mark.parametrize("kind", STATES)
def test_a_released_state_of_former_rules_is_refused(kind: str) -> None:
    read, _ = CODECS[kind]
    former = json.loads(kept(kind, 1)[0])["logic_revision"]

    with pytest.raises(versions.UnknownVersion, match=f"logic_revision {former} is unknown"):
        read(kept(kind, 1)[0])


def test_every_kind_has_a_codec() -> None:
    assert CODECS.keys() == set(KINDS)


@pytest.mark.parametrize(("kind", "version"), RELEASES)
def test_a_released_record_is_read_and_fits_the_schema_of_its_version(
    kind: str, version: int
) -> None:
    read, _ = CODECS[kind]

    for content in released(kind, version):
        assert json.loads(content)["schema"] == version
        assert complaints(kind, content) == []
        assert read(content) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_of_the_newest_version_is_encoded_byte_for_byte(kind: str) -> None:
    read, write = CODECS[kind]

    for content in released(kind, max(versions.known(kind))):
        assert write(read(content)) == content


def test_current_records_without_newer_fields_fit_the_released_schemas() -> None:
    for kind, content in written(seed=7):
        for version in versions.known(kind):
            row = without_newer_fields(json.loads(content), schema(f"{kind}.v{version}"))
            row["schema"] = version
            assert complaints(kind, json.dumps(row).encode()) == []


def without_newer_fields(row: dict[str, Any], released: dict[str, Any]) -> dict[str, Any]:
    """Return the record without fields that the released version doesn't know."""
    return {name: found for name, found in row.items() if name in released["properties"]}


ANSWERED = [(kind, version) for kind in ANSWERS for version in versions.known(kind)]


@pytest.mark.parametrize(("kind", "version"), ANSWERED)
def test_a_released_answer_is_read_and_fits_the_schema_of_its_version(
    kind: str, version: int
) -> None:
    for content in kept(kind, version):
        document = json.loads(content)
        assert document["schema"] == version
        assert complaints(kind, content) == []
        assert answers.checked(kind, document) == document


def test_the_state_in_a_released_key_answer_can_be_decoded() -> None:
    for version in versions.known(answers.KEY):
        for content in kept(answers.KEY, version):
            value = json.loads(content)["value"] | {"logic_revision": LOGIC_REVISION}
            assert state.decode_state(json.dumps(value).encode()).inv_key == value["inv_key"]
