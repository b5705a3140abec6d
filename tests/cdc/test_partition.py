"""Keys have the same partition in every Kafka client."""

import pytest

from cdc.contracts.partition import murmur2, partition_of


@pytest.mark.parametrize(
    ("data", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"abc", 479470107),
    ],
)
def test_murmur2_gives_the_values_of_the_java_client(data: bytes, signed: int) -> None:
    assert murmur2(data) == signed % 2**32


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        ("S001|22197", 1),
        ("S001|23843", 9),
        ("DC1|85099B", 2),
        ("LYON-é|22197", 9),
        ("S001|POST", 6),
    ],
)
def test_a_key_has_the_same_partition_as_in_kafka_connect(key: str, partition: int) -> None:
    assert partition_of(key.encode()) == partition


def test_the_heartbeat_numbers_cover_each_partition_once() -> None:
    numbers = (1, 18, 4, 9, 6, 5, 13, 22, 3, 0, 34, 2)

    assert [partition_of(f"~heartbeat|{n}".encode()) for n in numbers] == list(range(12))
