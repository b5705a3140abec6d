"""Checks of a running stack: services, Postgres, topics, logic revision, lag and freshness."""

from typing import Any, Final, LiteralString

from cdc.capture.admin import Drift, topic_drift
from cdc.contracts.topics import APP_ID, REFERENCE, STOCK_EVENTS
from cdc.deciding import deciding_revision, former_revision
from deploy.doctor.archive import archive
from deploy.doctor.capturing import (
    connector,
    identity,
    publication,
    reading,
    resuming,
    slot,
)
from deploy.doctor.failures import Failure, row_of
from deploy.doctor.halted import halted
from deploy.doctor.proof import proof
from deploy.doctor.repairs import RESTART_ALL, joined
from deploy.doctor.row import Row, ok
from deploy.doctor.service_failure import service_failure
from deploy.revisions.shadow import home_of
from deploy.stack import observe, status
from deploy.stack.context import WORKER_PREFIX
from deploy.stack.home import Home
from deploy.stack.observe import StackState
from deploy.stack.runtime import environment_of, read_runtime
from inventory.explain.formatting import counted_text
from inventory.revision import LOGIC_REVISION
from streams.engine.restore import CHANGELOGS
from streams.exit_codes import meaning_of

_RUNS: Final = observe.RUNNING
_LAG_RECORDS: Final = 10_000
_FRESH_S: Final = 30.0
_LAST_BEAT: Final[LiteralString] = """
SELECT extract(epoch FROM clock_timestamp() - max(occurred_at)) FROM retail.pipeline_heartbeat
"""


def services(home: Home, seen: StackState) -> Row:
    """Check that every wanted service is ready: its process runs, and its probe succeeds."""
    away = [name for name, state in seen.states.items() if state == observe.PAUSED]
    down = [name for name in seen.states if name in (*seen.not_ready, *away)]
    serving = sum(map(seen.serves, seen.states))
    found = f"{serving} of {len(seen.states)} running"
    told = [f"{name} ({seen.states[name]})" for name in down]
    if seen.supervisor != observe.RUNNING:
        told.insert(0, f"supervisor ({seen.supervisor})")
    found += f"; not ready: {', '.join(told)}" if told else ""
    failures = [(Failure.SUPERVISOR_AWAY, RESTART_ALL)] if seen.supervisor != _RUNS else []
    ways = {each.service: each.repair for each in halted(home)}
    failures += [service_failure(home, seen, name, ways) for name in down]
    return row_of(found, failures) if failures else ok("services", found)


def workers(home: Home) -> Row:
    """Report each service that ends repeatedly, with its repair.

    A restart doesn't help such a service. So the row is a failure even while the service runs
    between two exits.
    """
    found = halted(home)
    told = "; ".join(each.description for each in found)
    if not found:
        return ok("workers", "; ".join(("no service keeps ending", *_history(home))))
    return row_of(told, [(Failure.WORKER_HALTED, each.repair) for each in found])


def _history(home: Home) -> list[str]:
    """Return a text for each worker that has ended and runs again: the meaning of its exit code."""
    entries = sorted(read_runtime(home).services.items())
    return [
        f"earlier: {name} ended with {meaning_of(entry.last_exit)}"
        for name, entry in entries
        if name.startswith(WORKER_PREFIX) and entry.last_exit is not None
    ]


def _answer(home: Home, statement: LiteralString) -> Any:  # noqa: ANN401 -- of any column type
    with reading(home) as connection:
        row = connection.execute(statement).fetchone()
    return row and row[0]


def wal_level(home: Home) -> Row:
    """Check that Postgres' setting `wal_level` is `logical`, which change capture needs."""
    level = str(_answer(home, "SELECT current_setting('wal_level')"))
    is_logical = level == "logical"
    return ok("wal_level", level) if is_logical else Failure.OTHER_WAL_LEVEL.row(level)


def topics(home: Home) -> Row:
    """Check that all topics have the partitions and settings of `cdc.contracts.topics`."""
    drift = topic_drift(environment_of(home)["INVENTORY_KAFKA_BOOTSTRAP"])
    if not drift:
        return ok("topics", "partitions and settings as defined")
    told = (f"{d.topic} {d.setting}: expected {d.expected}, found {d.found}" for d in drift)
    kinds = {_kind_of(each) for each in drift}
    # A new generation recreates all topics, so the other repairs are not needed.
    order = (Failure.LOG_DIFFERS, Failure.TOPIC_DIFFERS, Failure.CHANGELOG_DIFFERS)
    found = [kind for kind in order if kind in kinds]
    needed = found[:1] if Failure.LOG_DIFFERS in kinds else found
    return row_of("; ".join(told), [(kind, kind.repair()) for kind in needed])


