"""The manager's counting pages: waiting counts, finished counts, and adjustments with a limit."""

import html
import re

import psycopg
import pytest

from ledger import services
from ledger.services import Adjust
from tests.ledger.outcomes import waiting_request
from tests.ledger.pages import person
from tests.ledger.rows import write
from tests.ledger.test_count_pages import ago, post, shelf, text, waiting

__all__ = ["shelf"]


def test_a_manager_sees_the_variance_of_a_waiting_count_and_approves_it(
    shelf: psycopg.Connection,
) -> None:
    count_id = waiting(19, at=ago(shelf, minutes=10))
    write(shelf, "sale_line", quantity_units=3, occurred_at=ago(shelf, minutes=5))
    max_ = person("manager", "max")

    said = text(max_.get(f"/counts/waiting/?location=L&open=count-{count_id}"))
    answer = post(
        max_,
        "/counts/waiting/decide?location=L",
        subject=f"count-{count_id}",
        action="approve",
        shown_expected=20,
    )

    assert "Variance −1 Worth at cost −€4.00 Moved since the count −3" in said
    assert "On hand now, and after approval 17 → 16" in said
    assert answer.headers["Location"] == "/counts/waiting/?location=L"
    history = text(max_.get(f"/counts/history/?location=L&sku=S&open={count_id}"))
    assert "ann, approved by max" in history


def test_approving_a_count_older_than_an_approved_count_keeps_on_hand_unchanged(
    shelf: psycopg.Connection,
) -> None:
    count_id, max_ = waiting(19, at=ago(shelf, minutes=10)), person("manager", "max")
    write(shelf, "stock_count", units=15, occurred_at=ago(shelf, minutes=5))

    said = text(max_.get(f"/counts/waiting/?open=count-{count_id}"))
    services.approve_waiting_count(count_id=count_id, actor="max")

    assert "after approval 15 → 15, because a later count has set the on-hand units" in said
    assert "Moved since the count" not in said
    found = shelf.execute("SELECT * FROM app.expected_at('L|S', 'infinity', 99)").fetchone()
    assert found == (15, True)


def test_an_approval_with_outdated_expected_units_gets_a_conflict(
    shelf: psycopg.Connection,
) -> None:
    count_id = waiting(19)
    write(shelf, "sale_line", quantity_units=1, occurred_at=ago(shelf, hours=1))

    answer = post(
        person("manager", "max"),
        "/counts/waiting/decide",
        subject=f"count-{count_id}",
        action="approve",
        shown_expected=20,
    )

    assert answer.status_code == 409
    assert "The expected stock was 20 units when this page was loaded, and is 19 now" in text(
        answer
    )
    assert "Expected at" in text(answer)


def test_a_count_over_the_tolerance_has_no_approve_button(shelf: psycopg.Connection) -> None:
    over, max_ = waiting(9), person("manager", "max")

    said = text(max_.get(f"/counts/waiting/?open=count-{over}"))

    assert "second blind count first" in said
    assert "Another person has to count the item again" in said
    assert "Approve" not in said
    waiting(9, actor="bob")
    assert "Approve" in text(max_.get("/counts/waiting/"))


def test_a_manager_can_request_a_recount_and_refuse_a_count_with_a_reason(
    shelf: psycopg.Connection,
) -> None:
    first, max_ = waiting(20), person("manager", "max")
    post(max_, "/counts/waiting/decide", subject=f"count-{first}", action="recount")
    assert "second blind count first" in text(max_.get("/counts/waiting/"))

    post(max_, "/counts/waiting/decide", subject=f"count-{first}", action="refuse", reason="wet")

    assert "No count waits" in text(max_.get("/counts/waiting/"))
    logged = shelf.execute(
        "SELECT detail->>'reason' FROM app.action_log WHERE action = 'void_count'"
    ).fetchall()
    assert logged == [("wet",)]
    history = text(max_.get(f"/counts/history/?sku=S&open={first}"))
    assert "never approved; made void by max" in history
    assert "no one yet" not in history


