"""Checks of a running stack, each against what the contracts say."""

from typing import Final

import psycopg

from cdc.capture.admin import Drift, topic_drift
from cdc.contracts.topics import APP_ID, CAPTURED, REFERENCE_TABLES, STOCK_EVENTS
from deploy.doctor.capturing import connector, publication, slot
from deploy.doctor.halted import halted
from deploy.doctor.repairs import RESTART_ALL, joined, of_service
from deploy.doctor.row import Row, judge
from deploy.stack import observe, status
from deploy.stack.home import Home
from deploy.stack.observe import Seen
from deploy.stack.runtime import environment_of, read_runtime
from deploy.stack.workforce import PREFIX
from inventory.revision import LOGIC_REVISION
from streams.endings import meaning_of
from streams.engine.mismatch import repair_of
from streams.engine.restore import CHANGELOGS

_LAG_RECORDS: Final = 10_000
_FRESH_S: Final = 30.0
_LAST_BEAT: Final = """
SELECT extract(epoch FROM clock_timestamp() - max(occurred_at)) FROM retail.pipeline_heartbeat
"""
_IDENTITY: Final = """
SELECT c.relname, c.relreplident FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'retail' AND c.relname = ANY(%s)
"""


def services(home: Home, seen: Seen) -> Row:
    """Every wanted service does its work, by its process and its probe of now."""
    away = [name for name, state in seen.states.items() if state == observe.PAUSED]
    down = [name for name in seen.states if name in (*seen.unwell, *away)]
    serving = sum(map(seen.serves, seen.states))
    found = f"{serving} of {len(seen.states)} running"
    told = [f"{name} ({seen.states[name]})" for name in down]
    if seen.supervisor != observe.RUNNING:
        told.insert(0, f"supervisor ({seen.supervisor})")
    found += f"; not: {', '.join(told)}" if told else ""
    ways = {each.service: each.repair for each in halted(home)}
    repair = joined(of_service(home, seen, name, ways) for name in down) or RESTART_ALL
    on_its_way = bool(down) and all(seen.states[name] in observe.ON_ITS_WAY for name in down)
    return judge("services", well=not told, found=found, repair=repair, mild=on_its_way)


def workers(home: Home) -> Row:
    """No worker ends again and again for a reason that a restart does not cure."""
    found = halted(home)
    told = "; ".join(each.told for each in found)
    return judge(
        "workers",
        well=not found,
        found=told or "; ".join(("none halts", *_history(home))),
        repair=joined(each.repair for each in found),
    )


def _history(home: Home) -> list[str]:
    """Return how workers ended that run again."""
    entries = sorted(read_runtime(home).services.items())
    return [
        f"earlier: {name} ended with {meaning_of(entry.last_exit)}"
        for name, entry in entries
        if name.startswith(PREFIX) and entry.last_exit is not None
    ]


def _query(home: Home, statement: str, *values: object) -> list[tuple[object, ...]]:
    url = environment_of(home)["INVENTORY_READ_DATABASE_URL"]
    with psycopg.connect(url, connect_timeout=3, autocommit=True) as connection:
        return connection.execute(statement, values).fetchall()


def wal_level(home: Home) -> Row:
    """Without logical WAL there is no change capture."""
    level = str(_query(home, "SELECT current_setting('wal_level')")[0][0])
    return judge("wal_level", well=level == "logical", found=level, repair=RESTART_ALL)


def identity(home: Home) -> Row:
    """Own keys need the full before-image; a heartbeat row is never deleted and keeps its key."""
    tables = [*CAPTURED, *REFERENCE_TABLES]
    rows = {str(name): str(kind) for name, kind in _query(home, _IDENTITY, tables)}
    wrong = [t for t in tables if rows.get(t) != "f" and t != "pipeline_heartbeat"]
    found = "FULL everywhere" if not wrong else f"not FULL: {', '.join(wrong)}"
    statement = f"ALTER TABLE retail.{wrong[0]} REPLICA IDENTITY FULL" if wrong else ""
    return judge("replica identity", well=not wrong, found=found, repair=statement)


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
    return (
        repair_of(drift.topic) if drift.setting == "partitions" and is_shared_out else RESTART_ALL
    )


def rules(home: Home) -> Row:
    """The logic revision that decides is that of the workers here."""
    rows = _query(home, "SELECT revision FROM app.revision_switch ORDER BY id DESC LIMIT 1")
    decides = rows[0][0] if rows else LOGIC_REVISION
    return judge(
        "rules",
        well=decides == LOGIC_REVISION,
        found=f"logic revision {decides} decides, workers here are of {LOGIC_REVISION}",
        repair=f"inventory revision promote {LOGIC_REVISION} --without-comparison"
        f"  # or deploy the code of revision {decides}",
        mild=True,
    )


def lag(home: Home) -> Row:
    """No reader is far behind."""
    variables = environment_of(home)
    found = status.lags(
        variables["INVENTORY_KAFKA_BOOTSTRAP"], variables["INVENTORY_READ_DATABASE_URL"]
    )
    text = ", ".join(f"{name} {entry['records']}" for name, entry in found.items())
    behind = [name for name, entry in found.items() if entry["records"] >= _LAG_RECORDS]
    repair = joined(_restart_reader(name) for name in behind)
    return judge("lag", well=not behind, found=text or "unknown", repair=repair, mild=True)


def _restart_reader(name: str) -> str:
    """Return what cures a reader that is stuck, and holds up one that only has much to do."""
    is_workers = name == APP_ID
    return "inventory workers restart --rolling" if is_workers else f"inventory restart {name}"


def freshness(home: Home) -> Row:
    """The oldest partition's heartbeat came through lately."""
    variables = environment_of(home)
    database = variables["INVENTORY_READ_DATABASE_URL"]
    age = status.freshness(database)
    well = age is not None and age < _FRESH_S
    repair = "" if well else _stale_link(home, variables)
    found = "no heartbeat yet" if age is None else f"{age} s"
    return judge("freshness", well=well, found=found, repair=repair, mild=True)


def _stale_link(home: Home, variables: dict[str, str]) -> str:
    """Return the restart of the first link, from the till to the screen, that doesn't move."""
    beat = _query(home, _LAST_BEAT)[0][0]
    if beat is None or float(str(beat)) > _FRESH_S:
        return "inventory restart heartbeat"
    waiting = status.lags(
        variables["INVENTORY_KAFKA_BOOTSTRAP"], variables["INVENTORY_READ_DATABASE_URL"]
    )
    behind = [name for name, entry in waiting.items() if entry["seconds"] > _FRESH_S]
    return joined(_restart_reader(name) for name in behind) or "inventory restart connect"


# The service that answers a check; while it is down, the check is not made.
ASKED: Final = {
    "wal_level": "postgres",
    "slot": "postgres",
    "publication": "postgres",
    "identity": "postgres",
    "connector": "connect",
    "topics": "kafka",
    "rules": "postgres",
    "lag": "kafka",
    "freshness": "postgres",
}
CHECKS: Final = (
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