def _kind_of(drift: Drift) -> Failure:
    """Return the failure whose repair corrects `drift`.

    `drift` is a missing topic, or a topic's setting with another value than the defined one.
    """
    is_missing = drift.setting == "topic"
    if not is_missing and drift.setting != "partitions":
        return Failure.TOPIC_DIFFERS
    # A start doesn't correct a number of partitions, so such a topic must be created again.
    if drift.topic in CHANGELOGS:
        return Failure.CHANGELOG_DIFFERS
    # A start creates a missing output topic again. A source topic needs a new generation.
    is_source = drift.topic == STOCK_EVENTS or drift.topic in REFERENCE
    return Failure.TOPIC_DIFFERS if is_missing and not is_source else Failure.LOG_DIFFERS


def rules(home: Home) -> Row:
    """Check that this stack's workers run the logic revision that decides."""
    with reading(home) as connection:
        decides, former = deciding_revision(connection), former_revision(connection)
    if decides == LOGIC_REVISION:
        return ok("rules", f"logic revision {decides} decides, and the workers here have it")
    found = f"logic revision {decides} decides, but the workers here have {LOGIC_REVISION}"
    # If this code's revision decided before the newest switch, a rollback makes it decide again. It
    # needs no approval, unlike `promote`.
    is_cut_over = former == LOGIC_REVISION
    failure = Failure.SWITCHED_TO_OTHER_RULES if is_cut_over else Failure.OTHER_RULES_DECIDE
    if read_runtime(home_of(home, decides)).running:
        return failure.row(found, decides=decides, without="")
    found += f"; desks keep the proposals of revision {decides} and get no new ones"
    return failure.row(found, decides=decides, without=" --without-comparison")


def lag(home: Home) -> Row:
    """Check that the workers' group and each sink are less than 10,000 records behind."""
    variables = environment_of(home)
    found = status.lags(
        variables["INVENTORY_KAFKA_BOOTSTRAP"], variables["INVENTORY_READ_DATABASE_URL"]
    )
    text = ", ".join(
        f"{name} {counted_text(int(entry['records']), 'record')}" for name, entry in found.items()
    )
    behind = [name for name, entry in found.items() if entry["records"] >= _LAG_RECORDS]
    if not behind:
        return ok("lag", text or "unknown")
    return Failure.LAG.row(text, repair=joined(_restart_of(home, name) for name in behind))


def _restart_of(home: Home, name: str) -> str:
    """Return the command that restarts the service `name`.

    If `name` is the workers' group, the command restarts all workers. If the stack has no such
    service, the command restarts the whole stack. A restart helps a reader that hangs. It delays a
    reader that is only busy.
    """
    services = read_runtime(home).services
    if name == APP_ID and any(each.startswith(WORKER_PREFIX) for each in services):
        return "inventory workers restart --rolling"
    return f"inventory restart {name}" if name in services else RESTART_ALL


def freshness(home: Home) -> Row:
    """Check that the oldest heartbeat in the read model is less than 30 s old."""
    variables = environment_of(home)
    database = variables["INVENTORY_READ_DATABASE_URL"]
    age = status.freshness(database)
    found = "no heartbeat yet" if age is None else f"the oldest heartbeat is {age} s old"
    if age is not None and age < _FRESH_S:
        return ok("freshness", found)
    return Failure.STALE.row(found, repair=_stale_link(home, variables))


def _stale_link(home: Home, variables: dict[str, str]) -> str:
    """Return the command that repairs the stages of the pipeline that make no progress."""
    beat = _answer(home, _LAST_BEAT)
    if beat is None or float(beat) > _FRESH_S:
        return _restart_of(home, "heartbeat")
    waiting = status.lags(
        variables["INVENTORY_KAFKA_BOOTSTRAP"], variables["INVENTORY_READ_DATABASE_URL"]
    )
    behind = [name for name, entry in waiting.items() if entry["seconds"] > _FRESH_S]
    readers = joined(_restart_of(home, name) for name in behind)
    return readers or resuming(home) or _restart_of(home, "connect")


# The services that each check queries. If one of them is not ready, the check doesn't run.
QUERIED_SERVICES: Final[dict[str, tuple[str, ...]]] = {
    "wal_level": ("postgres",),
    "slot": ("postgres",),
    "publication": ("postgres",),
    "identity": ("postgres",),
    "connector": ("connect", "postgres", "kafka"),  # without a broker, Connect doesn't answer
    "topics": ("kafka",),
    "rules": ("postgres",),
    "lag": ("kafka", "postgres"),
    "freshness": ("postgres",),
    "proof": ("postgres",),
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
    archive,
    proof,
)
# Checks that only `doctor` makes. The problems that they find stop no service, so `status` leaves
# them out.
DOCTOR_ONLY: Final = (lag, freshness, archive)
