"""The bench of other engines: its input, its own fold, its schedule and its table."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from subprocess import Popen
from threading import Thread
from typing import NoReturn

import pytest
from typing_extensions import override

from bench.peers import trial
from bench.peers.catalogue import BY_NAME, PEERS
from bench.peers.fold import PartitionSums, decode_row, split_window_key
from bench.peers.peer import PeerContext, Services
from bench.peers.report import Report
from bench.peers.run import Plan
from bench.peers.sales import Sums, draw
from bench.peers.trial import Figures, PeerFailed, Run, Trial
from bench.peers.worker_prelude import opening_units
from cdc.contracts.decode import decode
from inventory.fold.partition import Partition

FIGURES = Figures(
    records=1_000,
    start_s=1.0,
    wall_s=0.5,
    cpu_s=0.01,
    beside_cpu_s=0.0,
    broker_cpu_s=0.002,
    peak_bytes=50_000_000,
    load=1.5,
)


def records(number: int) -> list[tuple[int, bytes, bytes]]:
    return [(i, key, value) for i, (key, value) in enumerate(draw(number, 50).records())]


def sums_of(state: PartitionSums) -> Sums:
    levels, windows = state.changed()
    return Sums(
        {key: decode_row(value)[0] for key, value in levels},
        {split_window_key(key): decode_row(value)[0] for key, value in windows},
    )


def test_the_fold_of_the_bench_agrees_with_the_independent_sums() -> None:
    state = PartitionSums()
    state.fold(records(2_000))

    assert draw(2_000, 50).sums().differing(sums_of(state)) == 0


def test_lines_that_are_read_again_after_a_restore_change_nothing() -> None:
    first, again = PartitionSums(), PartitionSums()
    first.fold(records(500))
    levels, windows = first.changed()
    for key, value in levels:
        again.restore_level(key, value)
    for key, value in windows:
        again.restore_window(key, value)

    again.fold(records(500)[-20:])

    changed = sums_of(again)
    assert changed.on_hand
    assert changed.on_hand.items() <= draw(500, 50).sums().on_hand.items()


def test_a_line_after_the_grace_period_is_in_no_window() -> None:
    state = PartitionSums()
    lines = records(200)
    state.fold(lines[-1:])
    state.changed()

    state.fold([(1_000, lines[0][1], lines[0][2])])

    levels, windows = state.changed()
    assert (len(levels), windows, state.late) == (1, [], 1)


def test_missing_extra_and_different_sums_all_count_as_differences() -> None:
    ours = Sums({b"a": 1, b"b": 2}, {(b"a", 0): 1})
    theirs = Sums({b"a": 1, b"b": 3, b"c": 1}, {})

    assert ours.differing(theirs) == 3


def test_the_rules_apply_every_line_of_the_bench_input() -> None:
    partition = Partition(1)

    verdicts = {
        partition.apply(decode(key, value, offset=offset)).verdict
        for offset, key, value in records(300)
    }

    assert verdicts == {"applied"}


def test_every_key_has_opening_units_before_the_sales() -> None:
    assert set(opening_units(50)) == {name.encode() for name in draw(1, 50).names}


def test_every_second_block_runs_the_peers_in_reverse_order() -> None:
    plain, sql = BY_NAME["plain"], BY_NAME["sql"]
    order = Plan(10, 10, (plain, sql), 2, 60.0).order()

    assert [peer.name for peer in order] == ["plain", "sql", "sql", "plain"]


def test_a_slow_peer_reads_fewer_records_from_a_separate_topic() -> None:
    plain, faust = BY_NAME["plain"], BY_NAME["faust"]
    large, small = Plan(1_000_000, 10, (), 1, 60.0), Plan(10, 10, (), 1, 60.0)

    assert (large.size(plain), large.topic(plain)) == (1_000_000, plain.input)
    assert (large.size(faust), large.topic(faust)) == (20_000, f"{faust.input}.20000")
    assert (small.size(faust), small.topic(faust)) == (10, faust.input)
    whole = draw(500, 50)
    assert list(whole.first(20).records()) == list(whole.records())[:20]
    assert sum(whole.first(20).sums().on_hand.values()) == -int(whole.units[:20].sum())


def test_the_cpu_time_of_a_peer_is_available_after_its_end(tmp_path: Path) -> None:
    """The bench reads a peer's CPU time after the peer has reported its end, or even has exited."""
    program = "import time\nwhile time.process_time() < 0.2: pass"

    def start(command: Sequence[str], _extra: object, log: Path) -> Popen[bytes]:
        log.touch()
        return Popen([sys.executable, "-c", program])  # noqa: S603 -- our own

    services = Services("", os.getpid(), {"ours": ()}, start)
    place = PeerContext(services, "topic", "name", tmp_path, 1)
    running = Run(BY_NAME["plain"], place, time.monotonic() + 60)

    try:
        running.until(running._has_ended, "its end")
        used, _, _ = running.cpu()
        with pytest.raises(PeerFailed, match="ended with 0 before the moon"):
            running.until(lambda: False, "the moon")
    finally:
        running.stop()

    assert used >= 0.1


def test_a_worker_counts_as_restored_when_readyz_answers_200(tmp_path: Path) -> None:
    ready: list[bool] = []

    class Readyz(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if ready and self.path == "/readyz" else 503)
            self.end_headers()

        @override
        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Readyz)
    port = {"INVENTORY_WORKER_PORT": str(server.server_port)}
    services = Services("", 0, {}, lambda *_: Popen([]), worker_environment=port)
    worker = BY_NAME["worker"]
    assert worker.restored is not None
    is_restored = worker.restored(PeerContext(services, "topic", "name", tmp_path, 1))

    serving = Thread(target=server.serve_forever)
    serving.start()
    try:
        before = is_restored()
        ready.append(True)
        after = is_restored()
    finally:
        server.shutdown()
        server.server_close()
        serving.join()

    assert (before, after, is_restored()) == (False, True, False)


def test_a_peer_with_wrong_results_has_no_figures_in_the_table() -> None:
    peers = (BY_NAME["plain"], BY_NAME["sql"], BY_NAME["quix"])
    trials = [
        Trial("plain", FIGURES, restore_s=2.0),
        Trial("plain", replace(FIGURES, wall_s=1.0), restore_s=4.0),
        Trial("sql", FIGURES),
        Trial("sql", differing=7, problem="wrong"),
        Trial("quix", problem="timed out before its first record"),
    ]

    report = Report(peers, trials, keys=5, windows=9)

    right, wrong, stuck = report.rows()
    assert right[:6] == ["plain", "right", "1,000", "1,500", "2,000 1,000", "10.00"]
    assert right[-2:] == ["3.0", "1.5–1.5"]
    assert wrong[:3] == ["sql", "WRONG, 7 differ", ""]
    assert stuck[:3] == ["quix", "no figures; the reason is below", ""]
    assert "quix: timed out before its first record" in report.as_text()
    assert len(report.as_json()["trials"]) == 5


def test_a_peer_without_its_environment_is_left_out_with_the_reason() -> None:
    def start(*_: object) -> NoReturn:
        raise AssertionError

    services = Services("", 0, {}, start, missing={"quix": "uv failed"})

    assert trial.environment_problem(BY_NAME["quix"], services) == "uv failed"
    assert trial.environment_problem(BY_NAME["sql"], services) == ""


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_the_program_file_of_each_peer_exists(peer) -> None:
    paths = [part for part in peer.command(None) if part.endswith(".py")]

    assert all(Path(path).is_file() for path in paths)
