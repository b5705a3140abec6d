"""One measured recomputation in a separate process: `python -m bench.backfill.engine`.

Arguments: the directory of a run, and optionally the address of a Spark master. Without an address,
the local engine computes the run.
"""

import json
import sys
import time
from pathlib import Path

from analytics.backfill.plan import load
from analytics.backfill.run import execute
from analytics.engines.spark import LOCAL, Cluster


def main() -> None:
    """Compute the run. Print the number of records, the digest and two times as JSON.

    `units_s` is the sum of the seconds of all units (tasks of the run). `seconds` is the time from
    start to end.
    """
    directory, master = Path(sys.argv[1]), sys.argv[2:]
    cluster = Cluster(master[0]) if master else LOCAL
    began = time.monotonic()
    report = execute(load(directory), directory.parent, cluster=cluster)
    records = sum(row.records for row in report.rows)
    unit_s = sum(row.milliseconds for row in report.rows) / 1_000
    found = {"records": records, "digest": report.digest, "units_s": unit_s}
    print(json.dumps({**found, "seconds": time.monotonic() - began}))  # noqa: T201 -- its result


if __name__ == "__main__":
    main()
