"""Requests of the analyst desk: who asks, who confirms, and their execution by real commands."""

import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from deploy.requests.once import execute_all
from deploy.requests.runner import Runner
from inventory.revision import LOGIC_REVISION
from streams.sinks.active import active_or_first
from tests.analytics import two_runs
from tests.analytics.two_runs import Home, a_home
from tests.ledger import pages
from tests.ledger.postgres import Server
from tests.ledger.reviewed import DIGEST, person

CUTOVER = {"revision": "3", "approval": DIGEST}


@pytest.fixture(name="people")
def two_people(staff: psycopg.Connection) -> psycopg.Connection:
    """Add Ada, an analyst, and Ben, a buyer. Olga, an operator, exists already."""
    person("ada", "analyst")
    person("ben", "buyer")
    return staff


@pytest.fixture(name="service")
def the_service(people: psycopg.Connection) -> Any:
    return import_module("ledger.requests.service")


@pytest.fixture(name="queries")
def the_queries(people: psycopg.Connection) -> Any:
    return import_module("ledger.requests.queries")


def ask(service: Any, kind: str, actor: str = "ada", **arguments: str) -> int:
    return int(service.ask_history(service.AskHistory(kind, arguments), actor=actor))


def state(queries: Any, number: int) -> str:
    return str(queries.request_with(number).state)


def test_history_request_needs_a_permitted_role_and_valid_arguments(
    service: Any, queries: Any
) -> None:
    errors = import_module("ledger.kernel.errors")

    number = ask(service, "compare", a="2", b="3", key="L|TEA")

    found = queries.request_with(number)
    assert (found.kind, found.given, found.state) == ("compare", {"a": "2", "b": "3"}, "waiting")
    with pytest.raises(errors.ServiceError, match="only active people with one of the roles"):
        ask(service, "compare", "ben", a="2", b="3")
    with pytest.raises(errors.ServiceError, match="a store and a SKU"):
        ask(service, "explain", a="2", b="3", key="TEA")
    with pytest.raises(errors.ServiceError, match="one of run, compare"):
        ask(service, "delete")


def test_history_request_sent_twice_is_created_once(service: Any) -> None:
    wanted, form = service.AskHistory("prove", {}), uuid4()

    first = service.ask_history(wanted, actor="ada", command_id=form)

    assert service.ask_history(wanted, actor="ada", command_id=form) == first


def test_switch_request_is_confirmed_by_an_operator_other_than_its_requester(
    service: Any, queries: Any, people: psycopg.Connection
) -> None:
    errors = import_module("ledger.kernel.errors")
    number, own = ask(service, "cutover", **CUTOVER), ask(service, "rollback", "olga")
    assert state(queries, number) == "to confirm"

    with pytest.raises(errors.ServiceError, match="another person has to confirm it"):
        service.confirm_request(own, actor="olga")
    with pytest.raises(errors.ServiceError, match="one of the roles operator"):
        service.confirm_request(number, actor="ada")
    service.confirm_request(number, actor="olga")

    assert state(queries, number) == "waiting"
    with pytest.raises(errors.Conflict, match="is waiting already"):
        service.confirm_request(number, actor="olga")
    log = people.execute("SELECT actor, action FROM app.action_log ORDER BY id").fetchall()
    assert log[-1] == ("olga", "confirmed_cutover")