def test_the_count_history_shows_late_facts_and_can_void_a_recent_count(
    shelf: psycopg.Connection,
) -> None:
    count_id, max_ = waiting(19), person("manager", "max")
    services.approve_waiting_count(count_id=count_id, actor="max")
    late = write(shelf, "sale_line", quantity_units=1, occurred_at=ago(shelf, hours=1))
    restated = text(max_.get("/counts/history/?sku=S"))
    shelf.execute("DELETE FROM retail.sale_line WHERE id = %s", [late])
    restored = text(max_.get("/counts/history/?sku=S"))

    voided = post(max_, "/counts/history/void?sku=S", count_id=count_id, reason="wrong shelf")

    assert re.search(r"19 19 −1 0 late facts €0.00", restated)
    assert re.search(r"19 20 −1 −1 −€4.00", restored)
    assert voided.headers["Location"] == "/counts/history/?sku=S"
    shown = text(max_.get(f"/counts/history/?sku=S&open={count_id}"))
    assert f"{count_id} void" in shown
    assert re.search(r"made void by max, today \d\d:\d\d ?: “wrong shelf”", shown)


@pytest.mark.parametrize(
    ("reason", "rule"), [("", "must not be empty"), ("x" * 201, "at most 200 characters")]
)
def test_voiding_a_count_needs_a_reason_of_at_most_200_characters(
    shelf: psycopg.Connection, reason: str, rule: str
) -> None:
    max_ = person("manager", "max")
    counted = services.approve_count(services.ApproveCount(location="L", sku="S", units=19))
    drafted = waiting(19)

    voided = post(max_, "/counts/history/void?sku=S", count_id=counted, reason=reason)
    refused = post(
        max_,
        "/counts/waiting/decide",
        subject=f"count-{drafted}",
        action="refuse",
        reason=reason,
    )

    for answer in (voided, refused):
        assert answer.status_code == 422
        assert f"Reason: {rule}" in text(answer)
        assert f'maxlength="200" value="{reason}"' in answer.content.decode()
    assert shelf.execute("SELECT FROM retail.stock_count WHERE status = 'void'").fetchall() == []
    post(max_, "/counts/history/void?sku=S", count_id=counted, reason="y" * 200)
    assert "“" + "y" * 200 + "”" in text(max_.get(f"/counts/history/?sku=S&open={counted}"))


def test_the_preview_of_an_adjustment_shows_its_effect_on_stock_and_value(
    shelf: psycopg.Connection,
) -> None:
    ann = person("associate", "ann", stores=("L",))
    form = {"location": "L", "sku": "S", "reason": "damage", "quantity_units": "26"}

    shown = post(ann, "/counts/adjust/", **form, action="preview")
    booked = post(ann, "/counts/adjust/", **form, action="book")
    again = ann.get(booked.headers["Location"])

    assert "S now has 20 on hand." in text(shown)
    assert "on-hand units by −26 and the unavailable units by +26 , worth €104.00" in text(shown)
    assert "The stock record shows 20 on hand, so −6 would remain." in text(shown)
    assert "Another person has to approve it" in text(shown)
    assert booked.status_code == 302
    said = html.unescape(text(again))
    assert (
        "Waiting for another person's approval: S at Leeds: on hand −26, unavailable +26," in said
    )
    assert "worth €104.00 at cost." in said
    assert '<option value="L" selected>' in again.content.decode()
    assert shelf.execute("SELECT count(*) FROM retail.stock_adjustment").fetchone() == (0,)


