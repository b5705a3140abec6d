"""CPU time per line: the CPU time at rest is subtracted, and an ended service gives no result."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from bench.errors import BenchFailed
from bench.service_cpu import SUPERVISOR, CpuMeter, ServiceCpu, as_table, first_full

# Each input line is a number of CPU-milliseconds to use. The answer is an empty line.
_BURNER = """
import sys, time
for line in sys.stdin:
    end = time.process_time() + int(line) / 1000
    while time.process_time() < end:
        pass
    print(flush=True)
"""
Burn = Callable[[int], None]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(  # noqa: S603 -- fixed arguments
        [sys.executable, "-c", _BURNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as found:
        ask(found, 0)  # wait until it has started
        yield found
        found.kill()


def ask(process: subprocess.Popen[str], milliseconds: int) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{milliseconds}\n")
    process.stdin.flush()
    process.stdout.readline()


def test_the_cpu_time_of_a_load_is_divided_by_its_lines(process) -> None:
    meter = CpuMeter({"worker-1": process.pid})

    meter.measure_rest(0.05)
    meter.start()
    ask(process, 300)
    row, total = meter.per_line(100)

    assert (row.service, total.service) == ("worker-1", "all")
    assert 2_800 <= row.line_us <= 4_000
    assert row.rest_percent <= 25  # CPU time has ticks of 10 ms: one within 50 ms is 20 %
    assert total.line_us == row.line_us


def test_the_cpu_time_at_rest_is_subtracted(process) -> None:
    meter = CpuMeter({"connect": process.pid})

    meter.start()
    ask(process, 300)
    busy, _ = meter.per_line(100)
    meter.measure_rest(0.05)
    meter._rest["connect"] = 0.5
    meter.start()
    ask(process, 300)
    rested, _ = meter.per_line(100)

    assert busy.work_us == busy.line_us
    assert rested.work_us < rested.line_us - 1_000
    assert "connect" in "\n".join(as_table((rested,)))


def test_the_meter_measures_the_cpu_time_of_the_supervisor(process) -> None:
    meter = CpuMeter({SUPERVISOR: process.pid})

    meter.start()
    ask(process, 100)
    row, _ = meter.per_line(1)

    assert row.line_us >= 90_000


def test_a_service_that_has_ended_is_reported(process) -> None:
    ask(process, 50)
    meter = CpuMeter({"kafka": process.pid})
    meter.start()

    process.kill()
    process.wait()

    with pytest.raises(BenchFailed, match="kafka has ended"):
        meter.per_line(1)


def test_the_first_full_core_considers_only_single_process_services() -> None:
    rows = [("postgres", 90.0), ("worker-1", 50.0), ("archiver", 20.0), ("all", 160.0)]

    said = first_full(tuple(ServiceCpu(name, 0.0, us, us) for name, us in rows))

    assert said == "first process to fill one core: worker-1, at 20,000 lines/s of the stack"
