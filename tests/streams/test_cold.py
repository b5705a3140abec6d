"""The states at rest: their blocks and the index of keys."""

from pathlib import Path

from inventory.model.ids import InvKey
from streams.engine.cold import ColdStates
from streams.engine.snapshot import load, save
from tests.streams.lives import GENERATION, PARTITION
from tests.streams.test_engine import history
from tests.streams.test_snapshot import lived

FIRST, SECOND = InvKey("S1|A"), InvKey("S1|B")


def copied(key: InvKey) -> InvKey:
    """Return an equal key that is another object."""
    copy = InvKey("".join(list(key)))
    assert copy is not key
    return copy


def replaced() -> ColdStates:
    """Return states whose first document was replaced."""
    cold = ColdStates()
    assert list(cold.add_documents([(FIRST, b"1"), (SECOND, b"2")])) == [[FIRST, SECOND]]
    assert list(cold.add_documents([(copied(FIRST), b"3")])) == [[FIRST]]
    return cold


def test_a_replaced_document_leaves_its_block_and_an_empty_block_is_dropped() -> None:
    cold = replaced()
    assert (cold.document(FIRST), cold.document(SECOND)) == (b"3", b"2")
    assert [block.keys for block in cold.blocks.values()] == [[None, SECOND], [FIRST]]

    assert list(cold.add_documents(cold.sparse())) == [[SECOND, FIRST]]
    assert [block.keys for block in cold.blocks.values()] == [[SECOND, FIRST]]
    assert (cold.document(FIRST), cold.document(SECOND)) == (b"3", b"2")


def test_the_index_and_the_blocks_share_the_text_of_a_key() -> None:
    cold = replaced()

    (stored,) = next(iter(reversed(cold.blocks.values()))).keys
    assert stored is FIRST
    assert cold.stored_key(copied(FIRST)) is FIRST
    assert cold.stored_key(InvKey("S1|C")) == "S1|C"


def test_the_open_keys_of_a_snapshot_share_their_text_with_the_states(tmp_path: Path) -> None:
    broker = history([("range", 0, 9, 0), ("count", 0, 1, 1_000_000)])
    save(lived(broker), tmp_path)

    snapshot = load(tmp_path, PARTITION, GENERATION)

    assert snapshot is not None
    assert snapshot.open_keys == ("S1|A",)
    assert snapshot.open_keys[0] is next(iter(snapshot.cold))