def test_the_history_shows_an_adjustment_with_its_direction_and_note(
    shelf: psycopg.Connection,
) -> None:
    form = {"location": "L", "sku": "S", "quantity_units": "1", "action": "book"}
    post(person("associate", "ann"), "/counts/adjust/", **form, reason="damage", note="torn")
    request = waiting_request(Adjust("L", "S", "theft", 100, note="the door was open"), "ann")
    services.approve_adjustment(request_id=request, actor="max")

    page = text(person("associate", "ann", stores=("L",)).get("/counts/history/?show=adjustments"))

    assert "damage “torn” −1 +1 ann" in page
    assert "theft “the door was open” −100 0 max" in page


def test_a_count_that_was_counted_again_shows_no_expected_units(shelf: psycopg.Connection) -> None:
    first = waiting(5)
    second = waiting(6)
    ann = person("associate", "ann", stores=("L",))

    row, detail = (
        text(ann.get(f"/counts/history/?sku=S{query}")) for query in ("", f"&open={first}")
    )

    assert f"{first} counted again 5 – – – – ann" in row
    assert "never approved, because a newer count of the item replaced it" in detail
    assert not re.search(rf"(?<![:\d]){second}(?![:\d])", row)  # hours and minutes don't count
    waits = text(ann.get("/counts/"))
    assert "Your sheets that wait for approval" in waits
    assert re.search(r"Sheet \d+ at Leeds today \d\d:\d\d 1 Count again", waits)


def test_an_invalid_adjustment_form_shows_its_input_again(shelf: psycopg.Connection) -> None:
    form = {"location": "L", "sku": "S", "reason": "damage", "quantity_units": "0"}

    answer = post(person("associate", "ann"), "/counts/adjust/", **form, action="book")

    assert answer.status_code == 422
    assert "Units: a whole number from 1 to 1,000,000; got “0”." in text(answer)
    assert 'value="damage" selected' in answer.content.decode()


def test_a_waiting_adjustment_cannot_be_approved_by_its_requester(
    shelf: psycopg.Connection,
) -> None:
    wanted = Adjust("L", "S", "theft", 100)
    request = waiting_request(wanted, "max")
    form = {"subject": f"request-{request}", "action": "approve"}

    own = post(person("manager", "max"), "/counts/waiting/decide", **form)
    other = post(person("manager", "moe"), "/counts/waiting/decide", **form)

    said = "You have requested this adjustment, so another person has to approve it."
    assert (own.status_code, said in text(own)) == (
        422,
        True,
    )
    assert other.status_code == 302
    assert shelf.execute("SELECT quantity_units FROM retail.stock_adjustment").fetchall() == [
        (100,)
    ]


def test_a_waiting_adjustment_shows_on_hand_now_and_after(shelf: psycopg.Connection) -> None:
    client, before = person("manager", "moe"), "because a later count has set the on-hand units"
    for reason, at, units, shown in (
        ("theft", None, 100, "20 → \N{MINUS SIGN}80"),
        ("found", ago(shelf, hours=2), 100, "20 → 120"),
        ("dispose", None, 100, "20 → 20"),
        ("found", ago(shelf, hours=4), 101, "20 → 20"),
    ):
        request = waiting_request(Adjust("L", "S", reason, units, at), "max")

        page = text(client.get(f"/counts/waiting/?show=adjustments&open=request-{request}"))

        assert page.count(shown) == 2
        assert f"On hand now, and after approval {shown}" in page
        assert (before in page) is (units == 101)
        services.refuse_adjustment(request_id=request, reason="seen", actor="moe")


@pytest.mark.parametrize(
    "form",
    [
        {"subject": "", "action": "approve"},
        {"subject": "count-1", "action": "think"},
        {"subject": "count-1", "action": "approve", "shown_expected": "many"},
        {"subject": "count-999999", "action": "approve", "shown_expected": "1"},
        {"subject": "request-999999", "action": "approve"},
    ],
)
def test_a_decision_form_with_an_invalid_subject_or_action_is_refused(
    shelf: psycopg.Connection, form: dict[str, str]
) -> None:
    answer = post(person("manager", "max"), "/counts/waiting/decide", **form)

    assert answer.status_code == 422
