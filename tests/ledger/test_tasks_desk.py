"""The tasks desk: a person's own tasks first, each with its numbers and next step."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test.utils import setup_test_environment, teardown_test_environment
from psycopg.types.json import Jsonb

from inventory.model.state import Demand
from ledger.automation.conditions import KINDS
from ledger.services import Conflict, ServiceError
from ledger.tasks.service import acknowledge_variance, dismiss_rejected, mark_replayed
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.inbox import NOON, emptied, level, look, open_tasks, policy, put, rejected, state
from tests.ledger.pages import form, person
from tests.ledger.rows import write

# One task of every kind, with the numbers that its query gives.
NUMBERS: dict[str, dict[str, object]] = {
    "pipeline_stale": {"as_of": "2026-03-02T12:00:00+00:00", "never_heard": 0},
    "rejected_record": {"records": 1, "reasons": ["limit"], "first": "1-0-7", "since": "2026"},
    "source_clock": {"source": "till-1", "facts": 3, "most_s": 400},
    "stale_source": {"silent_since": "2026-03-02T09:00:00+00:00", "lines_of_seven_days": 49},
    "missing_proposal": {"reorder": "R:L|S:1-2", "price": None},
    "negative_stock": {"on_hand_units": -3},
    "count_again": {"record": "1-0-7", "seen_at": "2026"},
    "overdue_receipt": {
        "due_on": "2026-03-01",
        "open_units": 10,
        "orders": ["PO-1"],
        "supplier": "ACME",
    },
    "stuck_transfer": {"due_on": "2026-03-01", "shipped_units": 6, "transfers": ["T-1"]},
    "stuck_signal": {
        "reorder": "R:L|S:1-2",
        "quantity_units": 42,
        "since": "2026-03-01T09:00:00+00:00",
    },
    "held_at_zero": {"hold": "held-snoozed", "available_units": 0, "on_order_units": 0},
    "negative_bucket": {"on_order_units": -1, "unavailable_units": 0},
    "not_counted": {"on_hand_units": 4},
    "unknown_item": {"on_hand_units": -1},
    "floor_breached": {"price_minor": 899, "floor_minor": 900, "cost_minor": 900},
    "phantom_suspect": {
        "on_hand_units": 10,
        "lambda_micro": 4_611_111,
        "threshold_micro": 4_605_170,
        "quiet_windows": 166,
        "rate_micro": 2_000_000,
        "last_count": 1,
    },
    "count_variance": {
        "count": 1,
        "status": "approved",
        "counted_units": 17,
        "expected_units": 20,
        "variance_units": -3,
        "counted_by": "ann",
    },
}


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """The ledger without tasks and their causes. Django records the contexts of templates."""
    setup_test_environment()
    yield emptied(ledger)
    teardown_test_environment()


def one_of_each(inbox: psycopg.Connection) -> None:
    for kind in KINDS:
        has_item = kind.name not in ("pipeline_stale", "source_clock", "rejected_record")
        put(
            inbox,
            "app.task",
            kind=kind.name,
            subject="L|S" if has_item else kind.name,
            location="L" if has_item else None,
            sku="S" if has_item and kind.name != "stale_source" else None,
            role=kind.role,
            detail=Jsonb(NUMBERS[kind.name]),
            noticed_at=NOON,
            opened_at=NOON,
        )


@pytest.mark.parametrize("role", ["associate", "manager", "buyer", "pricing", "operator"])
def test_every_task_kind_shows_its_numbers_and_links_to_a_permitted_page(
    inbox: psycopg.Connection, role: str
) -> None:
    assert NUMBERS.keys() == {kind.name for kind in KINDS}
    inbox.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme Tools')")
    one_of_each(inbox)
    client = person(role)

    page = client.get("/tasks/?for=all")

    assert page.status_code == 200
    steps = [card.url for card in page.context["cards"]]
    assert len(steps) == len(KINDS)
    rejected(inbox)
    level(inbox, state())
    write(inbox, "item_location", recorded_at=NOON)
    # The system page needs Kafka, which doesn't run here.
    for url in set(steps) - {"/system/"}:
        assert client.get(url).status_code == 200, url
    shown = page.content.decode()
    said = "in 27 hours of opening time. At the demand before the last sale, about 4 units"
    assert said in shown
    assert "10 units of PO-1, due on 2026-03-01 from Acme Tools." in shown
    assert "The price €8.99 is below its floor €9.00." in shown
    assert re.search(r"waited for a decision since 1 Mar( 2026)?, 09:00\.", shown)
    assert re.search(r"No heartbeat has arrived since 2 Mar( 2026)?, 12:00\.", shown)
    # A blind count is the next step of these tasks.
    assert "10 on hand" not in shown
    assert "add up to 4" not in shown


def test_the_task_of_a_rejected_record_names_its_item(inbox: psycopg.Connection) -> None:
    inbox.execute("INSERT INTO retail.product (code, name) VALUES ('S', 'Kettle, red')")
    numbers = Jsonb(NUMBERS["rejected_record"])
    for subject in ("L|S", "no key"):
        put(
            inbox,
            "app.task",
            kind="rejected_record",
            subject=subject,
            role="operator",
            detail=numbers,
            noticed_at=NOON,
            opened_at=NOON,
        )

    page = person("operator").get("/tasks/")

    names = re.findall(r'<th scope="row" class="wide">(.*?)</th>', page.content.decode())
    assert sorted(names) == ["Kettle, red", "no key"]


@pytest.mark.parametrize(
    ("hold", "words"),
    [
        ("held-snoozed", "the need is snoozed."),
        ("held-rejected", "the need is rejected."),
        ("held-short", "the need is ordered with fewer units than it asked for."),
    ],
)
def test_a_held_at_zero_task_names_the_decision_that_holds_the_need(hold: str, words: str) -> None:
    kinds = import_module("webui.desks.tasks.kinds").KINDS  # here, because it needs Django set up
    numbers = NUMBERS["held_at_zero"] | {"hold": hold}

    assert kinds["held_at_zero"].describe(numbers).endswith(words)


def test_a_phantom_task_of_less_than_an_hour_shows_minutes() -> None:
    kinds = import_module("webui.desks.tasks.kinds").KINDS  # here, because it needs Django set up
    numbers = NUMBERS["phantom_suspect"] | {"quiet_windows": 5}

    assert "none was sold in 50 minutes of opening time" in kinds["phantom_suspect"].describe(
        numbers
    )


def roles_of(page: Any) -> list[str]:
    """Return the roles of the listed tasks, each once, in the order of the list."""
    return list(dict.fromkeys(card.role for card in page.context["cards"]))


@pytest.mark.parametrize(
    ("role", "first"),
    [
        ("associate", ["Store staff"]),
        ("manager", ["Store manager", "Store staff"]),
        ("lead", ["Purchasing lead", "Buyer"]),
        ("analyst", []),
    ],
)
def test_a_persons_own_tasks_come_first(
    inbox: psycopg.Connection, role: str, first: list[str]
) -> None:
    one_of_each(inbox)
    client = person(role)

    shown = roles_of(client.get("/tasks/"))
    every = roles_of(client.get("/tasks/?for=all"))

    assert shown == (first or every)
    assert every[: len(first)] == first
    assert len(every) == 6


def test_the_task_list_filters_by_kind_and_location(inbox: psycopg.Connection) -> None:
    for location in ("A", "B"):
        put(
            inbox,
            "app.task",
            kind="negative_stock",
            subject=f"{location}|S",
            location=location,
            sku="S",
            role="manager",
            detail='{"on_hand_units": -3}',
            noticed_at=NOON,
            opened_at=NOON,
        )
    client = person("manager")

    assert b"On hand \xe2\x88\x923" in client.get("/tasks/?kind=negative_stock&location=A").content
    assert b"Nothing to do" in client.get("/tasks/?kind=not_counted").content
    page = client.get("/tasks/?location=A").content.decode()
    assert "/items/A/S" in page
    assert "/items/B/S" not in page


def test_an_empty_task_list_explains_how_tasks_appear(inbox: psycopg.Connection) -> None:
    page = person("buyer").get("/tasks/").content.decode()
    assert "A task appears here by itself" in page
    assert "The pipeline is behind" in page


def test_a_kind_with_many_tasks_does_not_hide_other_kinds(inbox: psycopg.Connection) -> None:
    for number in range(30):
        level(inbox, state(sku=f"N{number}", stock={"opening_count": None}))
    level(inbox, state(sku="NEG", stock={"on_hand_units": -1}))
    look("not_counted")
    look("negative_stock")
    client = person("manager")

    kinds = [card.label for card in client.get("/tasks/").context["cards"]]

    # The desk lists the oldest five tasks of each kind first.
    assert sorted(kinds[:6]) == ["Negative stock", *["Not counted"] * 5]
    assert kinds.count("Not counted") == 30
    narrowed = client.get("/tasks/?kind=not_counted")
    assert len(narrowed.context["cards"]) == 30
    assert "<b>30 open tasks</b>" in narrowed.content.decode()


def variance(inbox: psycopg.Connection) -> int:
    """Open a task about a count by ann that differs by -3. Return the task's id."""
    write(inbox, "stock_count", units=20, kind="opening", recorded_at=NOON)
    later = NOON.replace(hour=13)
    write(inbox, "stock_count", units=17, occurred_at=later, recorded_at=later, recorded_by="ann")
    look("count_variance", NOON.replace(hour=14))
    return int(open_tasks(inbox)[0]["id"])


