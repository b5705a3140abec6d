"""Recorded messages of the real connector decode to the key and the partition of their row."""

import json

import pytest

from cdc.contracts.decode import decode
from cdc.contracts.partition import partition_of
from cdc.contracts.topics import CAPTURED, REFERENCE_TABLES, STOCK_EVENTS
from tests.golden.recorder import kept

GOLDEN = kept()
LINES = {name: golden for name, golden in GOLDEN.items() if golden.topic == STOCK_EVENTS}


def test_there_is_a_message_for_the_insert_into_every_table() -> None:
    wanted = {f"{table}.c" for table in (*CAPTURED, *REFERENCE_TABLES)}

    assert wanted - GOLDEN.keys() == set(), "record them: docs/how-to/add-a-captured-table.md, 4"


@pytest.mark.parametrize("name", LINES)
def test_a_recorded_message_can_be_decoded(name: str) -> None:
    golden = LINES[name]
    assert golden.key is not None

    record = decode(golden.key.encode(), golden.value.encode(), offset=7)

    assert record is not None


@pytest.mark.parametrize("name", GOLDEN)
def test_recorded_message_keys_equal_the_key_column_of_the_row(name: str) -> None:
    golden = GOLDEN[name]
    envelope = json.loads(golden.value)
    image = envelope["after"] or envelope["before"]

    assert golden.key == image.get("inv_key", image.get("code"))


@pytest.mark.parametrize("name", LINES)
def test_the_partition_is_the_one_that_the_key_hashes_to(name: str) -> None:
    golden = LINES[name]
    assert golden.key is not None

    assert golden.partition == partition_of(golden.key.encode())
