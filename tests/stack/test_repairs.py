"""Failures that `doctor` reports are caused, and exactly the printed commands repair each.

Uses a separate stack, which is damaged, stopped and started again. Other failures are in
`ELSEWHERE` with their tests, or in `NOT_CAUSED` with the reason.
"""

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from analytics.archive.names import HEAD, MANIFEST
from cdc.capture.admin import admin_client, create_topics, delete_topics
from cdc.capture.client import ConnectClient, client_of
from cdc.contracts.topics import (
    ON_HAND_CHANGELOG,
    SALES_WINDOWS_CHANGELOG,
    STOCK_EVENTS,
    STOCK_LATE,
    TOPICS,
)
from deploy.doctor.failures import Failure
from deploy.stack import service_commands
from deploy.stack.capture import RESUME
from deploy.stack.context import WORKER_PREFIX
from inventory.revision import LOGIC_REVISION
from streams.exit_codes import ExitCode
from tests.analytics.shop import Shop
from tests.golden.workers import kept
from tests.stack.repairing import commands_of, run_as_printed
from tests.stack.running import RunningStack, run_inventory, start
from tests.stack.scene import Cause, Scene
from tests.stack.worker_causes import (
    broker_suspended,
    changelog_of_a_newer_release,
    file_refused,
    garbage_in_the_log,
    level_behind_its_windows,
    port_taken,
    transactions_taken_over,
)

pytestmark = pytest.mark.soak

PARTS: Final = (
    "postgres,kafka,connect,migrate,topics,connector,worker-1,worker-2,projector,actuator,archiver,"
    "heartbeat,capture"
)
CHANGELOGS: Final = (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG)
LINES: Final = 10_500  # the doctor warns from 10,000 records on
RETAINED: Final = 280  # megabytes of WAL; the doctor fails from 256 on
SELL_MANY: Final = """
INSERT INTO retail.sale_line (inv_key, location, sku, source, source_ref, occurred_at,
    quantity_units, amount_minor, condition)
SELECT %(place)s || '|A', %(place)s, 'A', 'bulk', 'bulk-' || n, clock_timestamp(), 1, 100,
    'resaleable'
FROM generate_series(1, %(lines)s) AS n
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    """A stack with two workers and the services that `inventory verify` needs.

    The printed commands start the other services.
    """
    home = tmp_path_factory.mktemp("repairs") / "home"
    try:
        yield start(home, "--only", PARTS)
    finally:
        run_inventory("down", home=home)


@pytest.fixture(scope="module")
def shop(own: RunningStack) -> Shop:
    opened = Shop(own.environment["INVENTORY_OWNER_DATABASE_URL"])
    opened.trade()
    return opened


def postgres_suspended(scene: Scene) -> None:
    scene.suspend("postgres")


def worker_stopped(scene: Scene) -> None:
    assert scene.own.cli("workers", "stop", "worker-2").returncode == 0


def rebuild_cut_off(scene: Scene) -> None:
    service_commands.pause(scene.own.home, "projector")


def supervisor_suspended(scene: Scene) -> None:
    os.kill(scene.own.runtime.supervisor_pid, signal.SIGSTOP)


def supervisor_killed(scene: Scene) -> None:
    os.kill(scene.own.runtime.supervisor_pid, signal.SIGKILL)
    scene.own.wait_until(lambda: not scene.own.runtime.running)


def changelogs_made_again(scene: Scene) -> None:
    """Delete the changelogs and create them again, empty: the worker ends with exit code 66."""
    delete_topics(scene.bootstrap, CHANGELOGS)
    create_topics(scene.bootstrap, [topic for topic in TOPICS if topic.name in CHANGELOGS])


def archive_of_the_former_release(scene: Scene) -> None:
    manifest = scene.own.home.path / "archive" / MANIFEST
    scene.own.wait_until(manifest.exists)
    assert scene.own.cli("down").returncode == 0
    manifest.write_bytes(b"".join(line + b"\n" for line in kept("archive_file", 1)))
    (manifest.parent / HEAD).unlink(missing_ok=True)
    started = scene.own.cli("up", "--detach")
    assert started.returncode == 1
    assert "repair: inventory backfill rearchive --yes && inventory restart archiver" in (
        started.stderr
    )


def capture_paused(scene: Scene) -> None:
    assert scene.own.cli("capture", "pause").returncode == 0


def connector_stopped_without_its_reconciler(scene: Scene) -> None:
    command_connector(scene, ConnectClient.stop, "STOPPED")


def command_connector(scene: Scene, command: Callable[[ConnectClient], None], state: str) -> None:
    """Change the connector while the capture service is suspended, so nothing repairs it."""
    scene.suspend("capture")
    with contextlib.closing(client_of(scene.own.environment, timeout_s=60)) as client:
        command(client)
        scene.own.wait_until(lambda: client.state().connector == state)


def slot_behind(scene: Scene) -> None:
    """Write WAL that a paused connector doesn't confirm. It stays connected to the slot."""
    command_connector(scene, ConnectClient.pause, "PAUSED")
    for _ in range(RETAINED):
        scene.execute("SELECT pg_logical_emit_message(false, 'test', repeat('x', 1 << 20))")


