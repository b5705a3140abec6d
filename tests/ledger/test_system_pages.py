"""System pages: rejected records beside their rows in Postgres, dismissals, and demand."""

import html
import socket
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from types import ModuleType

import psycopg
import pytest
from django.test.utils import setup_test_environment, teardown_test_environment

from analytics.verification.rejections import read_rejections
from cdc.contracts.topics import ON_HAND_CHANGELOG
from inventory.model.arithmetic import DAY_US
from inventory.model.state import Demand
from ledger.services import ServiceError
from ledger.tasks.service import mark_replayed
from tests.ledger.inbox import NOON, NOON_US, emptied, level, put, rejected, state
from tests.ledger.pages import form, person
from tests.ledger.postgres import Server
from tests.ledger.rows import write
from webui.desks.system.replay import WHAT_TO_DO, preview, replay
from webui.readmodel import demand
from webui.readmodel.rejected import RejectedFilter, listed, waiting

ENVELOPE = (
    b'{"op":"c","before":null,"after":{"id":%d},"source":{"table":"sale_line","lsn":1,"ts_us":2}}'
)


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """The ledger without tasks and their causes. Django records the contexts of templates."""
    setup_test_environment()
    yield emptied(ledger)
    teardown_test_environment()


def lost(inbox: psycopg.Connection, **changes: object) -> str:
    """Insert a record that was refused as older than the dedupe ring. Return its id."""
    row = write(inbox, "sale_line", recorded_at=NOON)
    return rejected(
        inbox, **{"reason": "before_dedupe_horizon", "value": ENVELOPE % row, **changes}
    )


def test_a_rejected_record_is_shown_with_its_row_and_both_stock_figures(
    inbox: psycopg.Connection,
) -> None:
    record = lost(inbox)
    write(inbox, "stock_count", units=10, occurred_at=NOON - timedelta(days=1), recorded_at=NOON)
    level(inbox, state(stock={"on_hand_units": 10}))

    found = preview(record)

    assert found.row.endswith("exists, with the key L|S")
    assert (found.table, found.op) == ("sale_line", "c")
    assert (found.ledger_units, found.level_units, found.is_counted_already) == (9, 10, False)
    assert found.can_replay
    level(inbox, state(stock={"on_hand_units": 9}))
    assert preview(record).is_counted_already


@pytest.mark.parametrize(
    ("value", "row"),
    [
        (b"not json", "not JSON"),
        (ENVELOPE % 999, "sale_line 999 no longer exists"),
        (ENVELOPE.replace(b"sale_line", b"pg_class") % 1, "not a row of a captured table"),
        (None, "tombstone"),
    ],
)
def test_rejected_records_of_any_content_can_be_shown(
    inbox: psycopg.Connection, value: bytes | None, row: str
) -> None:
    assert row in preview(rejected(inbox, value=value, key=None)).row


def test_an_operator_dismisses_a_rejected_record_with_a_reason(inbox: psycopg.Connection) -> None:
    record = lost(inbox)
    client = person("operator")
    address = f"/system/rejected/{record}/settle"
    assert b"Send again" in client.get(f"/system/rejected/{record}").content

    refused = client.post(address, form(record, 0, action="dismiss", reason=" "))
    assert refused.status_code == 422
    done = client.post(address, form(record, 0, action="dismiss", reason="seen twice"), follow=True)

    assert b"Dismissed by operator" in done.content
    assert b"Send again" not in done.content
    again = client.post(address, form(record, 0, action="dismiss", reason="other"))
    assert again.status_code == 409
    assert b"dismissed by operator" in again.content


def test_analysts_see_rejected_records_but_cannot_settle_them(inbox: psycopg.Connection) -> None:
    record = lost(inbox)
    analyst, buyer = person("analyst"), person("buyer")
    page = analyst.get(f"/system/rejected/{record}")
    assert b"the role <b>operator</b> can settle" in page.content
    assert analyst.post(f"/system/rejected/{record}/settle", form(record, 0)).status_code == 403
    assert buyer.get(f"/system/rejected/{record}").status_code == 403


