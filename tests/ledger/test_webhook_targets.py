"""Addresses that webhooks may have: public ones, checked again when the sender connects."""

import ipaddress
import socket
from importlib import import_module

import pytest

from ledger.kernel.errors import ServiceError
from ledger.webhooks import targets
from ledger.webhooks.posting import Limits, post
from tests.ledger.receiver import running_receiver

CLOSED = Limits(timeout_s=5.0, private_allowed=False)
OPEN = Limits(timeout_s=5.0, private_allowed=True)


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.com/", "file:///etc/passwd", "gopher://example.com", "example.com/hooks"),
        *("https://", "https:///hooks", "https://example.com:0/", "https://example.com:99999/"),
        "HTTPS://example.com/",
        *("https://user:secret@example.com/", "https://user@example.com/", "https://a.b/#part"),
        *("https://example.com/a b", "https://exämple.com/", "https://example.com/\n"),
        "https://example.com/" + "a" * 500,
    ],
)
@pytest.mark.parametrize("private_allowed", [True, False])
def test_a_malformed_webhook_address_is_refused(url: str, *, private_allowed: bool) -> None:
    with pytest.raises(ServiceError):
        targets.check_url(url, private_allowed=private_allowed)


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST", "a.localhost", "localhost.", "127.0.0.1", "127.1.2.3"),
        *("localhost.localdomain", "a.localhost.localdomain", "a.localhost."),
        *("10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.1.2.3"),
        *("[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::10.0.0.1]"),
        *("[2002:7f00:1::]", "224.0.0.1", "[ff02::1]", "255.255.255.255"),
        *("[fec0::1]", "[::127.0.0.1]", "[64:ff9b:1::a00:1]", "[4000::1]"),
    ],
)
def test_an_address_that_is_not_public_is_refused_unless_the_setting_allows_it(host: str) -> None:
    url = f"https://{host}/hooks"

    with pytest.raises(ServiceError, match="public address"):
        targets.check_url(url, private_allowed=False)
    assert targets.check_url(url, private_allowed=True) == url


def test_public_addresses_are_accepted() -> None:
    for host in (
        *("example.com", "example.com:8443", "8.8.8.8", "[2606:4700::1111]"),
        *("mylocalhost", "my-localhost.localdomain", "localhost.example.com"),
    ):
        url = f"https://{host}/hooks?a=b"
        assert targets.check_url(url, private_allowed=False) == url
    assert targets.is_public(ipaddress.ip_address("64:ff9b::808:808"))


def test_the_sender_checks_the_resolved_address_when_it_connects() -> None:
    """A name with a private address can be registered. The sender refuses it when connecting."""
    with running_receiver() as receiver:
        port = receiver.url.rpartition(":")[2].partition("/")[0]
        for url in (receiver.url, f"http://localhost:{port}/hooks"):
            refused = post(url, b"{}", {}, CLOSED)
            assert refused.status is None
            assert "TargetRefused" in refused.problem
            assert "which is not public" in refused.problem
        assert receiver.requests == []
        assert post(receiver.url, b"{}", {}, OPEN).is_delivered
        assert len(receiver.requests) == 1


def test_a_name_with_one_private_address_among_public_ones_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If one of a name's addresses is private, the sender tries none of its addresses."""
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))
        for address in ("8.8.8.8", "10.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    with pytest.raises(targets.TargetRefused, match=r"10\.0\.0\.1"):
        targets.connect("both.example", 80, 1.0, private_allowed=False)


def test_a_receiver_that_answers_byte_by_byte_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = import_module("threading").Thread(target=_drip, args=(server,))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        answer = post(url, b"{}", {}, Limits(timeout_s=0.3, private_allowed=True))
        thread.join(30)

    assert answer.problem == "no answer within 0.3 s"


def _drip(server: socket.socket) -> None:
    """Send a header without an end, a byte each 10 ms, until the sender leaves."""
    connected, _ = server.accept()
    never = import_module("threading").Event()
    with connected:
        try:
            connected.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not never.wait(0.01):
                connected.sendall(b"a")
        except OSError:
            return


def test_a_long_answer_is_not_read_to_its_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = import_module("threading").Thread(target=_flood, args=(server,))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        answer = post(url, b"{}", {}, OPEN)
        thread.join(30)

    assert not thread.is_alive()
    assert answer.status == 200


def _flood(server: socket.socket) -> None:
    connected, _ = server.accept()
    with connected:
        try:
            connected.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            for _ in range(16_000):
                connected.sendall(b"a" * 65_536)
        except OSError:
            return


def test_a_receiver_without_tls_at_an_https_address_is_an_error() -> None:
    with running_receiver() as receiver:
        answer = post(receiver.url.replace("http:", "https:"), b"{}", {}, OPEN)

    assert answer.status is None
    assert "SSL" in answer.problem