def test_an_acknowledged_count_difference_does_not_reopen(inbox: psycopg.Connection) -> None:
    task = variance(inbox)
    client = person("manager")

    answer = client.post("/tasks/acknowledge", form(task, -3, action="acknowledge"), follow=True)

    assert b"Acknowledged: \xe2\x88\x923 units" in answer.content
    look("count_variance", NOON.replace(hour=14))
    assert open_tasks(inbox) == []
    logged = inbox.execute("SELECT actor, action FROM app.action_log").fetchall()
    assert logged == [("manager", "acknowledge_variance")]


def test_a_count_difference_that_changed_is_not_acknowledged(inbox: psycopg.Connection) -> None:
    task = variance(inbox)
    answer = person("manager").post("/tasks/acknowledge", form(task, -5, action="acknowledge"))
    assert answer.status_code == 409
    assert b"The difference was -5" in answer.content
    assert len(open_tasks(inbox)) == 1


def test_the_person_who_counted_cannot_acknowledge_the_difference(
    inbox: psycopg.Connection,
) -> None:
    task = variance(inbox)
    with pytest.raises(ServiceError, match="another person"):
        acknowledge_variance(task_id=task, shown_variance_units=-3, actor="ann")
    assert b"Acknowledge " not in person("manager", "ann").get("/tasks/").content


