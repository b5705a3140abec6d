"""`inventory bench backfill`: compare the engines that recompute a generated history."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from deploy import output, spark_cluster
from deploy.cli import option_checks

if TYPE_CHECKING:
    from bench.backfill.run import Clusters, Standalone

ENGINES: Final = ("local", "local[2]", "cluster-1", "cluster-2")


def bench_backfill(
    *,
    records: Annotated[
        str, typer.Option(help="Numbers of records, separated by commas; one history for each.")
    ] = "50000",
    keys: Annotated[int, typer.Option(help="Number of keys.")] = 2_000,
    engines: Annotated[
        str,
        typer.Option(
            help="Engines in the order of their runs. local[N]: Spark on N cores. cluster-N: a "
            "Spark cluster with N workers of one core."
        ),
    ] = ",".join(ENGINES),
    seed: Annotated[int, typer.Option(help="Seed of the generated history.")] = 1,
    rivals: Annotated[
        bool, typer.Option(help="Also measure DuckDB and Spark SQL on a sum of units per key.")
    ] = True,
    archive: Annotated[
        Path | None,
        typer.Option(help="Directory that keeps the generated archives. Default: none is kept."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure recomputations of a generated history: records/s, CPU, orchestration and memory.

    Orchestration is the share of the CPU time that driver and JVMs use. Compare only figures of the
    same call. The command needs no stack. It ends with an error if two engines give different
    results.
    """
    numbers = option_checks.parse_ints("--records", records, "50000,1000000")
    option_checks.check_int("--keys", keys)
    chosen = engines.split(",")
    for engine in chosen:
        option_checks.check_choice("--engines", engine, ENGINES)
    from bench.backfill import report, run  # noqa: PLC0415 -- loads Arrow and the trading code
    from bench.machine import machine  # noqa: PLC0415 -- only a measurement needs it

    with tempfile.TemporaryDirectory(prefix="inventory-backfill-") as directory:
        scratch = Path(directory)
        sizes = [run.Size(number, keys, seed) for number in numbers]
        kept = archive or scratch / "archives"
        kept.mkdir(parents=True, exist_ok=True)
        plan = run.Plan(sizes, chosen, rivals, scratch / "runs", kept)
        found = run.run(plan, _clusters(scratch), output.errors.print)
    if json:
        output.as_json({"machine": machine(), "sizes": [each.as_json() for each in found]})
    else:
        output.plain(report.as_text(machine(), found))


def _clusters(scratch: Path) -> "Clusters":
    from bench.backfill.run import Standalone  # noqa: PLC0415 -- loads Arrow and the trading code

    @contextmanager
    def started(workers: int) -> "Iterator[Standalone]":
        directory = scratch / f"cluster-{workers}"
        with spark_cluster.standalone(directory, workers=workers) as cluster:
            yield Standalone(cluster.address, cluster.pids)

    return started
