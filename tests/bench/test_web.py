"""`inventory bench web` on few keys: sizes and counts, never times."""

import json
import re
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result
from typing_extensions import override

from bench.errors import BenchFailed
from bench.web import run
from bench.web.cases import cases
from bench.web.retailer import retailer
from bench.web.streams import measure
from deploy.cli import bench_web
from deploy.cli.main import app
from webui.readmodel.stock_filters import ORDERS

KEYS, STREAMS, CHANGES = 300, 20, 2
NOW_US = 1_772_452_800_000_000


def test_stores_share_all_keys_and_a_seed_gives_the_same_retailer_again() -> None:
    made = retailer(100_000, 7, NOW_US)

    sizes = [store.items for store in made.stores]
    assert sum(sizes) == 100_000
    assert sizes == sorted(sizes)
    # The stock list sorts a store with 10,000 items at most.
    assert 2 * sizes[0] < sizes[-1] <= 10_000
    assert len({store.code for store in made.stores}) == len(sizes)
    assert len({product.code for product in made.products}) == len(made.products) > sizes[-1]
    assert made == retailer(100_000, 7, NOW_US)
    assert made != retailer(100_000, 8, NOW_US)


@pytest.fixture(scope="module")
def measured() -> Iterator[Result]:
    """Run the bench. Its filled database runs until the last test of this module has ended."""
    line = f"bench web --keys {KEYS} --rounds 1 --streams {STREAMS} --changes {CHANGES} --json"
    with bench_web._database() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_web, "_database", lambda: nullcontext(server))
        yield CliRunner().invoke(app, line.split())


@pytest.mark.engines
def test_each_page_is_measured_and_each_stream_gets_each_change(measured: Result) -> None:
    assert measured.exit_code == 0, measured.output
    report = json.loads(measured.stdout)
    pages = {page["name"]: page for page in report["pages"]}
    assert all(page["nodes"] > 0 and page["wire_bytes"] > 0 for page in pages.values())
    full = ("stock, first page", "stock, deep page", *(f"one store by {name}" for name in ORDERS))
    assert {name: pages[name]["rows"] for name in full} == dict.fromkeys(full, 50)
    assert pages["search, one code"]["rows"] >= 1
    assert pages["search, one letter missing"]["rows"] == 0
    assert report["fanout"]["received"] == STREAMS * CHANGES
    # The goals of bench/results/web.md.
    assert 1 < report["first_load"]["requests"] <= 10
    assert report["first_load"]["wire_bytes"] <= 120_000
    assert report["table_mb"] > 0 < report["index_mb"]


@pytest.mark.engines
@pytest.mark.usefixtures("measured")
def test_pages_are_reported_when_the_streams_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "fill", lambda *_: None)  # the database has this retailer
    monkeypatch.setattr(run, "cases", lambda made: cases(made)[:1])
    line = f"bench web --keys {KEYS} --rounds 1 --streams 150 --changes 1"

    # Each stream needs a file descriptor.
    used = len(list(Path("/proc/self/fd").iterdir()))
    with open_files_at_most(used + 100):
        done = CliRunner().invoke(app, line.split())

    assert done.exit_code != 0
    assert re.search(r"^stock, first page +\d+", done.stdout, re.MULTILINE), done.output
    failure = r"the opening: \d+ of 150 event streams failed: .*Too many open files"
    assert re.search(f"^event streams FAILED: {failure}", done.stdout, re.MULTILINE), done.output
    assert re.search(failure, str(done.exception) + done.output)


@contextmanager
def open_files_at_most(number: int) -> Iterator[None]:
    """Limit the open files of this process and of the processes that it starts."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class OneStream(BaseHTTPRequestHandler):
    """Open the first stream, and answer 503 to each later request."""

    opened = count()

    def do_GET(self) -> None:
        is_first = next(self.opened) == 0
        self.send_response(200 if is_first else 503)
        self.end_headers()
        self.wfile.write(b"event: age\n\n" if is_first else b"try again")

    @override
    def log_message(self, *_: object) -> None:
        """Write no line to the standard error."""


def test_refused_streams_are_counted_with_the_answer_of_the_first() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), OneStream) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(BenchFailed) as failed:
                measure(f"http://127.0.0.1:{server.server_port}", "/", "", str, (3, 1))
        finally:
            server.shutdown()
            thread.join()

    assert "2 of 3 event streams failed" in str(failed.value)
    assert "503 Service Unavailable" in str(failed.value)


def test_options_out_of_range_are_refused_before_anything_starts() -> None:
    done = CliRunner().invoke(app, ["bench", "web", "--keys", "99"])

    assert done.exit_code != 0
    assert "--keys" in str(done.exception) + done.output