def test_only_a_manager_acknowledges_a_count_difference(inbox: psycopg.Connection) -> None:
    task = variance(inbox)
    assert person("associate").post("/tasks/acknowledge", form(task, -3)).status_code == 403


def test_when_two_managers_acknowledge_at_once_one_gets_a_conflict(
    inbox: psycopg.Connection,
) -> None:
    task = variance(inbox)

    done = at_the_same_time(
        *[
            lambda name=name: acknowledge_variance(
                task_id=task, shown_variance_units=-3, actor=name
            )
            for name in ("max", "eva")
        ]
    )

    assert sorted(type(one).__name__ for one in done) == ["Conflict", "int"]


def test_a_double_click_acknowledges_a_difference_once(inbox: psycopg.Connection) -> None:
    task, command = variance(inbox), uuid4()
    for _ in range(2):
        done = acknowledge_variance(
            task_id=task, shown_variance_units=-3, actor="max", command_id=command
        )
        assert done == -3


def test_only_count_difference_tasks_can_be_acknowledged(inbox: psycopg.Connection) -> None:
    level(inbox, state(demand=Demand(), policy=policy(), stock={"on_hand_units": -3}))
    look("negative_stock")
    task = open_tasks(inbox)[0]["id"]
    with pytest.raises(ServiceError, match="not a task about a count's difference"):
        acknowledge_variance(task_id=task, shown_variance_units=-3, actor="max")


def test_a_dismissed_record_needs_a_reason_and_is_settled_once(inbox: psycopg.Connection) -> None:
    record = rejected(inbox)
    look("rejected_record")
    with pytest.raises(ServiceError, match="reason"):
        dismiss_rejected(record_id=record, reason=" ", actor="op")
    with pytest.raises(ServiceError, match="no such rejected record"):
        dismiss_rejected(record_id="9-9-9", reason="because", actor="op")

    dismiss_rejected(record_id=record, reason="a test till", actor="op")

    with pytest.raises(Conflict, match="dismissed by op"):
        mark_replayed(record_id=record, reason="again", actor="ops")
    look("rejected_record")
    assert open_tasks(inbox) == []


@pytest.mark.parametrize(("role", "sees_numbers"), [("associate", False), ("manager", True)])
def test_a_second_count_stays_blind_at_the_tasks_desk(
    inbox: psycopg.Connection, *, role: str, sees_numbers: bool
) -> None:
    numbers = NUMBERS["count_variance"] | {"status": "draft", "counted_units": 6777}
    put(
        inbox,
        "app.task",
        kind="count_variance",
        subject="L|S",
        location="L",
        sku="S",
        role="manager",
        detail=Jsonb(numbers),
        noticed_at=NOON,
        opened_at=NOON,
    )

    page = person(role).get("/tasks/?for=all").content.decode()

    assert "waits for a second blind count" in page
    assert ("6,777" in page) is sees_numbers