def test_database_role_of_the_pages_cannot_start_an_unconfirmed_switch(
    service: Any, till: psycopg.Connection
) -> None:
    number = ask(service, "cutover", **CUTOVER)

    with pytest.raises(psycopg.errors.CheckViolation, match="history_request_confirmed"):
        till.execute("UPDATE app.history_request SET started_at = now()")
    with pytest.raises(psycopg.errors.CheckViolation, match="history_request_second_person"):
        till.execute("UPDATE app.history_request SET confirmed_by = 'ada' WHERE id = %s", (number,))
    for statement in (
        "UPDATE app.history_request SET kind = 'run'",
        "UPDATE app.history_request SET requested_by = 'eve'",
        "DELETE FROM app.history_request",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            till.execute(statement)


def test_requester_or_operator_cancels_a_history_request_before_it_starts(
    service: Any, queries: Any
) -> None:
    errors = import_module("ledger.kernel.errors")
    first, second = ask(service, "prove"), ask(service, "prove", "olga")

    with pytest.raises(errors.ServiceError, match="or an operator may cancel it"):
        service.cancel_request(second, actor="ada")
    service.cancel_request(first, actor="ada")

    assert state(queries, first) == "cancelled"
    with pytest.raises(errors.Conflict, match="is cancelled already"):
        service.cancel_request(first, actor="olga")
    with pytest.raises(errors.Conflict, match="there is no request 0"):
        service.cancel_request(0, actor="olga")


def test_twenty_requests_are_open_at_most(service: Any) -> None:
    errors = import_module("ledger.kernel.errors")
    for _ in range(20):
        ask(service, "prove")

    with pytest.raises(errors.Conflict, match="20 requests are open already"):
        ask(service, "prove")


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return a_home(tmp_path_factory.mktemp("requests") / "home")


@pytest.fixture(name="runs")
def two_finished_runs(home: Home, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))
    return home.run(), home.run(two_runs.higher_reorder_point)


def test_executed_comparison_stores_its_difference_rows(
    service: Any, queries: Any, home: Home, runs: tuple[str, str], people: psycopg.Connection
) -> None:
    number = ask(service, "compare", a=runs[0], b=runs[1])
    key = ask(service, "explain", a=runs[0], b=runs[1], key="L0|S3")
    waiting = ask(service, "rollback")

    assert execute_all(home.settings) == 0

    found = queries.request_with(number)
    assert (found.state, found.exit_code, found.problem) == ("done", 1, "")
    result = queries.result_of(number)
    assert result["a"]["run"] == runs[0]
    assert {group["dimension"] for group in result["groups"]} == {
        *("store", "supplier", "reason", "week"),
    }
    rows = people.execute(
        "SELECT rank, store, delta_minor, detail FROM app.history_difference ORDER BY kind, rank"
    ).fetchall()
    assert len(rows) == result["decisions_differing"] + result["explanations_differing"]
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row[1] == row[3]["store"] and row[2] == row[3]["delta_minor"] for row in rows)
    assert queries.result_of(key)["partition"] == 0
    assert state(queries, waiting) == "to confirm"


def test_history_pages_open_for_every_row_of_a_real_comparison(
    service: Any, home: Home, runs: tuple[str, str], people: psycopg.Connection
) -> None:
    lower = home.run(two_runs.lower_floor)
    numbers = [ask(service, "compare", a=a, b=b) for a, b in (runs, runs[::-1], (runs[0], lower))]
    client = pages.person("analyst")

    execute_all(home.settings)

    found = people.execute("SELECT request, kind, how, inv_key FROM app.history_difference")
    rows = found.fetchall()
    assert {"only_a", "only_b"} <= {row[2] for row in rows}
    paths = {f"/history/differences/{number}/?kind=reorder" for number in numbers}
    paths |= {f"/history/differences/{number}/?kind={kind}" for number, kind, *_ in rows}
    paths |= {f"/history/differences/{one[0]}/key?key={one[3].replace('|', '%7C')}" for one in rows}
    assert {path: client.get(path).status_code for path in sorted(paths)} == dict.fromkeys(
        sorted(paths), 200
    )
    assert {"reorder", "price"} == {row[1] for row in rows}


def test_failed_history_request_stores_the_error_message_of_its_command(
    service: Any, queries: Any, home: Home, runs: tuple[str, str]
) -> None:
    missing = ask(service, "compare", a=runs[0], b="nothing")
    no_tree = ask(service, "explain", a="nothing", b=runs[0], key="L0|S3")

    execute_all(home.settings)

    found = queries.request_with(missing)
    assert (found.state, found.exit_code) == ("failed", 2)
    assert "known runs: local-" in found.problem
    assert "known runs: local-" in queries.request_with(no_tree).problem
    assert queries.same_request("compare", {"a": runs[0], "b": "nothing"}) is None


