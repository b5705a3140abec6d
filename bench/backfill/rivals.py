"""Sum units sold per key with other tools, over the archive that a recomputation also reads.

Usage: `python -m bench.backfill.rivals NAME DIR`.

The sum is the part of a recomputation that these tools can do. Each sale-line record that is no
duplicate adds the units of the row after the change. It subtracts the units of the row before the
change.

No tool here computes decisions or writes states. Only the tool `dict` compares the files with the
manifest. So a complete recomputation with the same tool would be slower.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import orjson

from analytics.archive.checked import checked_rows
from analytics.archive.manifest import Manifest

Sums = dict[str, int]
_WHERE: Final = "\"table\" = 'sale_line' AND admission = 'new'"


def python_sums(archive: Path) -> Sums:
    """Return the units by key, summed with a dictionary in one process."""
    manifest, sums = Manifest(archive), defaultdict[str, int](int)
    for file in manifest.all_files():
        for row in checked_rows(manifest.storage, file.source):
            if row.table == "sale_line" and row.admission == "new" and row.value and row.key:
                sums[row.key.decode()] += _units(row.value)
    return dict(sums)


def duckdb_sums(archive: Path) -> Sums:
    """Return the units by key, summed in SQL with DuckDB's JSON functions."""
    duckdb: Any = import_module("duckdb")  # may be absent
    units = "coalesce(CAST(json_extract(body, '$.{}.quantity_units') AS BIGINT), 0)"
    query = f"""
        SELECT decode(key), sum({units.format("after")} - {units.format("before")})
        FROM (SELECT key, decode(value) AS body FROM read_parquet('{archive}/partition=*/*.parquet',
            hive_partitioning = false) WHERE {_WHERE})
        GROUP BY key
    """  # noqa: S608 -- a path of this benchmark
    return dict(duckdb.sql(query).fetchall())


def spark_group_by(archive: Path) -> Sums:
    """Return the units by key, summed with Spark SQL's JSON functions and shuffle."""
    with _Session() as session:
        rows = session.read.parquet(str(archive / "partition=*")).where(_spark(_WHERE))
        units = "coalesce(get_json_object(decode(value, 'UTF-8'), '$.{}.quantity_units'), 0)"
        both = f"sum(cast({units.format('after')} as bigint) - {units.format('before')})"
        found = rows.groupBy("key").agg(_expr(f"cast({both} as bigint)").alias("units")).collect()
        return {bytes(row["key"]).decode(): int(row["units"]) for row in found}


def apply_in_pandas(archive: Path) -> Sums:
    """Return the units by key. Spark calls a Python function per key, after its shuffle."""
    pd: Any = import_module("pandas")  # may be absent

    def summed(group: Any) -> Any:  # noqa: ANN401 -- data frames, whose types are optional here
        units = sum(_units(bytes(value)) for value in group["value"])
        return pd.DataFrame({"key": [group["key"].iloc[0]], "units": [units]})

    with _Session() as session:
        rows = session.read.parquet(str(archive / "partition=*")).where(_spark(_WHERE))
        grouped = rows.select("key", "value").groupBy("key")
        found = grouped.applyInPandas(summed, "key binary, units long").collect()
        return {bytes(row["key"]).decode(): row["units"] for row in found}


RIVALS: Final[dict[str, tuple[Callable[[Path], Sums], str]]] = {
    "dict": (python_sums, ""),
    "duckdb": (duckdb_sums, "duckdb"),
    "groupBy": (spark_group_by, ""),
    "applyInPandas": (apply_in_pandas, "pandas"),
}


def missing(name: str) -> str:
    """Return the package that a rival needs but that is not installed; "" if none is missing."""
    needed = RIVALS[name][1]
    return needed if needed and find_spec(needed) is None else ""


def main() -> None:
    """Run one rival. Print seconds, the number of keys and the sum of their units as JSON."""
    name, archive = sys.argv[1], Path(sys.argv[2])
    began = time.monotonic()
    sums = RIVALS[name][0](archive)
    seconds = time.monotonic() - began
    found = {"seconds": seconds, "keys": len(sums), "units": sum(sums.values())}
    print(json.dumps(found))  # noqa: T201 -- its result


class _Session:
    """A Spark session on two cores of this machine."""

    def __enter__(self) -> Any:  # noqa: ANN401 -- pyspark builds its session class at run time
        from pyspark.sql import SparkSession  # noqa: PLC0415 -- slow

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.host", "127.0.0.1")
        self._session = builder.config("spark.log.level", "ERROR").getOrCreate()
        return self._session

    def __exit__(self, *_error: object) -> None:
        self._session.stop()


def _expr(text: str) -> Any:  # noqa: ANN401 -- pyspark is imported late
    from pyspark.sql.functions import expr  # noqa: PLC0415 -- slow

    return expr(text)


def _spark(condition: str) -> str:
    return condition.replace('"', "`")


def _units(value: bytes) -> int:
    document = orjson.loads(value)
    return sum(
        sign * image["quantity_units"]
        for sign, image in ((1, document["after"]), (-1, document["before"]))
        if image is not None
    )


if __name__ == "__main__":
    main()
