"""Compressed blocks of the states that no record has needed lately (states *at rest*).

A state is decoded when a record needs it. It takes about 150 bytes at rest and 5,000 as an object.
A snapshot file consists of these blocks, so a restart reads it without decoding a million states.

Two alternatives were rejected. A store on disk (RocksDB) writes a value before the broker has
acknowledged it, but no value may be ahead of the changelog. With `mmap`, a read within a chunk may
wait for the disk and block the event loop.
"""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import Any, Final

from cramjam import zstd
from typing_extensions import override

from cdc.contracts.state import decode_state, encode_state
from inventory.model.ids import InvKey
from inventory.model.state import KeyState

# Largest number of documents (encoded states) in a block. Blocks of 16 documents would need a third
# more bytes than blocks of 32. Blocks of 64 documents would take twice as long to decompress.
SLOTS: Final = 32
# A block gets no further document once its documents have this many bytes. A document with all
# windows of its key has about half as many bytes.
BLOCK_BYTES = 256 << 10
_SMALL: Final = 8 << 10  # compressed bytes; a half-empty block below this is rewritten
_LEVEL: Final = 1
_SEPARATOR: Final = b"\n"  # JSON escapes newlines

Document = tuple[InvKey, bytes]


@dataclass(slots=True)
class Block:
    """The compressed documents (encoded states) of up to `SLOTS` keys.

    `keys` has the key of each document, or None once a newer block contains that key. `number` is
    the block's key in `ColdStates.blocks`.
    """

    number: int
    payload: bytes
    keys: list[InvKey | None]

    @property
    def live(self) -> int:
        """Return the number of documents that no newer block supersedes."""
        return len(self.keys) - self.keys.count(None)

    @property
    def sparse(self) -> bool:
        """Return True if the block should be rewritten together with others.

        A block is sparse if at most half of its documents are current. A block below `_SMALL` bytes
        is also sparse if its current documents fill at most half of `SLOTS`.
        """
        live = self.live
        return live * 2 <= (SLOTS if len(self.payload) < _SMALL else len(self.keys))

    def documents(self) -> list[bytes]:
        """Return all documents, superseded ones included."""
        return bytes(zstd.decompress(self.payload)).split(_SEPARATOR)


@dataclass(slots=True)
class ColdStates:
    """The encoded states of many keys in compressed blocks, one document per key.

    The text of a key is in memory once: the blocks refer to the same object as the index. The index
    maps a key to its block, not to a slot number, because slot numbers would take an integer object
    per key. To find a document, its key is searched among the at most `SLOTS` keys of the block.

    Only the `add…` methods add or replace documents. The bytes of a block never change, so a thread
    can write them into a snapshot file while documents are added.
    """

    blocks: dict[int, Block] = field(default_factory=dict)
    _block_of: dict[InvKey, Block] = field(default_factory=dict)
    _next: int = 0
    _last_decoded: tuple[int, list[bytes]] = (-1, [])

    def __len__(self) -> int:
        return len(self._block_of)

    def __contains__(self, key: object) -> bool:
        return key in self._block_of

    @property
    def payload_bytes(self) -> int:
        """Return the compressed size of all blocks in bytes, superseded documents included."""
        return sum(len(block.payload) for block in self.blocks.values())

    def __iter__(self) -> Iterator[InvKey]:
        return iter(self._block_of)

    def find(self, key: InvKey) -> KeyState | None:
        """Return the state of `key`, decoded at each call, or None."""
        document = self.document(key)
        return None if document is None else decode_state(document)

    def document(self, key: InvKey) -> bytes | None:
        """Return the stored bytes of `key`, or None.

        The bytes are the encoded state. During a restore, they may be a level as in the changelog.
        """
        block = self._block_of.get(key)
        if block is None:
            return None
        if self._last_decoded[0] != block.number:
            self._last_decoded = block.number, block.documents()
        return self._last_decoded[1][block.keys.index(key)]

    def stored_key(self, key: InvKey) -> InvKey:
        """Return the stored object that equals `key`, or `key` itself if it has no document.

        A caller that keeps many keys saves memory by keeping this object instead of an equal copy.
        """
        block = self._block_of.get(key)
        return key if block is None else block.keys[block.keys.index(key)] or key

    def in_order(self, keys: Iterable[InvKey]) -> list[InvKey]:
        """Return the keys sorted by block, keys without a document first.

        A caller that reads documents in this order decompresses each block only once.
        """
        return sorted(keys, key=lambda key: (self._number_of(key), key))

    def add(self, states: Iterable[KeyState]) -> Iterator[list[InvKey]]:
        """Encode `states` and store them. After each block, yield the block's keys.

        The caller may pause between two blocks. Nothing is stored unless the caller iterates.
        """
        return self.add_documents((state.key, encode_state(state)) for state in states)

    def add_documents(self, documents: Iterable[Document]) -> Iterator[list[InvKey]]:
        """Store encoded states, as `add` does."""
        gathered: list[Document] = []
        size = 0
        for document in documents:
            gathered.append(document)
            size += len(document[1])
            if len(gathered) == SLOTS or size >= BLOCK_BYTES:
                yield self._close(gathered)
                gathered, size = [], 0
        if gathered:
            yield self._close(gathered)

    def add_block(self, payload: bytes, keys: list[InvKey | None]) -> None:
        """Add a compressed block that was just encoded or that comes from a snapshot file.

        `keys` has the key of each document, or None if a newer block contains that key. The block
        keeps and changes this list, so the caller must not use it afterwards.
        """
        block = Block(self._next, payload, keys)
        self._next += 1
        for slot, key in enumerate(keys):
            if key is not None:
                keys[slot] = self._supersede(key)
                self._block_of[key] = block
        self.blocks[block.number] = block

    def sparse(self) -> Iterator[Document]:
        """Yield key and encoded state of each key whose newest state is in a sparse block.

        `Block.sparse` defines a sparse block. If the caller adds these states again, new blocks
        replace the sparse ones.
        """
        for block in [b for b in self.blocks.values() if b.sparse]:
            documents = block.documents()
            for slot, key in enumerate(list(block.keys)):
                if key is not None:
                    yield key, documents[slot]

    def _close(self, gathered: Sequence[Document]) -> list[InvKey]:
        content = _SEPARATOR.join(document for _, document in gathered)
        payload = bytes(zstd.compress(content, level=_LEVEL))
        keys = [key for key, _ in gathered]
        self.add_block(payload, list(keys))
        return keys

    def _number_of(self, key: InvKey) -> int:
        block = self._block_of.get(key)
        return -1 if block is None else block.number

    def _supersede(self, key: InvKey) -> InvKey:
        """Remove the key from its present block. Return the stored object that equals `key`.

        Return `key` itself if it has no document yet.
        """
        block = self._block_of.get(key)
        if block is None:
            return key
        slot = block.keys.index(key)
        stored, block.keys[slot] = block.keys[slot], None
        if block.live == 0:
            del self.blocks[block.number]
        return stored or key


