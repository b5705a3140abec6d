"""Spark over the tables of a history: one temporary view per table, under the table's name."""

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from analytics.engines.spark import LOOPBACK, choose_python, is_on_this_machine, reachable
from analytics.history.catalogue import BY_NAME
from analytics.history.columns import TEXTS, HistoryTable
from analytics.history.opened import History
from inventory.tables.captured import BIGINT, BIGINTS, BOOLEAN, DATE, INTEGER, TEXT, TIME

DEFAULT_MASTER: Final = "local[*]"
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"  # spark-submit sets it for the program that it starts
_TYPES: Final = {
    BIGINT: "BIGINT",
    BIGINTS: "ARRAY<BIGINT>",
    BOOLEAN: "BOOLEAN",
    DATE: "DATE",
    INTEGER: "INT",
    TEXT: "STRING",
    TEXTS: "ARRAY<STRING>",
    TIME: "TIMESTAMP",
}
_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")
_CONF: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session_with_views(
    history: History, conf: Mapping[str, str] | None = None, master: str | None = None
) -> Any:  # noqa: ANN401 -- pyspark builds its session class at run time
    """Return the running Spark session, or a new one, with a view of each table."""
    session = _session(dict(conf or {}), master)
    for name, files in history.files.items():
        # The scheme is needed, because a cluster's default file system may be another one. The path
        # must not be encoded: Spark would look for a directory named `partition%3D3`.
        paths = [f"file://{_literal(file)}" for file in files]
        frame = session.read.schema(_ddl(BY_NAME[name])).parquet(*paths)
        frame.createOrReplaceTempView(name)
    return session


def _literal(path: str) -> str:
    """Return the path as a pattern that only this path matches: Spark reads paths as patterns."""
    return _PATTERN.sub(r"\\\g<0>", path)


def _ddl(table: HistoryTable) -> str:
    """Return the schema as text, so that Spark opens no file before a query."""
    return ", ".join(f"`{column.name}` {_TYPES[column.kind]}" for column in table.columns)


def _session(conf: dict[str, str], master: str | None) -> Any:  # noqa: ANN401 -- pyspark builds its session class at run time
    choose_python()
    is_submitted = _SUBMITTED in os.environ
    chosen = master or conf.get("spark.master") or (None if is_submitted else DEFAULT_MASTER)
    if chosen is not None and is_on_this_machine(chosen):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    from pyspark.sql import SparkSession  # noqa: PLC0415 -- slow, and reads the environment set above

    running = SparkSession.getActiveSession()
    if running is not None:
        for name, value in conf.items():
            running.conf.set(name, value)
        return running
    builder = SparkSession.builder.appName("inventory-history")
    if chosen is not None:
        builder = reachable(builder.master(chosen), chosen)
    for name, value in (_CONF | conf).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