def late_topic_deleted(scene: Scene) -> None:
    delete_topics(scene.bootstrap, [STOCK_LATE])


def changelog_grown(scene: Scene) -> None:
    grow(scene, ON_HAND_CHANGELOG)


def log_grown(scene: Scene) -> None:
    grow(scene, STOCK_EVENTS)


def grow(scene: Scene, topic: str) -> None:
    client = admin_client(scene.bootstrap)  # keep a reference: without it, no answer arrives
    client.create_partitions([NewPartitions(topic, 13)])[topic].result(60)


def retention_changed(scene: Scene) -> None:
    entry = ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, STOCK_LATE, incremental_configs=[entry])
    client = admin_client(scene.bootstrap)  # as above
    [answer] = client.incremental_alter_configs([resource]).values()
    answer.result(60)


def other_rules_decide(scene: Scene) -> None:
    scene.execute(
        "INSERT INTO app.revision_switch (revision, switched_by) VALUES (%(other)s, 'test')",
        other=LOGIC_REVISION + 1,
    )


def readers_and_heartbeat_stuck(scene: Scene) -> None:
    scene.suspend("worker-1", "worker-2", "heartbeat")
    scene.execute(SELL_MANY, place=scene.shop.location, lines=LINES)


CASES: Final[dict[Cause, frozenset[Failure]]] = {
    worker_stopped: frozenset({Failure.SERVICE_PAUSED}),
    rebuild_cut_off: frozenset({Failure.HALF_REBUILT}),
    changelogs_made_again: frozenset({Failure.WORKER_HALTED}),
    changelog_of_a_newer_release: frozenset({Failure.WORKER_HALTED}),
    broker_suspended: frozenset({Failure.WORKER_HALTED}),
    level_behind_its_windows: frozenset({Failure.WORKER_HALTED}),
    file_refused: frozenset({Failure.WORKER_HALTED}),
    transactions_taken_over: frozenset({Failure.WORKER_HALTED}),
    other_rules_decide: frozenset({Failure.OTHER_RULES_DECIDE}),
    capture_paused: frozenset({Failure.CONNECTOR_PAUSED, Failure.STALE}),
    connector_stopped_without_its_reconciler: frozenset(
        {Failure.CONNECTOR_DIFFERS, Failure.IDLE_SLOT}
    ),
    readers_and_heartbeat_stuck: frozenset({Failure.LAG, Failure.STALE}),
    slot_behind: frozenset({Failure.SLOT_BEHIND}),
    postgres_suspended: frozenset({Failure.SERVICE_DOWN, Failure.NO_ANSWER}),
    retention_changed: frozenset({Failure.TOPIC_DIFFERS}),
    late_topic_deleted: frozenset({Failure.TOPIC_DIFFERS}),
    changelog_grown: frozenset({Failure.CHANGELOG_DIFFERS}),
    supervisor_suspended: frozenset({Failure.SUPERVISOR_AWAY}),
    supervisor_killed: frozenset({Failure.STACK_DOWN}),
    archive_of_the_former_release: frozenset({Failure.SERVICE_HALTED}),
    port_taken: frozenset({Failure.WORKER_HALTED}),
    # A rebuild would stop at the garbage. A new generation begins with empty topics.
    garbage_in_the_log: frozenset({Failure.WORKER_HALTED}),
    log_grown: frozenset({Failure.LOG_DIFFERS}),
}

# The exact list of commands printed after these causes: no service may be restarted.
COMMANDS: Final[dict[Cause, list[str]]] = {capture_paused: [RESUME]}
# The exit code of the worker after these causes.
CODES: Final[dict[Cause, ExitCode]] = {
    port_taken: ExitCode.FAILED,
    changelog_of_a_newer_release: ExitCode.UNREADABLE,
    changelogs_made_again: ExitCode.LOG_MISMATCH,
    broker_suspended: ExitCode.BROKER,
    level_behind_its_windows: ExitCode.BROKEN_INVARIANT,
    file_refused: ExitCode.DISK,
    transactions_taken_over: ExitCode.FENCED,
    garbage_in_the_log: ExitCode.SCHEMA_BREAK,
}
CODES_NOT_CAUSED: Final[dict[ExitCode, str]] = {
    ExitCode.STUCK: "the supervisor's restart is its repair, so no command is printed unless "
    "the worker gets stuck again and again; tests/streams/test_standstill.py blocks a real one",
}

