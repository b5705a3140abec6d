"""Archives that `inventory bench backfill` generates and keeps, and its output for each engine."""

from pathlib import Path

from analytics.archive.manifest import Manifest
from bench.backfill.archive import Size, generate, generate_once
from bench.backfill.report import as_text
from bench.backfill.run import Fold, Sized, Trial
from bench.backfill.usage import Cost

SIZE = Size(records=200, keys=24, seed=1)


def content(directory: Path) -> list[tuple[str, int, str]]:
    """Return path, records and digest of each file."""
    return [(file.file, file.rows, file.digest) for file in Manifest(directory).all_files()]


def test_an_interrupted_archive_generation_starts_again_with_all_records(
    tmp_path: Path,
) -> None:
    generate(tmp_path / "undisturbed", SIZE)
    generate(tmp_path / "kept.partial", Size(records=90, keys=24, seed=1))  # as if killed there

    written_s = generate_once(tmp_path / "kept", SIZE)

    assert written_s > 0
    assert content(tmp_path / "kept") == content(tmp_path / "undisturbed")
    assert not (tmp_path / "kept.partial").exists()
    assert generate_once(tmp_path / "kept", SIZE) == 0.0


def test_a_finished_engine_is_printed_on_one_line() -> None:
    trial = Trial("local[2]", 50_000, 20.0, Cost(10.0, 8.0, 300 << 20, 200 << 20))

    told = "local[2]: 20.0 s, 2,500 records/s, 10.0 CPU-s, orchestration 20.0%, peak 300 MiB"
    assert trial.as_text() == told


def table_of(*trials: Trial) -> list[list[str]]:
    """Return the words of each engine's row."""
    folds = [Fold(25_000.0, 15_000.0)]
    sized = Sized(SIZE, 1 << 20, 0.0, 1.0, folds=folds, trials=list(trials), digest="d")
    lines = as_text("machine", [sized]).splitlines()
    return [line.split() for line in lines if line.startswith(("local", "cluster"))]


def test_the_rate_of_each_engine_is_divided_by_that_of_the_engine_local() -> None:
    cost = Cost(10.0, 8.0, 300 << 20, 200 << 20)
    spark, local = Trial("local[2]", 50_000, 20.0, cost), Trial("local", 50_000, 10.0, cost)

    first, second = table_of(spark, local)
    (alone,) = table_of(spark)

    assert first[:4] == ["local[2]", "20.0", "2,500", "0.50"]
    assert second[:4] == ["local", "10.0", "5,000", "1.00"]
    assert alone[:4] == ["local[2]", "20.0", "2,500", "200.0"]  # 200.0 is CPU-s per million records
