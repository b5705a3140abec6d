"""Snoozed, rejected or partly ordered needs, and the people who may reopen them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest

from inventory.model.episode import Episode
from inventory.model.ids import ReorderId
from ledger import services
from ledger.services import Conflict
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.inbox import NOON_US, level, state
from tests.ledger.pages import form, person
from tests.ledger.rows import price_proposal, reorder_proposal

NEED = "R:L|S:1-2"
NEED_PAGE = f"/reorders/need?{urlencode({'id': NEED})}"


@pytest.fixture
def need(ledger: psycopg.Connection) -> str:
    services.range_item(location="L", sku="S", policy={"supplier": "ACME", "pack_units": 6})
    return reorder_proposal(ledger)


def hold(ledger: psycopg.Connection, held: str, need: str = NEED) -> None:
    """Write a state of the key in hold `held` because of this need."""
    episode = Episode(state=held, id=ReorderId(need), revision=2, until_us=NOON_US + 86_400_000_000)
    level(ledger, state(episode=episode))


def answered(ledger: psycopg.Connection, status: str, revision: int = 2) -> None:
    """Write the proposal as the actuator does after the workers have processed an answer."""
    ledger.execute(
        "UPDATE app.reorder_proposal SET status = %s, revision = %s,"
        " updated_at = clock_timestamp()",
        [status, revision],
    )


def words(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT action, need_revision, recorded_by FROM retail.reorder_decision ORDER BY id"
    ).fetchall()


@pytest.mark.domain("7 proposal held")
def test_a_buyer_resumes_a_rejected_need_while_it_is_held(
    ledger: psycopg.Connection, need: str
) -> None:
    services.reject_reorder(reorder_id=need, shown_revision=1, reason="too dear", actor="ann")
    answered(ledger, "rejected")
    hold(ledger, "held-rejected")

    services.resume_reorder(reorder_id=need, shown_revision=2, actor="ben")

    assert words(ledger) == [("reject", 1, "ann"), ("resume", 2, "ben")]


@pytest.mark.domain("7 proposal held")
def test_a_buyer_resumes_a_need_that_is_held_after_a_short_order(
    ledger: psycopg.Connection, need: str
) -> None:
    services.approve_reorder(
        services.ApproveReorder(reorder_id=need, shown_revision=1, units=6), actor="ann"
    )
    answered(ledger, "accepted")
    hold(ledger, "held-short")

    services.resume_reorder(reorder_id=need, actor="ben")

    assert words(ledger) == [("approve", 1, "ann"), ("resume", 2, "ben")]


def test_a_rejected_need_cannot_be_resumed_before_the_workers_process_it(
    ledger: psycopg.Connection, need: str
) -> None:
    services.reject_reorder(reorder_id=need, shown_revision=1, reason="too dear", actor="ann")
    hold(ledger, "open")

    with pytest.raises(Conflict, match="ann has already rejected this proposal"):
        services.resume_reorder(reorder_id=need, actor="ben")


@pytest.mark.parametrize(
    ("status", "held", "holder"),
    [
        ("rejected", "held-rejected", "R:L|S:1-9"),
        ("rejected", "held-short", NEED),
        ("rejected", "idle", NEED),
        ("accepted", "held-rejected", NEED),
    ],
)
def test_a_closed_need_without_a_hold_cannot_be_resumed(
    ledger: psycopg.Connection, need: str, status: str, held: str, holder: str
) -> None:
    answered(ledger, status)
    hold(ledger, held, holder)

    with pytest.raises(Conflict, match=f"has been {status} since .* nothing to resume"):
        services.resume_reorder(reorder_id=need)


def test_a_held_need_that_changed_since_it_was_shown_is_not_resumed(
    ledger: psycopg.Connection, need: str
) -> None:
    answered(ledger, "rejected", revision=3)
    hold(ledger, "held-rejected")

    with pytest.raises(Conflict, match=r"You saw revision 2 .* It now has revision 3"):
        services.resume_reorder(reorder_id=need, shown_revision=2)


@pytest.mark.parametrize(
    ("status", "held"), [("rejected", "held-rejected"), ("snoozed", "held-snoozed")]
)
def test_when_two_people_resume_a_need_the_second_gets_a_conflict(
    ledger: psycopg.Connection, need: str, status: str, held: str
) -> None:
    answered(ledger, status)
    hold(ledger, held)

    outcomes = at_the_same_time(
        *(lambda who=who: services.resume_reorder(reorder_id=need, actor=who) for who in "ab")
    )

    [loser] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert "has already resumed this proposal" in loser.what_changed
    assert len(words(ledger)) == 1


def test_the_held_view_lists_a_rejected_need_and_resumes_it(
    ledger: psycopg.Connection, need: str
) -> None:
    answered(ledger, "rejected")
    hold(ledger, "held-rejected")
    client = person("buyer")

    listed = client.get("/reorders/?view=held").content.decode()
    assert re.search(r"held until 3 Mar( 2026)?, 12:00", listed)
    page = client.get(NEED_PAGE).content.decode()
    answer = client.post("/reorders/decide?view=held", form(need, 2, action="resume"))

    assert f'data-proposal="{need}"' in listed
    assert (
        "This need was rejected, so it is held until the first sale, receipt or other record"
        in page
    )
    assert re.search(r"after 3 Mar( 2026)?, 12:00", page)
    assert ">Resume</button>" in page
    assert ">Snooze</button>" not in page
    assert answer.status_code == 302
    assert words(ledger) == [("resume", 2, "buyer")]
    again = client.get(NEED_PAGE).content.decode()
    assert ">Resume</button>" not in again


def test_a_snoozed_need_can_be_resumed_before_the_read_model_is_updated(
    ledger: psycopg.Connection, need: str
) -> None:
    services.snooze_reorder(reorder_id=need, shown_revision=1, actor="ann")
    answered(ledger, "snoozed")

    client = person("buyer")

    assert f'data-proposal="{need}"' in client.get("/reorders/?view=held").content.decode()
    assert ">Resume</button>" in client.get(NEED_PAGE).content.decode()


def test_a_rejected_need_offers_no_resume_button_after_its_hold_ends(
    ledger: psycopg.Connection, need: str
) -> None:
    answered(ledger, "rejected")
    hold(ledger, "idle")

    client = person("buyer")

    assert f'data-proposal="{need}"' in client.get("/reorders/?view=closed").content.decode()
    assert ">Resume</button>" not in client.get(NEED_PAGE).content.decode()


@pytest.mark.parametrize("reason", [None, "ends soon"])
def test_approving_a_just_snoozed_need_names_who_snoozed_it_and_until_when(
    ledger: psycopg.Connection, need: str, reason: str | None
) -> None:
    until = datetime.now(UTC) + timedelta(days=5)  # noqa: TID251 -- the rule compares with the clock
    services.snooze_reorder(
        reorder_id=need, shown_revision=1, until_at=until, reason=reason, actor="ann"
    )

    with pytest.raises(Conflict) as refused:
        services.approve_reorder(
            services.ApproveReorder(reorder_id=need, shown_revision=1), actor="ben"
        )

    because = f" ({reason})" if reason else ""
    said = f"ann has snoozed this proposal until {until:%Y-%m-%d %H:%M} UTC{because}, "
    assert refused.value.what_changed.startswith(said)
    assert words(ledger) == [("snooze", 1, "ann")]


def test_when_a_need_is_snoozed_and_approved_at_once_one_gets_a_conflict(
    ledger: psycopg.Connection, need: str
) -> None:
    outcomes = at_the_same_time(
        lambda: services.snooze_reorder(reorder_id=need, shown_revision=1, actor="ann"),
        lambda: services.approve_reorder(
            services.ApproveReorder(reorder_id=need, shown_revision=1), actor="ben"
        ),
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1
    assert len(words(ledger)) == 1


def test_a_need_can_be_approved_after_its_snooze_ends(
    ledger: psycopg.Connection, need: str
) -> None:
    services.snooze_reorder(reorder_id=need, shown_revision=1, actor="ann")
    answered(ledger, "snoozed")
    with pytest.raises(Conflict, match="is snoozed now: ann has snoozed this proposal"):
        services.approve_reorder(services.ApproveReorder(reorder_id=need, shown_revision=2))
    answered(ledger, "open", revision=3)

    done = services.approve_reorder(services.ApproveReorder(reorder_id=need, shown_revision=3))

    assert done.units == 42


def test_a_conflict_on_a_need_keeps_the_typed_units(ledger: psycopg.Connection, need: str) -> None:
    services.snooze_reorder(reorder_id=need, shown_revision=1, actor="ann")

    answer = person("buyer").post("/reorders/decide", form(need, 1, action="approve", units=48))

    page = answer.content.decode()
    assert answer.status_code == 409
    assert re.search(r"ann has snoozed this proposal, on 20.* UTC\. Nothing was written\.", page)
    assert 'required value="48"' in page


def test_a_conflict_keeps_the_typed_reason_after_the_need_left_the_view(
    ledger: psycopg.Connection, need: str
) -> None:
    services.snooze_reorder(reorder_id=need, shown_revision=1, actor="ann")
    answered(ledger, "snoozed")

    answer = person("buyer").post(
        "/reorders/decide", form(need, 1, action="reject", reason="too dear")
    )

    page = answer.content.decode()
    assert answer.status_code == 409
    assert re.search(r'name="reason"[^>]* value="too dear"', page)


def test_approving_a_just_snoozed_price_names_who_snoozed_it(
    ledger: psycopg.Connection,
) -> None:
    proposal = price_proposal(ledger)
    services.snooze_price(proposal_id=proposal, shown_revision=1, actor="ann")

    with pytest.raises(Conflict, match="ann has snoozed this proposal"):
        services.approve_price(proposal_id=proposal, shown_revision=1, actor="ben")