def test_review_of_rules_other_than_the_deciding_revision_is_refused(
    service: Any,
    queries: Any,
    home: Home,
    runs: tuple[str, str],
    sinks: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert active_or_first(sinks, LOGIC_REVISION) == LOGIC_REVISION
    monkeypatch.setenv("INVENTORY_KAFKA_BOOTSTRAP", "127.0.0.1:1")  # no stack runs in this home
    number = ask(service, "review", a=runs[0], b=runs[1])

    execute_all(home.settings)

    found = queries.request_with(number)
    assert (found.state, found.exit_code) == ("failed", 1)
    assert "code-nothing, but revision" in found.problem
    assert "nothing was recorded" in found.problem


def test_a_query_answers_with_rows(
    service: Any, queries: Any, home: Home, runs: tuple[str, str]
) -> None:
    statement = "SELECT store, count(*) AS keys FROM states GROUP BY store ORDER BY store"
    number = ask(service, "query", statement=statement, run=runs[0])
    wrong = ask(service, "query", statement="DROP TABLE states", run=runs[0])

    execute_all(home.settings)

    rows = queries.result_of(number)
    assert [row["store"] for row in rows] == ["L0", "L1", "L2"]
    assert state(queries, wrong) == "failed"


def test_a_request_of_an_ended_process_is_recorded_as_interrupted(
    service: Any, queries: Any, home: Home
) -> None:
    execution = import_module("ledger.requests.execution")
    number = ask(service, "prove")
    execution.take_next()

    execute_all(home.settings)

    found = queries.request_with(number)
    assert (found.state, found.exit_code) == ("failed", None)
    assert "Ask again" in found.problem


def take_lock(other: psycopg.Connection) -> None:
    """Take the executor's lock. Wait until Postgres has released the lock of a closed session."""
    lock = import_module("ledger.requests.execution")._LOCK
    deadline = time.monotonic() + 60
    while other.execute(lock).fetchone() != (True,):
        assert time.monotonic() < deadline, "another session holds the executor's lock"


def test_one_process_executes_at_a_time(
    service: Any, queries: Any, home: Home, server: Server, database: str
) -> None:
    number = ask(service, "prove")
    with psycopg.connect(server.url("app_rw", database), autocommit=True) as other:
        import_module("django.db").connection.close()
        take_lock(other)

        assert execute_all(home.settings) == 3

    assert state(queries, number) == "waiting"


def executing(runner: Runner) -> bool:
    return runner.is_executing


def test_the_prover_starts_a_process_for_an_open_request_and_lists_the_runs(
    service: Any, queries: Any, home: Home, runs: tuple[str, str], tmp_path: Path
) -> None:
    text = f"open({str(tmp_path / 'started')!r}, 'a').write('x')"
    runner = Runner(home.settings, (sys.executable, "-c", text))
    runner.step(1.0)
    assert not executing(runner)
    known = queries.snapshot().document
    assert {*runs} <= {run["run"] for run in known["runs"]}
    assert {run["finished"] for run in known["runs"]} == {True}

    ask(service, "rollback")
    runner.step(2.0)
    assert not executing(runner)  # nobody has confirmed it
    ask(service, "prove")
    runner.step(3.0)

    assert executing(runner)
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists():
        assert time.monotonic() < deadline, "the process did not start within 60 s"
        time.sleep(0.01)
    runner.end()
    assert not executing(runner)


def test_difference_rows_of_older_comparisons_are_deleted(
    service: Any, people: psycopg.Connection
) -> None:
    execution = import_module("ledger.requests.execution")
    row = {
        "inv_key": "L|TEA",
        "store": "L",
        "week": "2026-03-02",
        "how": "only_a",
        "delta_minor": 5,
    }
    for _ in range(execution.KEPT_COMPARISONS + 1):
        ask(service, "compare", a="2", b="3")
        taken = execution.take_next()
        execution.finish(taken.id, execution.Ended(1, "", {}, {"reorder": [row]}))

    kept = people.execute("SELECT min(request), count(*) FROM app.history_difference").fetchone()
    first = people.execute("SELECT min(id) FROM app.history_request").fetchone()
    assert kept is not None
    assert first is not None
    assert kept == (first[0] + 1, execution.KEPT_COMPARISONS)
