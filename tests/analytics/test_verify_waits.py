"""`verify` waits for parts that restart, and names a part that doesn't come back."""

import socket

from pydantic import SecretStr

from analytics.verify import BehindReport, verify
from cdc.settings import Connections


def test_verify_names_an_unreachable_database_and_compares_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = SecretStr(f"postgresql://app_ro:secret@127.0.0.1:{port}/retail")

    report = verify(timeout=0.1, settings=Connections(read_database_url=url))

    assert isinstance(report, BehindReport)
    assert report.exit_code == 2
    assert "Connection refused" in report.behind["not answering"]
    assert "secret" not in report.behind["not answering"]
