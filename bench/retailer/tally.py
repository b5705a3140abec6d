"""Figures of a run, printed as one line during the run and as a table at its end."""

from dataclasses import asdict, dataclass

from typing_extensions import override


@dataclass(slots=True)
class Traded:
    """Figures of a run, written by two threads: one for sales, one for staff.

    Both threads write `refused`. Each other figure is written by one thread only.
    """

    scenario: str = "normal"
    seed: int = 1
    seconds: float = 0.0
    planned_lines: int = 0
    lines: int = 0
    lost_lines: int = 0
    lost_units: int = 0
    late_lines: int = 0
    thefts: int = 0
    transfers: int = 0
    counts: int = 0
    variances: int = 0
    adjustments: int = 0
    prices_set: int = 0
    at_the_floor: int = 0
    bought_in: int = 0
    approved: int = 0
    changed: int = 0
    split: int = 0
    rejected: int = 0
    snoozed: int = 0
    orders_sent: int = 0
    confirmed: int = 0
    confirmed_short: int = 0
    shipped: int = 0
    receipts: int = 0
    short_or_damaged: int = 0
    prices_approved: int = 0
    prices_rejected: int = 0
    refused: int = 0
    behind_s: float = 0.0
    is_interrupted: bool = False

    @property
    def actions(self) -> int:
        """Return the number of transfers, counts and adjustments."""
        return self.transfers + self.counts + self.adjustments

    @property
    def lines_per_s(self) -> float:
        """Return the planned lines per second, including lines that were not sold."""
        return self.planned_lines / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, object]:
        """Return all figures as a JSON object."""
        rate = {"planned_lines_per_s": round(self.lines_per_s, 1)}
        return {
            name: round(value, 3) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        } | rate

    @override
    def __str__(self) -> str:
        behind = f", {self.behind_s:.1f} s behind" if self.behind_s > 1 else ""
        return (
            f"{self.seconds:.0f} s: {self.lines} sale lines, {self.lost_units} units not sold,"
            f" {self.receipts} receipts, {self.approved} reorders approved,"
            f" {self.actions} transfers, counts and adjustments, {self.refused} refused{behind}"
        )

    def summary(self) -> list[tuple[str, str]]:
        """Return the final table as pairs of label and text."""
        reorders = (
            f"{self.approved} approved ({self.changed} changed, {self.split} split),"
            f" {self.rejected} rejected, {self.snoozed} snoozed"
        )
        orders = (
            f"{self.orders_sent} sent, {self.confirmed} lines confirmed"
            f" ({self.confirmed_short} short), {self.shipped} shipped"
        )
        prices = (
            f"{self.prices_approved} approved, {self.prices_rejected} rejected,"
            f" {self.prices_set} set by hand, {self.at_the_floor} stopped by the price floor"
        )
        return [
            ("scenario, seed", f"{self.scenario}, {self.seed}"),
            ("seconds", f"{self.seconds:.0f}, {self.behind_s:.1f} behind the plan at the end"),
            ("lines wanted", f"{self.planned_lines}, {self.lines_per_s:.0f} a second"),
            ("lines sold", f"{self.lines}, {self.late_lines} of them sent late"),
            ("not sold, shelf empty", f"{self.lost_lines} lines, {self.lost_units} units"),
            ("stolen, unrecorded", f"{self.thefts} units"),
            ("bought before the run", f"{self.bought_in} units"),
            ("counts", f"{self.counts}, {self.variances} with a variance"),
            ("transfers, adjustments", f"{self.transfers}, {self.adjustments}"),
            ("reorders", reorders),
            ("orders", orders),
            ("receipts", f"{self.receipts}, {self.short_or_damaged} short or damaged"),
            ("prices", prices),
            ("refused commands", str(self.refused)),
        ]
