"""The reorders desk through its pages: picking, splitting, odd units, paging, reasons to wait."""

import re
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from ledger import services
from tests.ledger.pages import form, person
from tests.ledger.rows import reorder_proposal

STOCK_BELOW_ZERO = """
INSERT INTO read_model.stock (inv_key, location, sku, on_hand_units, unavailable_units,
    on_order_units, in_transit_units, allocated_units, available_to_sell_units, stock_known,
    base_position_units, requested_units, price_step, episode_state, reorder_id, policy_active,
    generation, partition, "offset", logic_revision, as_of_us, state)
VALUES ('L|S000', 'L', 'S000', -1, 0, 0, 0, 0, -1, true, 0, 42, 0, 'open', %s, true, 1, 0, 1, 1,
    (extract(epoch FROM now()) * 1000000)::bigint, '{}')
"""


def needs(ledger: psycopg.Connection, number: int, **changes: object) -> list[str]:
    found = []
    for n in range(number):
        sku = f"S{n:03}"
        services.range_item(location="L", sku=sku, policy={"supplier": "ACME", "pack_units": 6})
        row = {"reorder_id": f"R:L|{sku}:1-2", "inv_key": f"L|{sku}", "sku": sku, **changes}
        found.append(reorder_proposal(ledger, **row))
    return found


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def lines(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT reorder_id, ordered_units, supplier, due_on::text, recorded_by"
        " FROM retail.purchase_order_line ORDER BY id"
    ).fetchall()


def decide(client: Client, proposal: str, action: str, **fields: object) -> Any:
    return client.post("/reorders/decide", form(proposal, 1, action=action, **fields))


def pick(client: Client, *picked: str, **fields: str) -> Any:
    return client.post(
        "/reorders/approve", {"pick": list(picked), "command_id": str(uuid4())} | fields
    )


def test_picked_needs_are_ordered_with_one_click(ledger: psycopg.Connection) -> None:
    found, client = needs(ledger, 20), person("buyer")

    answer = pick(client, *(f"1@{need}" for need in found))

    assert answer.status_code == 302
    assert len(lines(ledger)) == 20
    assert "Ordered 20 needs in 1 draft order. Send it on the page" in text(
        client.get("/reorders/")
    )


def test_needs_that_could_not_be_ordered_are_listed_with_their_reason(
    ledger: psycopg.Connection,
) -> None:
    first, second = needs(ledger, 2)
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2 WHERE reorder_id = %s", [second])

    answer = pick(person("buyer"), f"1@{first}", f"1@{second}")

    page = text(answer)
    assert answer.status_code == 200
    assert "1 of the picked needs could not be ordered" in page
    assert "It now has revision 2" in page
    assert [line[0] for line in lines(ledger)] == [first]


@pytest.mark.parametrize(
    "odd", [{}, {"pick": "x@R:1"}, {"pick": "1@R:1", "command_id": "no"}, {"pick": "noat"}]
)
def test_malformed_picks_of_needs_are_refused_with_an_alert(
    ledger: psycopg.Connection, odd: Any
) -> None:
    answer = person("buyer").post("/reorders/approve", {"command_id": str(uuid4())} | odd)

    assert answer.status_code == 422
    assert 'role="alert"' in text(answer)


def test_a_need_is_split_on_the_page(ledger: psycopg.Connection) -> None:
    services.name_suppliers(names={"ACME": "Acme", "OTHER": "Other"})
    [need] = needs(ledger, 1)

    answer = decide(
        person("buyer"),
        need,
        "split",
        units=42,
        units1=30,
        supplier1="ACME",
        units2=12,
        supplier2="OTHER",
        due_on2="2099-01-02",
        units3="",
    )

    assert answer.status_code == 302
    assert lines(ledger) == [
        (need, 30, "ACME", None, "buyer"),
        (None, 12, "OTHER", "2099-01-02", "buyer"),
    ]


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"units1": 30}, "add up to 42"),
        ({"units1": 41, "units2": 1}, "multiple of the pack"),
        ({"units1": "many"}, "whole number"),
        ({"units1": 42, "due_on1": "soon"}, "Due day of part 1: a day like"),
        ({}, "at least one order line"),
    ],
)
def test_a_split_that_does_not_fit_keeps_its_input(
    ledger: psycopg.Connection, fields: dict[str, Any], rule: str
) -> None:
    [need] = needs(ledger, 1)

    answer = decide(person("buyer"), need, "split", units=42, **fields)

    page = text(answer)
    assert answer.status_code == 422
    assert rule in page
    assert '<details class="more" open><summary>Split</summary>' in page
    field = 'name="units1" type="number" inputmode="numeric" min="1" max="1000000"'
    assert f'{field} value="{fields.get("units1", "")}"' in page
    assert lines(ledger) == []


