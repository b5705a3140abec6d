"""Alarms, last errors, the slot's thresholds, and the audit log by role."""

from importlib import import_module
from types import ModuleType

import psycopg
import pytest

from cdc.service_errors import ServiceError, record_error
from ledger.kernel.transactions import ledger_transaction, log_action
from tests.ledger.inbox import emptied, rejected
from tests.ledger.pages import person

GIB = 1 << 30


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> psycopg.Connection:
    return emptied(ledger)


@pytest.fixture
def log(ledger: psycopg.Connection) -> psycopg.Connection:
    """Write a log: actions of two people at two stores, one action of a rule, and a price."""
    with ledger_transaction():
        for actor, subject in (("ann", "L|S"), ("bob", "M|S"), (None, "L|RULE")):
            log_action(actor=actor, action="adjust", subject=subject, detail={"units": 3})
        detail = {"price_minor": 849, "was_minor": 999}
        log_action(actor="ann", action="price", subject="L|S", detail=detail)
    return ledger


def module(name: str) -> ModuleType:
    return import_module(f"webui.desks.system.{name}")  # here, because it needs Django set up


def test_a_stage_shows_the_newest_error_of_its_services(ledger: psycopg.Connection) -> None:
    for service, message in (
        ("worker-1", "first"),
        ("worker-2", "second"),
        ("archiver", "disk full"),
    ):
        record_error(ledger, ServiceError(service, message, "inventory doctor"))
    errors = module("last_errors").last_errors()

    assert module("last_errors").error_of("Workers", errors).message == "second"
    assert module("last_errors").error_of("Kafka", errors) is None
    assert [each.service for each in module("last_errors").other_errors(errors)] == ["archiver"]


def test_only_operators_and_analysts_read_the_text_of_an_error(ledger: psycopg.Connection) -> None:
    record_error(ledger, ServiceError("projector", "no route to 10.0.0.7"))

    assert b"10.0.0.7" in person("operator").get("/system/").content
    page = person("buyer").get("/system/").content
    assert b"10.0.0.7" not in page
    assert b"in projector" in page


@pytest.mark.parametrize(
    ("retained", "status", "limit", "state"),
    [
        (GIB - 1, "extended", 4 * GIB, "ok"),
        (GIB, "extended", 4 * GIB, "slow"),
        (2 * GIB - 1, "extended", 4 * GIB, "slow"),
        (2 * GIB, "extended", 4 * GIB, "down"),
        (1, "unreserved", 4 * GIB, "down"),
        (None, "lost", 4 * GIB, "down"),
        (GIB, "extended", -1, "slow"),  # no limit: 4 GiB are assumed
    ],
)
@pytest.mark.usefixtures("database")
def test_the_slot_raises_the_alarm_before_postgres_discards_its_wal(
    retained: int | None, status: str, limit: int, state: str
) -> None:
    slot = module("slot").Slot(
        slot_name="retail_cdc",
        active=True,
        wal_status=status,
        retained_bytes=retained,
        unconfirmed_bytes=0,
        configured_bytes=limit,
        restart_lsn=None,
        confirmed_lsn=None,
    )

    assert slot.state == state
    raised = module("alarms").of_slot(slot)
    assert [alarm.severity for alarm in raised] == {"ok": [], "slow": ["warn"]}.get(state, ["bad"])


def test_alarm_of_an_unread_slot_names_the_command_that_restarts_capture() -> None:
    alarms, link = module("alarms"), module("probes").Link
    unread = link("Postgres", "down", "no connector reads the slot", advice_of="Debezium")
    late = link("Postgres", "slow", "heartbeats are late")

    commands = [alarm.command for alarm in alarms.of_stages([unread, late], 1)]

    assert commands == ["inventory restart capture", "inventory restart heartbeat"]


