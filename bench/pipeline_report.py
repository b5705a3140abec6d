"""The measurements of `inventory bench pipeline`, and their tables."""

from dataclasses import asdict, dataclass
from typing import Any

from bench import service_bytes, service_cpu
from bench.screen import Pixels
from bench.service_bytes import Written
from bench.service_cpu import ServiceCpu


@dataclass(frozen=True, slots=True)
class Sustained:
    """One offered rate: its lines, and the seconds until the workers had acknowledged all of them.

    `drain_s` is the part of these seconds after the last line was written. `lines_per_s` is the
    rate over all of these seconds.

    Timed lines have a new key: one line per second, and a last line in each partition.
    `shown_max_s` is the longest time in seconds from the commit of a timed line until the read
    model had it. `behind_max_s` is the longest time from a worker's acknowledgement until then.
    """

    offered_per_s: int
    lines: int
    writing_s: float
    acknowledged_s: float
    drain_s: float
    lines_per_s: float
    shown_max_s: float
    behind_max_s: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from a sale line's commit until two stores have the line.

    The fields `state_…` are times until the changelog has the line, the fields `shown_…` times
    until the read model has it.
    """

    lines: int
    rate_per_s: int
    state_p50_ms: float
    state_p99_ms: float
    shown_p50_ms: float
    shown_p99_ms: float
    shown_max_ms: float


@dataclass(frozen=True, slots=True)
class PipelineReport:
    """The measurements of a run."""

    sustained: tuple[Sustained, ...]
    latency: Latency
    pixels: Pixels | None
    cpu: tuple[ServiceCpu, ...] = ()
    written: tuple[Written, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return asdict(self)

    def as_text(self) -> str:
        """Return the report as tables."""
        lines = [
            f"{'':<46} until the read model has a line",
            "offered/s     lines   acknowledged/s   drain s     longest s   after the workers, s",
        ]
        lines += [
            f"{one.offered_per_s:>9} {one.lines:>9} {one.lines_per_s:>16.0f} {one.drain_s:>9.2f}"
            f" {one.shown_max_s:>13.2f} {one.behind_max_s:>22.2f}"
            for one in self.sustained
        ]
        late = self.latency
        lines += [
            "",
            f"commit to ..., {late.rate_per_s} lines/s       p50 ms    p99 ms",
            f"acknowledged state          {late.state_p50_ms:>9.0f} {late.state_p99_ms:>9.0f}",
            f"read model                  {late.shown_p50_ms:>9.0f} {late.shown_p99_ms:>9.0f}",
        ]
        if self.pixels is not None:
            lines += ["", *_paint(self.pixels)]
        if self.cpu:
            lines += ["", *service_cpu.as_table(self.cpu)]
            lines.append(service_cpu.first_full(self.cpu))
        if self.written:
            lines += ["", *service_bytes.as_table(self.written)]
        return "\n".join(lines)

    __str__ = as_text


def _paint(found: Pixels) -> list[str]:
    """Return the lines of a table of the paint latency."""
    times = (found.p50_ms, found.p99_ms, found.p999_ms, found.max_ms)
    title = (
        f"commit to a painted number, {found.rate_per_s} lines/s ({found.sold_per_s:.0f} sold), "
        f"baskets of 1 to {found.basket}, {found.pages} open pages"
    )
    row = f"{found.lines:>8} " + " ".join(f"{ms:>9.0f}" for ms in times)
    return [title, "   lines    p50 ms    p99 ms  p99.9 ms    max ms", row]
