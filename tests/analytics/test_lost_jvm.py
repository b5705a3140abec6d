"""Nothing but one message is printed when Spark's JVM ends."""

import socket

import pytest

from analytics.engines.lost_jvm import silence_accumulators

pytestmark = pytest.mark.engines

TOKEN = "the token of this test"  # noqa: S105 -- of this test


def test_a_jvm_that_ends_while_it_reports_accumulators_prints_no_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    from pyspark.accumulators import _start_update_server  # noqa: PLC0415 -- loads pyspark

    server = _start_update_server(TOKEN, is_unix_domain_sock=False)
    try:
        silence_accumulators(server)
        port = server.socket.getsockname()[1]
        with socket.create_connection(("localhost", port)) as jvm:
            jvm.sendall(TOKEN.encode())
            jvm.shutdown(socket.SHUT_WR)
            assert jvm.recv(1) == b""  # the server has closed its side too
    finally:
        server.shutdown()

    assert capfd.readouterr().err == ""
