"""The function from key to partition: murmur2 of the key's bytes, as in Kafka's Java client.

Connect and aiokafka use murmur2 by default. librdkafka's default is CRC32, so every confluent-kafka
producer of this project sets `partitioner=murmur2_random`.
"""

from typing import Final

LIBRDKAFKA_PARTITIONER: Final = "murmur2_random"

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_R: Final = 24
_WORD: Final = 4
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the unsigned 32-bit murmur2 of `data` with Kafka's seed."""
    length = len(data)
    h = _SEED ^ length
    whole = length - length % _WORD
    for start in range(0, whole, _WORD):
        k = int.from_bytes(data[start : start + _WORD], "little") * _M & _MASK
        k = (k ^ k >> _R) * _M & _MASK
        h = h * _M & _MASK ^ k
    if whole != length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of(key: bytes, partitions: int = 12) -> int:
    """Return the partition of `key`, from 0 to `partitions` - 1."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