_CAPTURE: Final = (
    "tests/stack/test_capture_repairs.py::test_the_printed_capture_repair_recovers_every_sale"
)
_ARCHIVE: Final = (
    "tests/deploy/test_rearchive.py::test_the_doctor_names_damage_and_its_command_repairs_it"
)
_PROOF: Final = "tests/ledger/test_proof_row.py::test_doctor_reports_a_differing_or_overdue_proof"
ELSEWHERE: Final[dict[Failure, str]] = {
    Failure.LOST_SLOT: _CAPTURE,
    Failure.PUBLICATION_CHANGED: _CAPTURE,
    Failure.IDENTITY_NOT_FULL: _CAPTURE,
    Failure.CAPTURE_DAMAGED: _CAPTURE,
    Failure.ARCHIVE_DAMAGED: _ARCHIVE,
    Failure.ARCHIVE_FILE_UNLISTED: _ARCHIVE,
    # This test runs the printed command after a real cut-over.
    Failure.SWITCHED_TO_OTHER_RULES: (
        "tests/stack/test_analyst_page.py"
        "::test_every_command_of_the_analyst_page_works_during_trade"
    ),
    Failure.PROOF_DIFFERS: _PROOF,
    Failure.PROOF_OLD: _PROOF,
    Failure.SERVICE_STARTS: (
        "tests/deploy/test_start_order.py::test_a_second_up_waits_for_a_service_that_is_starting"
    ),
}
_INSTALLS: Final = "installs packages of the machine, as root and from the network"
NOT_CAUSED: Final[dict[Failure, str]] = {
    Failure.START_FAILED: "prints the repair of the error that ended the start, each with a test "
    "of its own, as in tests/deploy/test_failing_start.py and tests/deploy/test_places.py",
    Failure.OTHER_PYTHON: _INSTALLS,
    Failure.NO_JAVA: _INSTALLS,
    Failure.OLD_JAVA: _INSTALLS,
    Failure.NO_PROGRAM: _INSTALLS,
    Failure.NO_OPTIONAL_PROGRAM: _INSTALLS,
    Failure.POSTGRES_PROGRAMS: "installs the clone again; tests/deploy/test_places.py has the row",
    Failure.NO_JVM_PARTS: "downloads 60 MB; `inventory fetch` is run by every installation",
    Failure.CHANGED_JVM_PARTS: "downloads 60 MB; deletes what every clone of the machine shares",
    Failure.LITTLE_MEMORY: "takes the memory of the machine",
    Failure.LITTLE_DISK: "takes the disk of the machine; its command is that of FULL_DISK",
    Failure.FULL_DISK: "needs a disk of its own and root: `inventory bench faults --all` does it, "
    "tests/deploy/test_move.py and tests/deploy/test_prune.py take the steps of the command",
    Failure.CLOSED_HOME: "needs an account without rights that may become root",
    Failure.OTHER_WAL_LEVEL: "the start sets it on the command line of Postgres, which wins over "
    "ALTER SYSTEM, and Postgres doesn't start below it while the slot exists",
}


def rows(own: RunningStack) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(own.cli("doctor", "--json").stdout)
    return found


def codes(own: RunningStack) -> set[int | None]:
    """Return the last exit codes of the workers."""
    services = own.runtime.services.items()
    return {entry.last_exit for name, entry in services if name.startswith(WORKER_PREFIX)}


def kinds(own: RunningStack) -> set[str]:
    return {kind for row in rows(own) for kind in row["kinds"]}


@pytest.mark.parametrize("cause", CASES, ids=lambda cause: cause.__name__)
def test_the_commands_that_doctor_prints_repair_the_reported_failure(
    own: RunningStack, shop: Shop, cause: Cause
) -> None:
    expected = {failure.name.lower() for failure in CASES[cause]}
    scene = Scene(own, shop)

    with scene.beside:
        with scene.outside:
            cause(scene)
            own.wait_until(
                lambda: expected <= kinds(own) and CODES.get(cause) in {None, *codes(own)},
                describe=lambda: (codes(own), rows(own)),
            )
            commands = commands_of(own.cli("doctor").stdout)
            assert commands == COMMANDS.get(cause, commands)
        assert_repaired(own, expected, commands)


def assert_repaired(own: RunningStack, expected: set[str], commands: list[str]) -> None:
    assert commands
    done = [run_as_printed(own, command) for command in commands]

    said = "\n".join(f"{one.args}\n{one.stdout}{one.stderr}" for one in done)
    assert all("inventory doctor" not in command for command in commands), commands
    own.wait_until(lambda: own.cli("doctor").returncode < 2, describe=lambda: (said, rows(own)))
    assert not expected & kinds(own), said
    checked = own.cli("verify", "--json")
    assert checked.returncode == 0, said + checked.stdout + checked.stderr
