"""The second client of the reader: one for all threads that ask."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from streams.engine import kafka_log


def test_threads_that_ask_at_once_share_a_client_that_outlives_their_questions() -> None:
    together = Barrier(8)

    def ask(_number: int) -> object:
        together.wait(30)
        return kafka_log._admin("127.0.0.1:9")

    with ThreadPoolExecutor(8) as pool:
        clients = list(pool.map(ask, range(8)))

    assert all(client is clients[0] for client in clients)
    assert kafka_log._admin("127.0.0.1:9") is clients[0]
