"""The archive of `stock.events`, recomputation from it, and comparison with the live state.

`spark` and `duck` open history for notebooks and programs. Importing this module loads neither
Spark nor DuckDB.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analytics.history.duck import DuckHistory
    from analytics.history.opened import History


def spark(
    run: str | None = "last",
    *,
    archive: Path | str = "",
    conf: Mapping[str, str] | None = None,
    master: str | None = None,
    home: Path | str | None = None,
    diff: Path | str | None = None,
) -> Any:  # noqa: ANN401 -- pyspark builds its session class at run time
    """Return a Spark session with a view of each table of docs/reference/history-tables.md.

    `run` names a finished run; None gives only the tables of the log. `archive` is the path or URL
    of an archive to read in place of the stack's. `diff` is a directory that `inventory backfill
    diff --out` has written; its tables get views, too. The call first writes missing tables.

    If a Spark session runs already, for example in spark-submit, the call reuses this session and
    adds the settings of `conf`. `master`, and the settings that Spark reads at its start,
    affect only a new session. Without `master` and outside spark-submit the session uses the cores
    of this machine. On a cluster, `home` must be on shared storage.

    Raises:
        analytics.damage.Damage: the run or the archive is damaged or missing.
    """
    from analytics.history.spark_views import session_with_views  # noqa: PLC0415 -- loads Arrow

    return session_with_views(_opened(run, home, diff, archive), conf, master)


def duck(
    run: str | None = "last",
    *,
    archive: Path | str = "",
    home: Path | str | None = None,
    diff: Path | str | None = None,
) -> "DuckHistory":
    """Return a read-only DuckDB session over the tables of the history, in this process.

    The session has the same tables as a session of `spark`, and the parameters have the same
    meaning. No JVM is needed. `rows(statement)` runs SQL, and `ask(name)` runs a prepared query of
    `analytics/questions`. Both return a list of rows, each a dict by column name.

    Raises:
        analytics.damage.Damage: the run or the archive is damaged or missing.
    """
    from analytics.history.duck import DuckHistory  # noqa: PLC0415 -- loads DuckDB

    history = _opened(run, home, diff, archive)
    return DuckHistory(history.files, history.spill)


def _opened(
    run: str | None, home: Path | str | None, diff: Path | str | None, archive: Path | str
) -> "History":
    from analytics.history.opened import Request, open_history  # noqa: PLC0415 -- loads Arrow
    from cdc.settings import Connections  # noqa: PLC0415 -- reads the environment

    settings = Connections() if home is None else Connections(home=Path(home))
    if archive:
        settings = settings.model_copy(update={"archive": str(archive)})
    return open_history(settings, Request(run, diff=None if diff is None else Path(diff)))