@pytest.mark.parametrize("reason", sorted(WHAT_TO_DO))
def test_a_record_that_a_replay_cannot_repair_is_not_sent(
    inbox: psycopg.Connection, reason: str
) -> None:
    fine, record = rejected(inbox), rejected(inbox, id="1-0-8", reason=reason)

    with pytest.raises(ServiceError, match=WHAT_TO_DO[reason]):
        replay([fine, record], reason="try", actor="op")

    shown = person("operator").get(f"/system/rejected/{record}").content.decode()
    instead = html.escape(WHAT_TO_DO[reason])
    told = f"Sending this record again would not help. Do this instead: {instead}. Then dismiss"
    assert (told in shown, "Send again" in shown) == (True, False)
    assert inbox.execute("SELECT count(*) FROM app.rejected_mark").fetchone() == (0,)
    assert not preview(record).can_replay


def test_settled_records_leave_the_list_and_stay_findable(inbox: psycopg.Connection) -> None:
    first = rejected(inbox)
    rejected(inbox, id="1-0-8", reason="malformed")
    assert waiting() == "2"
    mark_replayed(record_id=first, reason="lost", actor="op")

    def shown(**wanted: str) -> list[str]:
        return [record.id for record in listed(RejectedFilter(**wanted))]

    assert shown() == ["1-0-8"]
    assert len(shown(state="all")) == 2
    assert shown(reason="limit", state="all") == shown(state="settled") == [first]
    assert shown(item="L|S", stage="fold", state="all") == ["1-0-8", first]
    assert shown(item="L|T", state="all") == shown(stage="decode", state="all") == []
    assert waiting() == "1"


def test_a_replayed_record_is_no_longer_excluded_as_rejected(
    inbox: psycopg.Connection, server: Server, database: str
) -> None:
    row = write(inbox, "stock_adjustment", recorded_at=NOON)
    image = b'"id":%d,"recorded_at":"2026-03-02T12:00:00.000000Z"' % row
    value = ENVELOPE.replace(b"sale_line", b"stock_adjustment").replace(b'"id":%d', image)
    record = rejected(inbox, reason="overflow", value=value)
    with psycopg.connect(server.url("app_ro", database)) as reader:
        assert read_rejections(reader, "L").excluded == (("stock_adjustment", row),)
        put(inbox, "app.rejected_mark", record_id=record, action="replayed", reason="now fits")
        assert read_rejections(reader, "L").excluded == ()


def learnt(days: int, rate: int | None, mad: int | None) -> Demand:
    return Demand(begun=True, observed_days=days, rate_micro=rate, mad_micro=mad)


def test_keys_are_counted_by_the_quality_of_their_demand_estimate(
    inbox: psycopg.Connection,
) -> None:
    cases = [
        learnt(0, None, None),
        learnt(0, 5, 2),
        learnt(6, 10, 5),
        learnt(7, 10, 6),
        learnt(13, 10, 10),
        learnt(14, 10, 11),
        learnt(20, 0, 0),
    ]
    for sku, case in enumerate(cases):
        write(
            inbox,
            "item_location",
            sku=str(sku),
            recorded_at=NOON,
            replenish_family="cover",
            levels="computed",
        )
        level(inbox, state(sku=str(sku), demand=case))

    found = demand.estimate_counts("")

    assert found == demand.EstimateCounts(
        keys=7,
        unknown=1,
        guessed=1,
        under_a_week=1,
        under_two_weeks=2,
        learnt=2,
        uninformed=1,
        close=2,
        rough=2,
        wild=1,
    )
    assert demand.estimate_counts("ELSEWHERE") == demand.EstimateCounts(*(0,) * 10)


def sold_on(inbox: psycopg.Connection, sku: str, days: tuple[int, ...]) -> None:
    for day in days:
        put(
            inbox,
            "read_model.sales_window",
            inv_key=f"L|{sku}",
            start_us=NOON_US - day * DAY_US,
            sold_units=1,
            returned_units=0,
            sale_lines=1,
            return_lines=0,
            revenue_minor=1,
            late_lines=0,
            window_revision=0,
            partition=0,
            offset=1,
        )


