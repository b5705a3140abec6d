"""Checks of a running stack, each against what the contracts say."""

from typing import Final

import psycopg

from cdc.capture.admin import Drift, topic_drift
from cdc.capture.client import PUBLICATION, SLOT, client_of, connector_config
from cdc.contracts.topics import CAPTURED, REFERENCE_TABLES, STOCK_EVENTS
from deploy.doctor.halted import halted
from deploy.doctor.row import Row, judge
from deploy.stack import fleet, status
from deploy.stack.context import HOST
from deploy.stack.home import Home
from deploy.stack.runtime import environment_of, read_runtime
from inventory.revision import LOGIC_REVISION
from streams.engine.mismatch import repair_of
from streams.engine.restore import CHANGELOGS

_RETAINED_BYTES: Final = 256 * 1024 * 1024
_LAG_RECORDS: Final = 10_000
_FRESH_S: Final = 30.0
_RESTART: Final = "inventory down && inventory up --detach"
_IDENTITY: Final = """
SELECT c.relname, c.relreplident FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'retail' AND c.relname = ANY(%s)
"""
_SLOT: Final = """
SELECT active, wal_status, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn), 0)
FROM pg_replication_slots WHERE slot_name = %s
"""


def services(home: Home) -> Row:
    """Every service runs."""
    runtime = read_runtime(home)
    down = [name for name, entry in runtime.services.items() if entry.state != "running"]
    counted = f"{len(runtime.services) - len(down)} of {len(runtime.services)} running"
    found = counted + (f"; not: {', '.join(down)}" if down else "")
    paused = [name for name in down if runtime.services[name].state == fleet.PAUSED]
    ways = [fleet.way_back(home, name) for name in paused]
    ways += [f"inventory logs {name}" for name in down if name not in paused]
    return judge("services", well=not down, found=found, repair=" ; ".join(dict.fromkeys(ways)))


def workers(home: Home) -> Row:
    """No worker ends again and again for a reason that a restart does not cure."""
    found = halted(home)
    return judge(
        "workers",
        well=not found,
        found="; ".join(each.told for each in found) or "none has halted",
        repair=" ; ".join(dict.fromkeys(each.repair for each in found)),
    )


def _query(home: Home, statement: str, *values: object) -> list[tuple[object, ...]]:
    url = environment_of(home)["INVENTORY_OWNER_DATABASE_URL"]
    with psycopg.connect(url, connect_timeout=3, autocommit=True) as connection:
        return connection.execute(statement, values).fetchall()


def wal_level(home: Home) -> Row:
    """Without logical WAL there is no change capture."""
    level = str(_query(home, "SELECT current_setting('wal_level')")[0][0])
    return judge("wal_level", well=level == "logical", found=level, repair=_RESTART)


def slot(home: Home) -> Row:
    """The slot streams and keeps little WAL."""
    rows = _query(home, _SLOT, SLOT)
    if not rows:
        return Row("slot", "failure", f"{SLOT} does not exist", _RESTART)
    active, wal_status, behind = rows[0]
    well = bool(active) and wal_status in ("reserved", "extended")
    well = well and int(str(behind)) < _RETAINED_BYTES
    found = f"active {active}, {wal_status}, {behind} bytes behind"
    return judge("slot", well=well, found=found, repair="inventory logs connect")


def publication(home: Home) -> Row:
    """The publication has exactly the captured and reference tables, and the signal table."""
    statement = "SELECT tablename FROM pg_publication_tables WHERE pubname = %s"
    rows = {str(row[0]) for row in _query(home, statement, PUBLICATION)}
    missing = sorted({*CAPTURED, *REFERENCE_TABLES} - rows)
    found = f"{len(rows)} tables" + (f"; missing {', '.join(missing)}" if missing else "")
    return judge("publication", well=not missing, found=found, repair=_RESTART)


def identity(home: Home) -> Row:
    """Own keys need the full before-image; a heartbeat row is never deleted and keeps its key."""
    tables = [*CAPTURED, *REFERENCE_TABLES]
    rows = {str(name): str(kind) for name, kind in _query(home, _IDENTITY, tables)}
    wrong = [t for t in tables if rows.get(t) != "f" and t != "pipeline_heartbeat"]
    found = "FULL everywhere" if not wrong else f"not FULL: {', '.join(wrong)}"
    statement = f"ALTER TABLE retail.{wrong[0]} REPLICA IDENTITY FULL" if wrong else ""
    return judge("replica identity", well=not wrong, found=found, repair=statement)


def connector(home: Home) -> Row:
    """Connector and task run with the committed definition."""
    client = client_of(environment_of(home), timeout_s=5.0)
    try:
        state, held = client.state(), client.current_config()
    finally:
        client.close()
    same = held == connector_config(HOST, read_runtime(home).ports["postgres"])
    found = f"{state.connector}, task {state.task}, definition {'equal' if same else 'differs'}"
    return judge("connector", well=state.running and same, found=found, repair=_RESTART)


def topics(home: Home) -> Row:
    """Topics have the partitions and clean-up of the contract."""
    drift = topic_drift(environment_of(home)["INVENTORY_KAFKA_BOOTSTRAP"])
    first = drift[0] if drift else None
    found = (
        f"{first.topic} {first.setting}: expected {first.expected}, found {first.found}"
        if first
        else "as in the contract"
    )
    repair = _way_back(first) if first else ""
    return judge("topics", well=not drift, found=found, repair=repair)


def _way_back(drift: Drift) -> str:
    """A start makes missing topics and settles settings; it takes no partition away."""
    is_shared_out = drift.topic in (STOCK_EVENTS, *CHANGELOGS)
    return repair_of(drift.topic) if drift.setting == "partitions" and is_shared_out else _RESTART


def rules(home: Home) -> Row:
    """The logic revision that decides is that of the workers here."""
    rows = _query(home, "SELECT revision FROM app.revision_switch ORDER BY id DESC LIMIT 1")
    decides = rows[0][0] if rows else LOGIC_REVISION
    return judge(
        "rules",
        well=decides == LOGIC_REVISION,
        found=f"logic revision {decides} decides, workers here are of {LOGIC_REVISION}",
        repair="inventory revision list",
        mild=True,
    )


def lag(home: Home) -> Row:
    """No reader is far behind."""
    found = status.collect(home)["lag"] or {}
    text = ", ".join(f"{name} {entry['records']}" for name, entry in found.items())
    well = bool(found) and all(entry["records"] < _LAG_RECORDS for entry in found.values())
    return judge("lag", well=well, found=text or "unknown", repair="inventory status", mild=True)


def freshness(home: Home) -> Row:
    """The oldest partition's heartbeat came through lately."""
    age = status.collect(home)["freshness_seconds"]
    return judge(
        "freshness",
        well=age is not None and age < _FRESH_S,
        found="no heartbeat yet" if age is None else f"{age} s",
        repair="inventory logs heartbeat",
        mild=True,
    )


CHECKS: Final = (
    services,
    workers,
    wal_level,
    slot,
    publication,
    identity,
    connector,
    topics,
    rules,
    lag,
    freshness,
)