def test_alarms_are_ranked_by_severity_and_name_an_action(inbox: psycopg.Connection) -> None:
    rejected(inbox)
    inbox.execute("UPDATE app.setting SET price_kill_switch = true, updated_by = 'pia'")
    alarms, link = module("alarms"), module("probes").Link
    links = [link("Kafka", "down", "no answer"), link("Screen", "slow", "late", 5_000_000)]
    raised = [
        *alarms.of_rejected(),
        *alarms.of_stop(),
        *alarms.of_stages(links, 100_000_000),
        *alarms.of_partitions(["ok", "slow", "down"]),
    ]

    ranked = alarms.ranked(raised)

    assert [each.severity for each in ranked] == ["bad", "bad", "warn", "warn", "warn", "warn"]
    assert ranked[2].since_us == 95_000_000  # the oldest warning has the age of the data
    texts = " ".join(each.what for each in ranked)
    assert "1 rejected record without effect" in texts
    assert "pia has stopped all rule-made prices" in texts
    assert all(each.action for each in ranked)


def test_alarm_without_a_time_shows_that_no_time_was_recorded(inbox: psycopg.Connection) -> None:
    page = person("operator").get("/system/").content.decode()

    assert "no time recorded" in page
    assert "<dd>unknown</dd>" in page  # Kafka has not answered: neither age nor lag is known
    assert "unknown: the slot retail_cdc does not exist" in page


def test_rejected_records_list_is_paged_filtered_and_linked_to_each_record(
    inbox: psycopg.Connection,
) -> None:
    for number in range(60):
        rejected(inbox, id=f"1-0-{number}", offset=number)
    rejected(inbox, id="1-0-99", reason="malformed", key=b"L|TEA")
    client = person("operator")

    first = client.get("/system/rejected/").content.decode()
    assert first.count('<th scope="row">') == 50
    assert "before=" in first
    one = client.get("/system/rejected/?reason=malformed&item=L%7CTEA").content.decode()
    assert one.count('<th scope="row">') == 1
    assert "/system/rejected/1-0-99" in one
    none = client.get("/system/rejected/?state=settled").content.decode()
    assert "No record" in none


def shown(role: str, query: str = "", name: str = "", **scope: tuple[str, ...]) -> list[str]:
    page = person(role, name, **scope).get(f"/system/audit/{query}").content.decode()
    return [name for name in ("L|S", "M|S", "L|RULE") if name in page]


def test_the_audit_log_is_shown_by_role(log: psycopg.Connection) -> None:
    assert shown("operator") == shown("analyst") == ["L|S", "M|S"]
    assert shown("operator", "?rules=1") == ["L|S", "M|S", "L|RULE"]
    assert shown("operator", name="opal", stores=("M",)) == ["M|S"]
    assert shown("manager", name="mia", stores=("L",)) == ["L|S"]
    assert shown("associate", name="bob", stores=("L",)) == ["M|S"]  # bob's own action at M
    assert shown("buyer", "?whose=all&person=ann", name="bea") == []


def test_the_audit_log_is_filtered_by_person_object_action_and_day(
    log: psycopg.Connection,
) -> None:
    assert shown("operator", "?person=bob") == ["M|S"]
    assert shown("operator", "?object=L") == ["L|S"]
    assert shown("operator", "?action=price") == ["L|S"]
    assert shown("operator", "?since=2000-01-01&until=2000-01-02") == []


def test_the_audit_log_refuses_a_malformed_day(log: psycopg.Connection) -> None:
    answer = person("operator").get("/system/audit/?since=yesterday")

    assert answer.status_code == 422
    assert "“yesterday” is not a day like 2026-11-24. No row is shown." in answer.content.decode()
    assert shown("operator", "?since=yesterday") == shown("operator", "?until=zz") == []
    assert shown("operator", "?since=2000-W01-1") == shown("operator", "?since=20000101") == []


def test_an_entry_shows_the_values_before_and_after(log: psycopg.Connection) -> None:
    page = person("operator").get("/system/audit/?action=price").content.decode()

    assert '<span class="was">9.99</span> → <b>8.49</b>' in page