@pytest.mark.parametrize(
    ("days", "has_gaps"),
    [
        ((0,), False),
        ((0, 1), False),
        ((0, 2), True),
        ((0, 1, 2, 4), True),  # 4 days over 3 gaps: 1.33
        (tuple(range(17)), False),
        ((*range(1, 25), 26), False),
        ((*range(19), 25), False),  # 25 days over 19 gaps: 1.316
        ((*range(19), 26), True),  # 26 days over 19 gaps: 1.37
    ],
)
def test_a_demand_method_hint_depends_on_gaps_between_selling_days(
    inbox: psycopg.Connection, days: tuple[int, ...], *, has_gaps: bool
) -> None:
    for sku, method in (("E", "ewma"), ("T", "tsb")):
        write(inbox, "item_location", sku=sku, recorded_at=NOON, demand_method=method)
        sold_on(inbox, sku, days)

    found = {hint.sku for hint in demand.hints("", NOON_US)}

    if len(days) == 1:
        assert found == set()
    else:
        assert found == ({"E"} if has_gaps else {"T"})
        counted = demand.gaps("L", NOON_US)
        assert counted is not None
        assert counted.selling == 2
        assert counted.intermittent == (2 if has_gaps else 0)


def test_the_demand_page_shows_keys_with_14_days_of_demand(inbox: psycopg.Connection) -> None:
    write(inbox, "item_location", recorded_at=NOON)
    level(inbox, state(demand=learnt(20, 10, 2)))
    page = person("buyer").get("/system/demand/?location=L")
    assert page.status_code == 200
    assert b"14 days or more" in page.content


@pytest.mark.parametrize(
    ("age", "state"), [(None, "down"), (1, "ok"), (14, "ok"), (30, "slow"), (90, "down")]
)
def test_the_chain_derives_the_automation_state_from_its_heartbeat_age(
    inbox: psycopg.Connection, age: int | None, state: str
) -> None:
    probes = import_module("webui.desks.system.probes")  # here, because it needs Django set up
    if age is not None:
        inbox.execute(
            "INSERT INTO read_model.service_heartbeat (service, pid, at, detail)"
            " VALUES ('automation', 7, clock_timestamp() - make_interval(secs => %s), %s)",
            (age, '{"tasks": 3}'),
        )

    link = probes.automation()

    assert link.state == state
    assert link.details == ([] if age is None else [("tasks", "3 changed")])


@pytest.mark.parametrize("url", ["http://worker-1:port", "http://[::1"])
def test_the_chain_names_a_worker_with_a_malformed_address(url: str) -> None:
    probes = import_module("webui.desks.system.probes")

    assert str(probes._worker_state(url)) == "no answer (InvalidURL)"


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ('{"paused_by": "", "problem": "", "repairs": 2}', ""),
        ('{"paused_by": "op", "problem": "", "repairs": 2}', "paused by op"),
        (
            '{"paused_by": "", "problem": "slot does not exist", "repairs": 2}',
            "slot does not exist",
        ),
    ],
)
def test_the_chain_shows_why_capture_is_not_repaired(
    inbox: psycopg.Connection, detail: str, said: str
) -> None:
    probes = import_module("webui.desks.system.probes")
    assert probes.capture_report() == ("", [])
    inbox.execute(
        "INSERT INTO read_model.service_heartbeat (service, pid, at, detail)"
        " VALUES ('capture', 7, clock_timestamp(), %s)",
        (detail,),
    )

    assert probes.capture_report() == (said, [("repairs", "2")])


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Point the probes at a port without a listener."""
    settings = import_module("django.conf").settings
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{bound.getsockname()[1]}"
        known = settings.CONNECTIONS.model_copy(update={"kafka_bootstrap": nobody})
        monkeypatch.setattr(settings, "CONNECTIONS", known)
        monkeypatch.setenv("INVENTORY_WORKER_URLS", f"http://{nobody}")
        yield import_module("webui.desks.system.probes")


def test_the_chain_shows_the_read_model_age_without_a_broker(
    inbox: psycopg.Connection, no_broker: ModuleType
) -> None:
    inbox.execute(
        "INSERT INTO read_model.sink_position (sink, topic, partition, next_offset, as_of_us)"
        " VALUES ('projector', %s, 0, 1,"
        " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 30000000)",
        (ON_HAND_CHANGELOG,),
    )

    links = {link.name: link for link in no_broker.chain()}

    assert links["Kafka"].state == "down"
    assert links["Kafka"].summary.startswith("the broker does not answer (")
    assert links["Workers"].state == "down"
    assert [text for _, text in links["Workers"].details] == ["no answer (ConnectError)"]
    assert links["Read model"].state == "slow"
    assert links["Read model"].age_us >= 30_000_000
    assert links["Read model"].lag == "unknown: the broker does not answer"
    assert "KafkaError" not in " ".join(link.summary for link in links.values())