@pytest.mark.parametrize(("action", "parts"), [("approve", {}), ("split", {"units1": 426})])
def test_ordering_over_ten_times_the_suggestion_needs_a_tick(
    ledger: psycopg.Connection, action: str, parts: dict[str, int]
) -> None:
    [need] = needs(ledger, 1)
    client, typed = person("buyer"), {"units": 426, **parts}
    assert 'name="meant"' not in text(decide(client, need, action, units=41, units1=41))

    for further in ({}, {"meant": "420"}):
        answer = decide(client, need, action, **typed, **further)

        assert answer.status_code == 422
        assert "Units: more than ten times the suggestion of 42" in text(answer)
        assert text(answer).count('name="meant" value="426"') == 1
    assert lines(ledger) == []
    assert decide(client, need, action, **typed, meant="426").status_code == 302
    assert [line[1] for line in lines(ledger)] == [426]


def test_only_the_lead_can_order_odd_units(ledger: psycopg.Connection) -> None:
    [need] = needs(ledger, 1)

    refused = decide(person("buyer"), need, "approve", units=41)
    assert refused.status_code == 422
    assert 'required value="41"' in text(refused)
    assert decide(person("lead"), need, "approve", units=41).status_code == 302


def test_approving_other_units_of_an_ordered_need_names_the_first_order(
    ledger: psycopg.Connection,
) -> None:
    [need] = needs(ledger, 1)
    services.approve_reorder(
        services.ApproveReorder(reorder_id=need, shown_revision=1, units=48), actor="ann"
    )

    answer = decide(person("buyer"), need, "approve", units=42)

    assert answer.status_code == 409
    assert "ann has already ordered 48 units as PO-" in text(answer)
    assert len(lines(ledger)) == 1


def test_approving_an_ordered_need_names_the_person_who_ordered_it(
    ledger: psycopg.Connection,
) -> None:
    first, second = needs(ledger, 2)
    services.approve_reorder(
        services.ApproveReorder(reorder_id=first, shown_revision=1, units=42), actor="ann"
    )
    client = person("buyer")

    alone = decide(client, first, "approve", units=42)
    together = text(pick(client, f"1@{first}", f"1@{second}"))

    assert alone.status_code == 409
    assert "ann has already ordered 42 units as PO-" in text(alone)
    assert "Ordered 1 need in 1 draft order. Send it on the page" in together
    assert ">S000 at L</a>: ann has already ordered 42 units as PO-" in together
    assert len(lines(ledger)) == 2


def test_every_need_is_on_one_page_and_each_page_shows_the_total(
    ledger: psycopg.Connection,
) -> None:
    found, client, seen = needs(ledger, 120), person("buyer"), []
    address = "/reorders/"

    while address:
        page = text(client.get(address))
        seen += re.findall(r'data-proposal="([^"]+)"', page)
        assert "120 needs, " in page
        link = re.search(r'href="([^"]+)" rel="next"', page)
        address = "/reorders/" + link.group(1).replace("&amp;", "&") if link else ""

    assert seen == found


def test_previous_link_of_the_reorders_desk_opens_the_page_before(
    ledger: psycopg.Connection,
) -> None:
    found, client = needs(ledger, 120), person("buyer")
    pages = [text(client.get("/reorders/"))]
    for _ in range(2):
        pages.append(text(client.get("/reorders/" + link(pages[-1], "next"))))

    back = text(client.get("/reorders/" + link(pages[2], "prev")))
    first = text(client.get("/reorders/" + link(back, "prev")))

    assert proposals_of(back) == proposals_of(pages[1]) == found[50:100]
    assert proposals_of(first) == found[:50]


def link(page: str, rel: str) -> str:
    [found] = re.findall(rf'href="([^"]+)" rel="{rel}"', page)
    return str(found).replace("&amp;", "&")


def proposals_of(page: str) -> list[str]:
    return re.findall(r'data-proposal="([^"]+)"', page)


def test_closed_needs_are_paged_and_an_unknown_position_shows_the_first_page(
    ledger: psycopg.Connection,
) -> None:
    needs(ledger, 60, status="cancelled")
    client = person("buyer")

    first = text(client.get("/reorders/?view=closed&after=R:nothing"))
    link = re.search(r'href="([^"]+)" rel="next"', first)
    assert link is not None
    second = text(client.get("/reorders/" + link.group(1).replace("&amp;", "&")))

    seen = re.findall(r'data-proposal="([^"]+)"', first + second)
    assert len(seen) == len(set(seen)) == 60


