"""The archive of `stock.events`, recomputation from it, and comparison with the live state."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def spark(
    run: str | None = "last",
    *,
    archive: bool = False,
    conf: Mapping[str, str] | None = None,
    master: str | None = None,
    home: Path | str | None = None,
    diff: Path | str | None = None,
) -> Any:  # noqa: ANN401 -- pyspark builds its session class at run time
    """Return a Spark session with a view of each table of docs/reference/history-tables.md.

    `run` names a finished run; None gives the tables of the log alone. `archive` reads the log up
    to its newest archived record instead of the run's end. `diff` is a directory that `inventory
    backfill diff --out` has written. Absent tables are written first.

    A running session is reused, also that of spark-submit. `conf` adds settings to it; `master` and
    settings that Spark reads at its start are for a new session only. Without `master` and outside
    spark-submit the session uses the cores of this machine. On a cluster, `home` must be on shared
    storage.

    Raises:
        analytics.damage.Damage: the run or the archive is damaged, or there is none.
    """
    from analytics.history.opened import Request, open_history  # noqa: PLC0415 -- loads Arrow
    from analytics.history.spark_views import session_with_views  # noqa: PLC0415 -- as above
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    settings = Connections() if home is None else Connections(home=Path(home))
    folder = None if diff is None else Path(diff)
    history = open_history(settings, Request(run, archive, diff=folder))
    return session_with_views(history, conf, master)
