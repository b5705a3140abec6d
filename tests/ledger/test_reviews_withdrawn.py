"""A person withdraws an approval. Each logic revision number identifies one set of rules."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import psycopg
import pytest
from django.test import override_settings
from pydantic import SecretStr
from typer.testing import CliRunner

from analytics.backfill.plan import Plan
from analytics.engines.code import code_hash
from cdc.settings import Connections
from deploy.cli import backfill_review
from deploy.cli.main import app
from deploy.errors import StackError
from deploy.revisions import shadow
from deploy.revisions.approval import refuse_other_review, refuse_unapproved
from deploy.revisions.compare import Comparison, Difference
from deploy.revisions.decisions import Decisions
from deploy.revisions.promote import _switch_now
from deploy.revisions.review_request import refuse_other_rules
from deploy.stack.home import Home
from inventory.revision import LOGIC_REVISION
from streams.sinks.active import Switch, active_or_first, switch
from tests.ledger.postgres import Server
from tests.ledger.reviewed import (
    DIGEST,
    KEYS,
    OTHER,
    OURS,
    THEIRS,
    approval,
    approved,
    decision,
    person,
    request,
)
from tests.ledger.staff import PASSWORD

if TYPE_CHECKING:
    from analytics.backfill.diff.comparison import Diff

WITHDRAW = (
    "INSERT INTO app.diff_verdict (review, requested_by, verdict, decided_by)"
    " VALUES (%s, 'ada', 'withdrawn', %s)"
)


@pytest.fixture(name="people")
def two_people(staff: psycopg.Connection) -> psycopg.Connection:
    """Add Ada, an analyst. Olga, an operator, exists already."""
    person("ada", "analyst")
    return staff


@pytest.fixture(name="service")
def the_service(people: psycopg.Connection) -> Any:
    return import_module("ledger.reviews.service")


def test_an_approval_is_withdrawn_and_given_again(
    service: Any, people: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    found = service.withdraw_review(approved(service), "a wrong lead time", actor="ada")

    assert (found.verdict, found.decided_by) == ("withdrawn", "ada")
    assert found.reason == "a wrong lead time"
    with pytest.raises(StackError, match="is withdrawn: a wrong lead time; nothing was switched"):
        approval(sinks)
    log = people.execute("SELECT actor, action FROM app.action_log ORDER BY id").fetchall()
    assert log[-1] == ("ada", "review_withdrawn")
    again = service.decide_review(found, decision(service), actor="olga")
    assert again.verdict == "approved"
    assert approval(sinks).keys == KEYS


def test_only_an_approved_review_is_withdrawn(service: Any, people: psycopg.Connection) -> None:
    errors = import_module("ledger.kernel.errors")
    waiting = request(service)

    with pytest.raises(errors.Conflict, match="and this one is waiting"):
        service.withdraw_review(waiting, "x", actor="ada")
    with pytest.raises(psycopg.errors.CheckViolation, match="this one is waiting"):
        people.execute(WITHDRAW, (waiting.id, "ada"))
    rejected = service.decide_review(waiting, decision(service, "rejected"), actor="olga")
    with pytest.raises(errors.Conflict, match="and this one is rejected"):
        service.withdraw_review(rejected, "x", actor="ada")


def test_the_requester_the_approver_and_operators_withdraw_an_approval(
    service: Any, people: psycopg.Connection
) -> None:
    errors = import_module("ledger.kernel.errors")
    person("adam", "analyst")
    person("otto", "operator")
    found = approved(service)

    with pytest.raises(
        errors.ServiceError, match="only ada, olga or an operator may withdraw this"
    ):
        service.withdraw_review(found, "x", actor="adam")
    with pytest.raises(psycopg.errors.CheckViolation, match="withdraws a review, not adam"):
        people.execute(WITHDRAW, (found.id, "adam"))

    for actor in ("ada", "olga", "otto"):
        assert service.withdraw_review(found, "x", actor=actor).verdict == "withdrawn"
        service.decide_review(found, decision(service), actor="olga")


def test_the_approval_of_the_deciding_revision_is_not_withdrawn(
    service: Any, sinks: psycopg.Connection
) -> None:
    errors = import_module("ledger.kernel.errors")
    found = approved(service)
    assert active_or_first(sinks, OURS) == OURS
    switch(sinks, Switch(THEIRS, OURS, "root", {}, {}))

    with pytest.raises(errors.Conflict, match="revision 3 decides already, so its approval can't"):
        service.withdraw_review(found, "x", actor="ada")
    switch(sinks, Switch(OURS, THEIRS, "root", {}, {"rollback": True}))

    assert service.withdraw_review(found, "x", actor="ada").verdict == "withdrawn"


def test_the_sink_role_cannot_withdraw_an_approval(service: Any, sinks: psycopg.Connection) -> None:
    found = approved(service)

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="may let a review lapse"):
        sinks.execute(WITHDRAW, (found.id, "ada"))


def test_an_open_review_reserves_its_revision_number_for_its_rules(
    service: Any, sinks: psycopg.Connection
) -> None:
    errors = import_module("ledger.kernel.errors")
    first = request(service)

    with pytest.raises(
        errors.Conflict, match="the waiting review abababababab of logic revision 3"
    ):
        request(service, digest=OTHER, code="fedcba9876543210")
    other = "This run has rules with the hash fedcba9876543210. One number stands for one"
    with pytest.raises(StackError, match=other):
        refuse_other_review(sinks, THEIRS, "fedcba9876543210")
    with pytest.raises(StackError, match="`inventory backfill reject abababababab` ends"):
        refuse_other_review(sinks, THEIRS, "fedcba9876543210")
    refuse_other_review(sinks, THEIRS, first.code)
    refuse_other_review(sinks, THEIRS + 1, "fedcba9876543210")

    found = approved(service)
    with pytest.raises(StackError, match="`inventory backfill withdraw abababababab` ends"):
        refuse_other_review(sinks, THEIRS, "fedcba9876543210")
    withdrawn = service.withdraw_review(found, "new rules", actor="ada")
    other = request(service, digest=OTHER, code="fedcba9876543210")
    assert other.verdict == "waiting"
    refuse_other_review(sinks, THEIRS, "fedcba9876543210")
    with pytest.raises(
        errors.Conflict, match="the waiting review cdcdcdcdcdcd of logic revision 3"
    ):
        service.decide_review(withdrawn, decision(service), actor="olga")


def test_an_approval_is_withdrawn_on_the_command_line(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_review, "connect_django", lambda: None)  # a fixture did
    approved(service)
    given = ["backfill", "withdraw", DIGEST[:12], "--by", "ada", "--reason", "x"]

    with override_settings(SECOND_FACTOR_ROLES=()):
        done = CliRunner().invoke(app, given, input=f"{PASSWORD}\n")
    listed = CliRunner().invoke(app, ["backfill", "reviews"])

    assert done.exit_code == 0, done.exception
    assert "withdrawn" in done.stdout
    assert "withdrawn" in listed.stdout
    assert "inventory backfill cutover" not in done.stdout


def test_a_run_whose_rules_differ_from_its_revisions_state_is_not_reviewed(
    sinks: psycopg.Connection,
    server: Server,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    address = SecretStr(server.url("sink_rw", database))
    settings = Connections(home=tmp_path, sink_database_url=address)
    assert active_or_first(sinks, LOGIC_REVISION) == LOGIC_REVISION
    ours = Plan("local-a", "local", {}, 1, LOGIC_REVISION, code_hash(), ())
    theirs = replace(ours, run="local-b", logic_revision=LOGIC_REVISION + 1, code="one")
    runs = SimpleNamespace(a=SimpleNamespace(plan=ours), b=SimpleNamespace(plan=theirs))
    found = cast("Diff", SimpleNamespace(runs=runs, is_equal=False))
    refuse_other_rules(found, settings)

    shadow.claim(Home(tmp_path), LOGIC_REVISION + 1, tmp_path / "tree", "another")

    with pytest.raises(StackError, match=r"rules with the hash another\. Give one of these sets"):
        refuse_other_rules(found, settings)


@pytest.fixture(name="settings")
def connections_of_the_sinks(
    sinks: psycopg.Connection, server: Server, database: str, tmp_path: Path
) -> Connections:
    """Let revision OURS decide. Return settings with the database address of the sinks."""
    assert active_or_first(sinks, OURS) == OURS
    address = SecretStr(server.url("sink_rw", database) + "?options=-clock_timeout%3D200ms")
    return Connections(home=tmp_path, sink_database_url=address)


def switch_with(settings: Connections, agreed: Any) -> None:
    """Switch to THEIRS with this approval. All cases are refused before decisions are read."""
    change = Switch(THEIRS, OURS, "otto", {}, {})
    _switch_now(settings, change, cast("Decisions", None), frozenset(), agreed)


def test_a_switch_refuses_an_approval_replaced_by_one_with_another_growth(
    service: Any, sinks: psycopg.Connection, settings: Connections
) -> None:
    review = service.decide_review(request(service), decision(service, growth=9), actor="olga")
    agreed = approval(sinks)
    service.withdraw_review(review, "too many", actor="ada")
    service.decide_review(review, decision(service, growth=1), actor="olga")

    with pytest.raises(StackError, match="abababababab was replaced by another one meanwhile"):
        switch_with(settings, agreed)

    assert active_or_first(sinks, OURS) == OURS


def test_a_switch_waits_for_a_verdict_that_is_being_written(
    service: Any, people: psycopg.Connection, sinks: psycopg.Connection, settings: Connections
) -> None:
    review = approved(service)
    agreed = approval(sinks)

    with people.transaction():
        people.execute(service._LOCK, (review.id,))
        with pytest.raises(psycopg.errors.LockNotAvailable):
            switch_with(settings, agreed)

    assert active_or_first(sinks, OURS) == OURS


def one_more_key() -> Comparison:
    differing = Difference("price", "L1|SOAP", "changed", (), None, None)
    return Comparison(OURS, THEIRS, {0: 9}, 5, 0, (differing,))


def test_a_withdrawn_approval_does_not_lapse(
    service: Any, people: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    review = approved(service)
    agreed = approval(sinks)
    service.withdraw_review(review, "a wrong lead time", actor="ada")

    with pytest.raises(StackError, match="is withdrawn: a wrong lead time; nothing was switched"):
        refuse_unapproved(sinks, agreed, one_more_key(), by="otto")

    newest = "SELECT verdict FROM app.diff_verdict WHERE review = %s ORDER BY id DESC LIMIT 1"
    assert people.execute(newest, (review.id,)).fetchone() == ("withdrawn",)


def test_a_lapse_waits_for_a_verdict_that_is_being_written(
    service: Any, people: psycopg.Connection, sinks: psycopg.Connection
) -> None:
    review = approved(service)
    agreed = approval(sinks)
    sinks.execute("SET lock_timeout = '200ms'")

    with people.transaction():
        people.execute(service._LOCK, (review.id,))
        with pytest.raises(psycopg.errors.LockNotAvailable):
            refuse_unapproved(sinks, agreed, one_more_key(), by="otto")

    assert approval(sinks) == agreed