def test_next_page_after_an_approved_need_skips_no_need(ledger: psycopg.Connection) -> None:
    found, client = needs(ledger, 60), person("buyer")
    first = text(client.get("/reorders/"))
    link = re.search(r'href="([^"]+)" rel="next"', first)
    assert link is not None
    ledger.execute("UPDATE app.reorder_proposal SET status = 'accepted' WHERE sku < 'S050'")

    second = text(client.get("/reorders/" + link.group(1).replace("&amp;", "&")))

    assert re.findall(r'data-proposal="([^"]+)"', second) == found[50:]


def test_need_page_shows_why_the_need_waits_for_a_person(ledger: psycopg.Connection) -> None:
    [need] = needs(ledger, 1, flags=["cover_over_guard"])
    client = person("associate")

    desk = text(client.get("/reorders/"))
    page = text(client.get("/reorders/need", {"id": need}))

    assert "would last too long" in desk
    assert "Approve and send" not in desk
    assert "Waits for a person because automatic orders are not allowed for this item" in page
    assert "it would last too long" in page


def test_need_page_shows_warnings_that_do_not_stop_an_automatic_order(
    ledger: psycopg.Connection,
) -> None:
    [need] = needs(ledger, 1)
    ledger.execute("UPDATE retail.item_location SET auto_max_minor = 999999")
    ledger.execute(STOCK_BELOW_ZERO, [need])

    page = text(person("buyer").get("/reorders/need", {"id": need}))

    assert "orders this need automatically when all these reasons have ended: it " in page
    assert "that don't stop an automatic order: is below zero: count it first." in page
    assert "Waits for a person" not in page


def test_a_closed_need_is_read_only(ledger: psycopg.Connection) -> None:
    [need] = needs(ledger, 1, status="accepted")
    client = person("buyer")

    page = text(client.get("/reorders/?view=closed"))

    assert "Approve" not in page
    for action in ("approve", "reject", "snooze", "resume"):
        answer = decide(client, need, action, units=42, reason="x", days=3)
        assert answer.status_code == 409, action


def test_closed_need_page_shows_its_order_and_the_figures_at_closing(
    ledger: psycopg.Connection,
) -> None:
    [need] = needs(ledger, 1, reorder_point_units=20)
    client = person("buyer")
    decide(client, need, "approve", units=42)
    ledger.execute(
        "UPDATE app.reorder_proposal SET status = 'accepted', base_position_units = 62,"
        " reorder_point_units = 20"
    )

    page = text(client.get("/reorders/need", {"id": need}))

    [(ref,)] = ledger.execute("SELECT order_ref FROM retail.purchase_order_line").fetchall()
    assert f'42 units as <a href="/orders/order?ref={ref}">{ref}</a>' in page
    assert "When the need closed: Base position <b>62</b> &gt; reorder point <b>20</b>" in page
    assert "The need had asked for <b>42 units</b>." in page
    assert "order <b>42</b>" not in page


def test_reorders_desk_shows_the_number_of_unsent_draft_orders(ledger: psycopg.Connection) -> None:
    [need] = needs(ledger, 1)
    client = person("buyer")
    assert "draft order" not in text(client.get("/reorders/"))

    services.approve_reorder(services.ApproveReorder(reorder_id=need, shown_revision=1))

    assert "1 draft order waits to be sent" in text(client.get("/reorders/"))


def test_reject_snooze_and_resume_on_a_card_write_their_decisions(
    ledger: psycopg.Connection,
) -> None:
    first, second, third = needs(ledger, 3)
    ledger.execute(
        "UPDATE app.reorder_proposal SET status = 'snoozed' WHERE reorder_id = %s", [third]
    )
    client = person("buyer")

    answers = [
        decide(client, first, "reject", reason="ends"),
        decide(client, second, "snooze", days=90),
        decide(client, third, "resume"),
    ]

    assert [answer.status_code for answer in answers] == [302, 302, 302]
    assert ledger.execute(
        "SELECT reorder_id, action, recorded_by FROM retail.reorder_decision ORDER BY id"
    ).fetchall() == [
        (first, "reject", "buyer"),
        (second, "snooze", "buyer"),
        (third, "resume", "buyer"),
    ]
    assert decide(client, second, "snooze", days=91).status_code == 422
    assert decide(client, second, "fly").status_code == 422


def test_approval_without_a_picked_need_is_refused_with_a_hint(
    ledger: psycopg.Connection,
) -> None:
    needs(ledger, 1)
    client = person("buyer")

    answer = pick(client)

    assert answer.status_code == 422
    assert "Tick at least one need first." in text(answer)
    # The script puts the desk's address into the address bar. A reload then requests the desk.
    assert "<body" in text(answer)
    assert " data-answer>" in text(answer)
    assert " data-answer>" not in text(client.get("/reorders/"))
    assert lines(ledger) == []
