"""The report of `inventory bench backfill` as text."""

from collections.abc import Sequence
from typing import Final

from bench.backfill.run import LOCAL, Sized, Trial

_MIB: Final = 1 << 20
_HEAD: Final = (
    f"{'engine':<14} {'seconds':>8} {'records/s':>10} {'of local':>8} {'CPU-s/M':>8} "
    f"{'a core':>8} {'of fold':>8} {'whole':>6} {'orch.':>6} {'peak MiB':>9} {'largest':>8}"
)
_LEGEND: Final = (
    "of local: records/s, divided by those of the engine `local`; empty if `local` did not run.",
    "a core: records per CPU second of the computing processes.",
    "of fold: `a core`, divided by the rate of `bench fold` for decode, dedupe and fold.",
    "whole: `a core`, divided by the rate of `bench fold` from bytes to bytes.",
    "orch.: share of the CPU time of driver and JVMs, start included.",
    "sums: tools that only add up units sold per key. Only dict checks the files.",
)


def as_text(machine: str, sizes: Sequence[Sized]) -> str:
    """Return one table per size, followed by the meaning of the columns."""
    lines = [machine]
    for sized in sizes:
        lines += ["", *_table(sized)]
    lines += ["", *_LEGEND]
    return "\n".join(lines)


def _table(sized: Sized) -> list[str]:
    size, fold = sized.size, sized.fold
    written = f", written at {sized.written_per_s:,.0f} /CPU-s" if sized.written_per_s else ""
    spread = " and ".join(f"{each.applied:,.0f}" for each in sized.folds)
    head = (
        f"{size.records:,} records of {size.keys:,} keys, {sized.archive_bytes / _MIB:,.0f} MiB"
        f"{written}; load {sized.load:.1f}; digest {sized.digest}"
    )
    folds = f"bench fold: {spread} /CPU-s before and after, whole {fold.whole:,.0f}"
    base = next((each.rate for each in sized.trials if each.name == LOCAL), 0.0)
    lines = [head, folds, _HEAD]
    lines += [_row(each, base, sized) for each in sized.trials]
    lines += [_row(each, base, None) for each in sized.sums]
    return lines + [f"skipped: {reason}" for reason in sized.skipped]


def _row(trial: Trial, base: float, sized: Sized | None) -> str:
    cost, shares = trial.cost, f"{'':>8} {'':>8} {'':>6} {'':>6}"
    if sized is not None:
        fold = sized.fold
        shares = (
            f"{trial.core_rate:>8,.0f} {trial.core_rate / fold.applied:>8.2f} "
            f"{trial.core_rate / fold.whole:>6.2f} {cost.orchestration:>6.1%}"
        )
    name = trial.name if sized is not None else f"sums, {trial.name}"
    relative = f"{trial.rate / base:>8.2f}" if base else f"{'':>8}"
    return (
        f"{name:<14} {trial.seconds:>8.1f} {trial.rate:>10,.0f} {relative} "
        f"{cost.cpu_s * 1e6 / trial.records:>8.1f} {shares} {cost.peak_bytes / _MIB:>9,.0f} "
        f"{cost.largest_bytes / _MIB:>8,.0f}"
    )
