"""Two people send forms for the same record at the same time.

One succeeds. The other reads who changed what and when. The refused input stays in its field, or is
in the message if the page no longer has that field.
"""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from ledger import services
from ledger.kernel.transactions import database_now
from ledger.services import Entry
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.outcomes import waiting_request
from tests.ledger.pages import form, person
from tests.ledger.rows import price_proposal, reorder_proposal, write
from webui.desks.orders.lines import order_lines
from webui.desks.prices.queries import price_rows

WHEN = r"20\d\d-\d\d-\d\d \d\d:\d\d UTC"


def said(answer: Any) -> str:
    """Return the text of the page's alert."""
    [alert] = re.findall(r'role="alert">(.*?)</p>', answer.content.decode(), re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", alert)).strip()


def race(
    post: Callable[[Client, Mapping[str, str]], Any],
    role: str,
    typed: Mapping[str, Mapping[str, str]],
) -> tuple[str, str, Any]:
    """Send both people's forms at once. Return (winner, loser, the loser's answer)."""
    clients = {name: person(role, name) for name in typed}
    answers = at_the_same_time(
        *(lambda name=name: post(clients[name], typed[name]) for name in typed)
    )
    found = dict(zip(typed, answers, strict=True))
    assert sorted(answer.status_code for answer in answers) == [302, 409], answers
    [winner] = [name for name, answer in found.items() if answer.status_code == 302]
    [loser] = set(typed) - {winner}
    return winner, loser, found[loser]


@pytest.fixture
def item(ledger: psycopg.Connection) -> psycopg.Connection:
    """Write L|S with 20 counted units, packs of 6, and a cost and price floor of 4.00."""
    write(ledger, "item_location", cost_minor=400, pack_units=6, supplier="ACME")
    an_hour_ago = database_now() - timedelta(hours=1)
    write(ledger, "stock_count", units=20, kind="opening", occurred_at=an_hour_ago)
    return ledger


@pytest.mark.parametrize("units", [("42", "48"), ("42", "42")], ids=["other units", "same units"])
def test_when_two_buyers_order_a_need_the_second_page_names_the_first_order(
    item: psycopg.Connection, units: tuple[str, str]
) -> None:
    need = reorder_proposal(item)
    typed = {"ann": {"units": units[0]}, "ben": {"units": units[1]}}

    winner, loser, page = race(
        lambda client, given: client.post(
            "/reorders/decide", form(need, 1, action="approve", **given)
        ),
        "buyer",
        typed,
    )

    first = rf"{winner} has already ordered {typed[winner]['units']}( units as PO-[\w-]+), {WHEN}"
    assert re.match(first, said(page))
    assert f'required value="{typed[loser]["units"]}"' in page.content.decode()
    assert item.execute("SELECT ordered_units FROM retail.purchase_order_line").fetchall() == [
        (int(typed[winner]["units"]),)
    ]


def test_when_two_buyers_split_a_need_the_second_keeps_the_typed_parts(
    item: psycopg.Connection,
) -> None:
    need = reorder_proposal(item)
    typed = {
        "ann": {"units": "42", "units1": "36", "units2": "6"},
        "ben": {"units": "48", "units1": "12", "units2": "36"},
    }

    winner, loser, page = race(
        lambda client, given: client.post(
            "/reorders/decide", form(need, 1, action="split", **given)
        ),
        "buyer",
        typed,
    )

    first = rf"{winner} has already ordered {typed[winner]['units']} units as PO-[\w-]+, {WHEN}"
    assert re.match(first, said(page))
    assert re.search(rf'name="units1"[^>]* value="{typed[loser]["units1"]}"', page.content.decode())


def test_decision_on_a_closed_need_shows_the_conflict_and_the_reorder_list(
    item: psycopg.Connection,
) -> None:
    need = reorder_proposal(item)
    services.approve_reorder(services.ApproveReorder(need, 1, 42), actor="ann")
    item.execute("UPDATE app.reorder_proposal SET status = 'accepted', revision = 2")

    page = person("buyer", "ben").post(
        "/reorders/decide?location=L", form(need, 1, action="approve", units=48)
    )

    assert page.status_code == 409
    assert re.match(
        rf".+ at L.*: ann has already ordered 42 units as PO-[\w-]+, {WHEN}", said(page)
    )
    assert said(page).endswith("You had filled in units: 48.")
    assert f'href="/reorders/need?id={quote(need)}"' in page.content.decode()
    assert "<h1>Reorders</h1>" in page.content.decode()


def test_when_two_people_approve_a_price_the_second_page_names_the_first(
    item: psycopg.Connection,
) -> None:
    proposal = price_proposal(item)

    winner, _loser, page = race(
        lambda client, given: client.post(
            "/prices/decide", form(proposal, 1, action="approve", **given)
        ),
        "pricing",
        {"pat": {}, "pia": {}},
    )

    assert re.match(
        rf"{winner} has already approved this price, {WHEN}: €8\.99 "
        r"applies from to\w+ \d\d:\d\d on\.",
        said(page),
    )
    assert len(price_rows("L|S")) == 1


def test_rejecting_an_approved_price_keeps_the_typed_reason(item: psycopg.Connection) -> None:
    proposal = price_proposal(item)
    services.approve_price(proposal_id=proposal, shown_revision=1, actor="pat")

    page = person("pricing", "pia").post(
        "/prices/decide", form(proposal, 1, action="reject", reason="too cheap")
    )

    assert page.status_code == 409
    assert re.match(rf"pat has already approved this proposal, {WHEN}\.", said(page))
    assert 'value="too cheap"' in page.content.decode()


def test_rejecting_a_cancelled_price_repeats_the_typed_reason_in_the_message(
    item: psycopg.Connection,
) -> None:
    proposal = price_proposal(item, status="cancelled")

    page = person("pricing", "pia").post(
        "/prices/decide", form(proposal, 1, action="reject", reason="too cheap")
    )

    assert page.status_code == 409
    assert re.search(rf"is cancelled now, since {WHEN}\.", said(page))
    assert said(page).endswith("You had filled in reason: too cheap.")


def test_when_two_people_set_a_price_the_second_keeps_the_typed_price_and_reason(
    item: psycopg.Connection,
) -> None:
    begins = database_now() - timedelta(days=1)
    shown = write(item, "price_change", effective_from=begins, price_minor=999)
    typed = {
        "pat": {"price": "9.25", "reason": "season"},
        "pia": {"price": "9.35", "reason": "neighbour"},
    }

    winner, loser, page = race(
        lambda client, given: client.post(
            "/prices/items/L/S/change", form("L|S", shown, action="manual", **given)
        ),
        "pricing",
        typed,
    )

    price = typed[winner]["price"]
    other = (
        rf"has changed since it was shown: now €{price} from {WHEN} on, manual,"
        rf" written by {winner} at {WHEN}"
    )
    assert re.search(other, said(page))
    for value in typed[loser].values():
        assert f'value="{value}"' in page.content.decode()


def waiting_count(units: int = 20) -> int:
    sheet = services.open_sheet(location="L", actor="ann")
    services.add_entries(sheet_id=sheet, entries=[Entry(uuid4(), "S", units)], actor="ann")
    return services.submit_sheet(sheet_id=sheet, actor="ann").count_ids[0]


def decide_count(client: Client, count_id: int, given: Mapping[str, str]) -> Any:
    fields = {"subject": f"count-{count_id}", "shown_expected": "20", "command_id": str(uuid4())}
    return client.post("/counts/waiting/decide", {**fields, **given})


def test_when_two_managers_approve_a_count_the_second_page_names_the_first(
    item: psycopg.Connection,
) -> None:
    count_id = waiting_count()

    winner, _loser, page = race(
        lambda client, given: decide_count(client, count_id, given),
        "manager",
        {"max": {"action": "approve"}, "moe": {"action": "approve"}},
    )

    first = rf"{winner} has approved count {count_id} already: 20 units, {WHEN}\."
    assert re.match(first, said(page))


def test_refusing_an_approved_count_repeats_the_typed_reason(item: psycopg.Connection) -> None:
    count_id = waiting_count()
    decide_count(person("manager", "max"), count_id, {"action": "approve"})

    page = decide_count(
        person("manager", "moe"), count_id, {"action": "refuse", "reason": "wrong shelf"}
    )

    assert page.status_code == 409
    assert said(page).startswith(f"max has approved count {count_id}")
    assert said(page).endswith("You had filled in reason: wrong shelf.")


def test_approving_a_refused_count_names_the_person_who_refused_it(
    item: psycopg.Connection,
) -> None:
    count_id = waiting_count()
    decide_count(person("manager", "max"), count_id, {"action": "refuse", "reason": "wet"})

    page = decide_count(person("manager", "moe"), count_id, {"action": "approve"})

    assert page.status_code == 409
    assert re.match(
        rf"max has refused count {count_id}, or has counted the item again, {WHEN}", said(page)
    )


def test_when_two_managers_void_a_count_the_second_keeps_the_typed_reason(
    item: psycopg.Connection,
) -> None:
    count_id = services.approve_count(services.ApproveCount(location="L", sku="S", units=19))
    typed = {"max": {"reason": "wrong shelf"}, "moe": {"reason": "wet labels"}}

    winner, loser, page = race(
        lambda client, given: client.post(
            "/counts/history/void",
            {"count_id": str(count_id), "command_id": str(uuid4()), **given},
        ),
        "manager",
        typed,
    )

    assert re.match(rf"{winner} has made count {count_id} void already, {WHEN}\.", said(page))
    assert said(page).endswith(f"You had filled in reason: {typed[loser]['reason']}.")


def test_when_two_managers_decide_an_adjustment_the_second_page_names_the_first(
    item: psycopg.Connection,
) -> None:
    item.execute("UPDATE app.setting SET adjustment_limit_minor = 0")
    wanted = services.Adjust("L", "S", "own_use", 3)
    request = waiting_request(wanted, "ann")
    typed = {"max": {"action": "approve"}, "moe": {"action": "refuse", "reason": "no slip"}}

    winner, loser, page = race(
        lambda client, given: client.post(
            "/counts/waiting/decide",
            {"subject": f"request-{request}", "command_id": str(uuid4()), **given},
        ),
        "manager",
        typed,
    )

    verb = {"max": "approved", "moe": "refused"}[winner]
    assert re.match(
        rf"{winner} has {verb} this request \(3 units, own use\) already, {WHEN}\.", said(page)
    )
    assert loser == "max" or said(page).endswith("You had filled in reason: no slip.")


def test_when_two_people_receive_a_line_the_second_keeps_the_typed_units(
    item: psycopg.Connection,
) -> None:
    line = write(item, "purchase_order_line", order_ref="X-1")
    name = f"{line}-0"
    shown = {f"shown-{name}": "10", f"expected-{name}": "10", "accept": "typed"}
    typed = {
        "ann": {f"received-{name}": "10", f"reason-{name}": ""},
        "bob": {f"received-{name}": "7", f"reason-{name}": "short"},
    }

    winner, loser, page = race(
        lambda client, given: client.post(
            "/receiving/receive?ref=X-1", shown | {"command_id": str(uuid4()), **given}
        ),
        "associate",
        typed,
    )

    units = typed[winner][f"received-{name}"]
    assert re.search(rf"open now: {winner} has received {units} units, {WHEN}\.", said(page))
    assert re.search(
        rf'name="received-{name}"[^>]* value="{typed[loser][f"received-{name}"]}"',
        page.content.decode(),
    )


def test_when_two_buyers_confirm_a_line_the_second_keeps_the_typed_units(
    item: psycopg.Connection,
) -> None:
    line = write(item, "purchase_order_line", order_ref="X-1")
    [shown] = order_lines("X-1")
    typed = {"ann": {"units": "10"}, "ben": {"units": "8"}}

    winner, loser, page = race(
        lambda client, given: client.post(
            "/orders/act?ref=X-1",
            {
                "line": str(line),
                "action": "confirm",
                "shown_version": shown.version,
                "command_id": str(uuid4()),
                **given,
            },
        ),
        "buyer",
        typed,
    )

    last = rf"last written by {winner} at {WHEN}, now confirmed, 10 ordered"
    assert re.search(rf"{last}, {typed[winner]['units']} confirmed", said(page))
    assert re.search(rf'name="units"[^>]* value="{typed[loser]["units"]}"', page.content.decode())