class States(dict[InvKey, KeyState]):
    """A dictionary of all states of a partition, some decoded (in use), all others compressed.

    If a key has both a decoded and a compressed state, the decoded one is valid. The class inherits
    from dict, because the rules expect a dict. With `keep_decoded`, a state that was looked up
    remains decoded. The fold sets this, because it replaces each state that it looks up. Queries
    don't set it.
    """

    __slots__ = ("_cold", "_keep_decoded", "_new")

    def __init__(
        self, cold: ColdStates, states: Mapping[InvKey, KeyState], *, keep_decoded: bool
    ) -> None:
        super().__init__(states)
        self._cold = cold
        self._keep_decoded = keep_decoded
        self._new = {key for key in states if key not in cold}

    def __missing__(self, key: InvKey) -> KeyState:
        state = self._cold.find(key)
        if state is None:
            raise KeyError(key)
        if self._keep_decoded:
            super().__setitem__(key, state)
        return state

    @override
    def __setitem__(self, key: InvKey, state: KeyState) -> None:
        if key not in self:
            self._new.add(key)
        super().__setitem__(key, state)

    @override
    def get(self, key: InvKey, default: Any = None) -> Any:
        """Return the state, or `default`."""
        try:
            return self[key]
        except KeyError:
            return default

    @override
    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._cold

    @override
    def __len__(self) -> int:
        return len(self._cold) + len(self._new)

    @override
    def __iter__(self) -> Iterator[InvKey]:
        yield from self._cold
        yield from self._new

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self.items()) == dict(other.items())

    __hash__ = None  # not hashable, like dict

    @override
    def keys(self) -> Any:
        """Return all keys, first those with a compressed state."""
        return KeysView(self)

    @override
    def values(self) -> Any:
        """Return all states."""
        return ValuesView(self)

    @override
    def items(self) -> Any:
        """Return all keys with their states."""
        return ItemsView(self)

    def in_use(self) -> list[InvKey]:
        """Return the keys whose states are decoded."""
        return list(super().keys())

    def count_in_use(self) -> int:
        """Return the number of decoded states."""
        return super().__len__()

    def drop_decoded(self, keys: Iterable[InvKey]) -> None:
        """Drop the decoded states of `keys`.

        The caller ensures that the compressed states of these keys equal the decoded ones.
        """
        for key in keys:
            super().pop(key, None)

    def mark_at_rest(self, keys: Iterable[InvKey]) -> None:
        """Record that `keys` now have compressed states. Their decoded states are not dropped."""
        self._new.difference_update(keys)
