"""The measurements of `inventory bench hot`, and their tables."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Block:
    """One block: the transactions of one side, *log* or *row*, with their rate and latencies.

    All transactions of a block sell the same number of different items (`items`).

    `drain_s` is the time after the last transaction until the stock shows all sold units.
    """

    side: str
    items: int
    transactions: int
    per_s: float
    p50_ms: float
    p99_ms: float
    drain_s: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """Two figures of the side *log*, each divided by the same figure of the side *row*.

    Each side's figure is the mean of its two blocks. On the side *log*, a checkout only appends a
    sale. On the side *row*, a trigger also updates the stock. See `bench.hot`.
    """

    items: int
    rate: float
    p99: float


@dataclass(frozen=True, slots=True)
class HotReport:
    """All blocks in the order in which they ran; each lasted `seconds`."""

    clients: int
    seconds: int
    blocks: tuple[Block, ...]

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        """Return the comparison of *log* with *row* for each number of items."""
        return tuple(self._ratio(items) for items in dict.fromkeys(b.items for b in self.blocks))

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {**asdict(self), "ratios": [asdict(ratio) for ratio in self.ratios]}

    def as_text(self) -> str:
        """Return the report as two tables."""
        lines = [f"{self.clients} clients, {self.seconds} s a block", ""]
        lines += ["items   side  transactions     per s    p50 ms    p99 ms   drain s"]
        lines += [
            f"{one.items:>6}  {one.side:<4} {one.transactions:>13} {one.per_s:>9.0f} "
            f"{one.p50_ms:>9.2f} {one.p99_ms:>9.2f} {one.drain_s:>9.2f}"
            for one in self.blocks
        ]
        lines += ["", "log divided by row, means of both blocks", "items      rate       p99"]
        lines += [f"{one.items:>6} {one.rate:>9.2f} {one.p99:>9.2f}" for one in self.ratios]
        return "\n".join(lines)

    def _ratio(self, items: int) -> Ratio:
        def total(side: str, field: str) -> float:
            chosen = [b for b in self.blocks if (b.side, b.items) == (side, items)]
            return sum(float(getattr(block, field)) for block in chosen)

        return Ratio(
            items,
            rate=total("log", "per_s") / total("row", "per_s"),
            p99=total("log", "p99_ms") / total("row", "p99_ms"),
        )
