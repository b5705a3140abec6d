"""A consumer without a stream engine: consume, add up in Python, COPY, upsert.

Sums and offsets are in one transaction of Postgres, so every line counts exactly once, and there is
nothing to restore. A window closes when the newest business time of its partition reaches the
window's end plus grace. Later lines for a closed window change only on-hand.
"""

import os
import signal
from collections import Counter
from typing import Final

import psycopg
from confluent_kafka import KafkaException, Message, TopicPartition

from bench.peers.fold import read_line
from bench.peers.programs.options import Options, read_options
from bench.peers.programs.plain_loop import end
from bench.peers.sales import GRACE_S, WINDOW_S
from bench.peers.topics import clients_consumer
from cdc.contracts.topics import PARTITIONS

DATABASE_VARIABLE: Final = "PEER_DATABASE_URL"
_BATCH: Final = 20_000
_WAIT_S: Final = 0.2
TABLES: Final = """
CREATE TABLE IF NOT EXISTS on_hand (key text PRIMARY KEY, units bigint NOT NULL);
CREATE TABLE IF NOT EXISTS windows (
    key text, start_s bigint, units bigint NOT NULL, PRIMARY KEY (key, start_s));
CREATE TABLE IF NOT EXISTS positions (
    partition int PRIMARY KEY, next_offset bigint NOT NULL, newest_s bigint NOT NULL);
CREATE TEMP TABLE new_units (key text, units bigint);
CREATE TEMP TABLE new_windows (key text, start_s bigint, units bigint);
"""
_ADD_UNITS: Final = """
INSERT INTO on_hand SELECT key, units FROM new_units ORDER BY key
ON CONFLICT (key) DO UPDATE SET units = on_hand.units + excluded.units
"""
_ADD_WINDOWS: Final = """
INSERT INTO windows SELECT key, start_s, units FROM new_windows ORDER BY key, start_s
ON CONFLICT (key, start_s) DO UPDATE SET units = windows.units + excluded.units
"""
_MOVE: Final = """
INSERT INTO positions VALUES (%s, %s, %s) ON CONFLICT (partition)
DO UPDATE SET next_offset = excluded.next_offset, newest_s = excluded.newest_s
"""


class SqlSums:
    """Sums of batches, each written with its offsets in one transaction."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        with connection.transaction():
            connection.execute(TABLES)
            found = connection.execute("SELECT * FROM positions").fetchall()
        self.places = {number: (next_offset, newest) for number, next_offset, newest in found}

    def add(self, messages: list[Message]) -> None:
        """Count a batch; return once it is committed."""
        units: Counter[str] = Counter()
        windows: Counter[tuple[str, int]] = Counter()
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            number, key = message.partition(), message.key().decode()
            sold, at_s = read_line(message.value())
            newest_s = max(at_s, self.places.get(number, (0, 0))[1])
            self.places[number] = (message.offset() + 1, newest_s)
            units[key] -= sold
            start_s = at_s - at_s % WINDOW_S
            if start_s + WINDOW_S + GRACE_S > newest_s:
                windows[key, start_s] += sold
        self._write(units, windows)

    def _write(self, units: Counter[str], windows: Counter[tuple[str, int]]) -> None:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            with cursor.copy("COPY new_units FROM STDIN") as copy:
                for row in units.items():
                    copy.write_row(row)
            with cursor.copy("COPY new_windows FROM STDIN") as copy:
                for (key, start_s), sold in windows.items():
                    copy.write_row((key, start_s, sold))
            cursor.execute(_ADD_UNITS)
            cursor.execute(_ADD_WINDOWS)
            cursor.executemany(_MOVE, [(n, at, newest) for n, (at, newest) in self.places.items()])
            cursor.execute("TRUNCATE new_units, new_windows")


def run(options: Options, url: str) -> None:
    """Consume until SIGTERM."""
    with psycopg.connect(url) as connection:
        sums = SqlSums(connection)
        consumer = clients_consumer(options.bootstrap, options.name)
        consumer.assign(_starts(options.topic, sums))
        first = True
        while True:
            messages = consumer.consume(_BATCH, _WAIT_S)
            if messages and first:
                options.mark_first()
                first = False
            if messages:
                sums.add(messages)


def _starts(topic: str, sums: SqlSums) -> list[TopicPartition]:
    return [
        TopicPartition(topic, number, sums.places.get(number, (0, 0))[0])
        for number in range(PARTITIONS)
    ]


def main() -> None:
    """Run the program."""
    signal.signal(signal.SIGTERM, end)
    run(read_options(), os.environ[DATABASE_VARIABLE])


if __name__ == "__main__":
    main()
