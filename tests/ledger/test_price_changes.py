"""Manual prices, their roll-back, and the price in force at an instant."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import override_settings
from django.urls import reverse

from ledger import services
from ledger.kernel.transactions import database_now, fetch_column
from ledger.kernel.zones import zone_of
from ledger.pricing.prices import NO_PRICE, FirstPrice, next_window_start
from ledger.services import Conflict, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.pages import form, person
from tests.ledger.rows import write
from tests.ledger.test_prices import POLICY, prices
from webui.desks.prices import queries
from webui.desks.prices.queries import following_price, price_rows, prior_prices
from webui.shell.moments import moment_text


@pytest.fixture(autouse=True)
def item(ledger: psycopg.Connection) -> str:
    return services.range_item(location="L", sku="S", policy=POLICY)


@pytest.fixture
def past(ledger: psycopg.Connection) -> datetime:
    """Write a price timeline of 999, then 899. Return the time from which 899 applies."""
    began = database_now().replace(microsecond=0) - timedelta(days=10)
    write(ledger, "price_change", effective_from=began - timedelta(days=10), price_minor=999)
    write(ledger, "price_change", effective_from=began, price_minor=899, step=1)
    return began


def page_of_prices() -> str:
    return person("pricing").get("/prices/items/L/S").content.decode()


def price_in_force(at: datetime) -> int | None:
    """Return the price that tills have to charge at that time; None before the first one."""
    found: list[int] = fetch_column("SELECT price_minor FROM retail.price_at('L|S', %s)", at)
    return found[0] if found else None


def newest_id() -> int:
    return price_rows("L|S")[0].id


def test_second_initial_price_of_an_item_is_refused(ledger: psycopg.Connection) -> None:
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=999, kind="initial"))

    long_ago = database_now() - timedelta(days=400)
    for begins in (None, long_ago):
        with pytest.raises(
            Conflict, match=r"L\|S has prices already, so this price can't be its first"
        ):
            services.set_price(
                services.SetPrice(
                    location="L", sku="S", price_minor=950, kind="initial", effective_from=begins
                )
            )
    assert len(prices(ledger)) == 1


def test_set_first_prices_refuses_items_that_have_a_price(
    ledger: psycopg.Connection, past: datetime
) -> None:
    services.range_item(location="L", sku="T", policy=POLICY)
    firsts = [FirstPrice("L", sku, 999, 750, past) for sku in ("T", "S")]

    with pytest.raises(Conflict, match=r"L\|S has prices already"):
        services.set_first_prices(prices=firsts)
    with pytest.raises(Conflict, match=r"L\|T has prices already"):
        services.set_first_prices(prices=[firsts[0], firsts[0]])

    assert [row[0] for row in prices(ledger)] == [999, 899]
    assert services.set_first_prices(prices=firsts[:1]) == 1


def test_one_of_two_simultaneous_initial_prices_is_refused(ledger: psycopg.Connection) -> None:
    begins = next_window_start(database_now())

    outcomes = at_the_same_time(
        lambda: services.set_price(
            services.SetPrice(location="L", sku="S", price_minor=999, kind="initial")
        ),
        lambda: services.set_first_prices(prices=[FirstPrice("L", "S", 950, 750, begins)]),
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1
    assert len(prices(ledger)) == 1


def test_set_price_refuses_the_kind_rollback(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match="one of emergency, initial, manual"):
        services.set_price(
            services.SetPrice(location="L", sku="S", price_minor=999, kind="rollback")
        )


def test_emergency_price_starts_in_the_next_window_and_its_reason_is_logged(
    ledger: psycopg.Connection, past: datetime
) -> None:
    services.set_price(
        services.SetPrice(
            location="L", sku="S", price_minor=750, kind="emergency", reason="mislabelled"
        ),
        actor="pat",
    )

    row = price_rows("L|S")[0]
    assert (row.price_minor, row.kind, row.recorded_by) == (750, "emergency", "pat")
    assert row.effective_from == next_window_start(row.recorded_at)
    logged = ledger.execute("SELECT detail ->> 'reason' FROM app.action_log ORDER BY id DESC")
    assert logged.fetchone() == ("mislabelled",)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"price_minor": 749, "reason": "x"}, "price_minor"),
        ({"price_minor": 750, "reason": " "}, "reason"),
        ({"price_minor": 750, "reason": None}, "reason"),
        ({"price_minor": 750, "reason": "x", "effective_from": "later"}, "effective_from"),
    ],
)
def test_emergency_price_needs_a_reason_the_floor_and_no_later_start(
    ledger: psycopg.Connection, changes: dict[str, Any], field: str
) -> None:
    if "effective_from" in changes:
        changes = changes | {"effective_from": database_now() + timedelta(days=1)}

    with pytest.raises(ServiceError) as refused:
        services.set_price(services.SetPrice(location="L", sku="S", kind="emergency", **changes))
    assert refused.value.field == field
    assert prices(ledger) == []


def test_a_price_set_on_a_page_that_is_out_of_date_is_refused(
    ledger: psycopg.Connection, past: datetime
) -> None:
    shown = newest_id()
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=950))

    with pytest.raises(Conflict, match=r"has changed since it was shown: now €9\.50"):
        services.set_price(
            services.SetPrice(location="L", sku="S", price_minor=940, shown_price_id=shown)
        )
    with pytest.raises(Conflict, match=r"has changed since it was shown: now €9\.50"):
        services.roll_back_price(location="L", sku="S", shown_price_id=shown)


def test_page_without_a_price_cannot_overwrite_a_newer_price(ledger: psycopg.Connection) -> None:
    services.set_price(
        services.SetPrice(location="L", sku="S", price_minor=999, shown_price_id=NO_PRICE)
    )

    with pytest.raises(Conflict, match=r"has changed since it was shown: now €9\.99"):
        services.set_price(
            services.SetPrice(location="L", sku="S", price_minor=800, shown_price_id=NO_PRICE)
        )


def test_one_of_two_simultaneous_rollbacks_of_a_price_is_refused(
    ledger: psycopg.Connection, past: datetime
) -> None:
    shown = newest_id()

    def undo() -> int:
        return services.roll_back_price(location="L", sku="S", shown_price_id=shown)

    outcomes = at_the_same_time(undo, undo)

    assert sorted(type(one).__name__ for one in outcomes) == ["Conflict", "int"]
    assert [row[0] for row in prices(ledger)] == [999, 899, 999]


def test_price_rollback_cannot_be_rolled_back(ledger: psycopg.Connection, past: datetime) -> None:
    services.roll_back_price(location="L", sku="S", actor="pat")

    again = (
        r"The last change is already a rollback, written by pat at 20.* UTC\. To change the price"
    )
    with pytest.raises(Conflict, match=again):
        services.roll_back_price(location="L", sku="S", shown_price_id=newest_id())

    assert [row[0] for row in prices(ledger)] == [999, 899, 999]
    page = person("pricing").get("/prices/items/L/S").content.decode()
    assert "<summary>Roll back</summary>" not in page
    assert "The last change is already a rollback." in page


def test_change_after_a_rollback_is_rolled_back_to_the_restored_price(
    ledger: psycopg.Connection, past: datetime
) -> None:
    services.roll_back_price(location="L", sku="S")
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=850))
    offered = person("pricing").get("/prices/items/L/S").content.decode()

    services.roll_back_price(location="L", sku="S")

    assert "Back to €9.99</button>" in offered
    assert [row[0] for row in prices(ledger)] == [999, 899, 999, 850, 999]


def test_rolled_back_scheduled_price_never_applies(
    ledger: psycopg.Connection, past: datetime
) -> None:
    scheduled = next_window_start(database_now()) + timedelta(days=2)
    services.set_price(
        services.SetPrice(location="L", sku="S", price_minor=800, effective_from=scheduled)
    )

    services.roll_back_price(location="L", sku="S")

    rows = price_rows("L|S")
    assert [(row.price_minor, row.effective_from) for row in rows[:2]] == [
        (899, scheduled),
        (800, scheduled),
    ]
    assert rows[0].step == 1
    assert rows[1].is_undone
    assert price_in_force(scheduled) == 899


def test_initial_price_cannot_be_rolled_back(ledger: psycopg.Connection) -> None:
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=999, kind="initial"))

    with pytest.raises(Conflict, match="no earlier price"):
        services.roll_back_price(location="L", sku="S")


def test_first_price_change_is_rolled_back_to_the_regular_price(
    ledger: psycopg.Connection,
) -> None:
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=899, step=1))
    offered = page_of_prices()

    services.roll_back_price(location="L", sku="S")

    assert "Back to €9.99</button>" in offered
    assert prices(ledger)[-1] == (999, 750, "rollback", 0, None)


def test_first_price_change_without_a_regular_price_has_no_rollback(
    ledger: psycopg.Connection,
) -> None:
    services.set_policy(location="L", sku="S", changes={"regular_minor": None})
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=899))

    with pytest.raises(Conflict, match="no earlier price"):
        services.roll_back_price(location="L", sku="S")
    assert "<summary>Roll back</summary>" not in page_of_prices()


def test_the_page_offers_the_price_that_rolling_back_would_write(past: datetime) -> None:
    services.set_policy(location="L", sku="S", changes={"cost_minor": 700})

    assert "Back to €10.50</button>" in page_of_prices()

    services.roll_back_price(location="L", sku="S")
    assert price_rows("L|S")[0].price_minor == 1050


def test_each_cut_names_the_lowest_price_of_the_30_days_before_it(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    # From the worked table: 999, a week of 799, 999 again; cuts within and after 30 days of it.
    for days, price in ((-90, 999), (0, 799), (7, 999), (36, 849), (37, 999), (38, 848), (39, 820)):
        write(ledger, "price_change", effective_from=noon + timedelta(days=days), price_minor=price)
    rows = price_rows("L|S")
    prices_by_id = {row.id: row.price_minor for row in rows}

    def priors(prior_rule: str) -> dict[int, int | None]:
        found = prior_prices("L|S", prior_rule=prior_rule)
        return {prices_by_id[row_id]: prior for row_id, prior in found.items()}

    # The week of 799 ended on day 7. 849 was in force for a day before 848.
    assert priors("plain") == {799: 999, 849: 799, 848: 849, 820: 848}
    assert priors("progressive") == {799: 999, 849: 799, 848: 849, 820: 849}
    with monkeypatch.context() as short:  # prices below the end of the list still count
        short.setattr(queries, "MOST_ROWS", 2)
        assert priors("plain") == {848: 849, 820: 848}
    page = page_of_prices()
    assert page.count('data-label="30 days before">€8.49<') == 1
    assert "several reductions in a row" not in page
    services.set_policy(location="L", sku="S", changes={"prior_rule": "progressive"})
    assert "several reductions in a row" in page_of_prices()


def test_a_price_holds_from_exactly_its_own_time_on(past: datetime) -> None:
    instant = timedelta(microseconds=1)

    assert price_in_force(past) == 899
    assert price_in_force(past - instant) == 999
    assert price_in_force(past - timedelta(days=10) - instant) is None


def test_outdated_price_form_names_the_new_price_and_keeps_its_input(
    past: datetime,
) -> None:
    client = person("pricing", "pat")
    shown = newest_id()
    services.set_price(services.SetPrice(location="L", sku="S", price_minor=950))
    form = {
        "proposal": "L|S",
        "shown_revision": shown,
        "command_id": "6f1a3c1e-58b8-4f0c-9f0a-000000000001",
        "action": "manual",
        "price": "9.25",
        "reason": "season",
    }

    answer = client.post(reverse("prices-item-change", args=("L", "S")), form)

    page = answer.content.decode()
    assert answer.status_code == 409
    assert "has changed since it was shown: now €9.50" in page
    assert 'value="9.25"' in page
    assert 'value="season"' in page


def test_price_set_before_a_scheduled_one_makes_older_pages_outdated(
    ledger: psycopg.Connection, past: datetime
) -> None:
    tomorrow = next_window_start(database_now()) + timedelta(days=1)
    services.set_price(
        services.SetPrice(location="L", sku="S", price_minor=870, effective_from=tomorrow)
    )
    path = "/prices/items/L/S"
    shown = re.findall(r'name="shown_revision" value="(\d+)"', page_of_prices())
    typed = form("L|S", int(shown[0]), action="manual", reason="")

    first = person("pricing", "ann").post(f"{path}/change", typed | {"price": "8.80"})
    second = person("pricing", "ben").post(
        f"{path}/change", typed | {"price": "8.90", "command_id": str(uuid4())}
    )

    assert (first.status_code, second.status_code) == (302, 409)
    assert "has changed since it was shown: now €8.80" in second.content.decode()
    assert [row.price_minor for row in price_rows("L|S")] == [870, 880, 899, 999]


def test_price_page_names_the_scheduled_replacement_in_store_time(
    ledger: psycopg.Connection, past: datetime
) -> None:
    tomorrow = next_window_start(database_now()) + timedelta(days=1)
    services.set_price(
        services.SetPrice(location="L", sku="S", price_minor=870, effective_from=tomorrow)
    )
    client = person("pricing")
    shown = re.findall(r'name="shown_revision" value="(\d+)"', page_of_prices())
    typed = form("L|S", int(shown[0]), action="manual", reason="", price="8.80")

    with override_settings(STORES_TIME_ZONE="Europe/Berlin"):
        page = client.post("/prices/items/L/S/change", typed, follow=True).content.decode()

    from_when = moment_text(tomorrow, now=database_now(), zone=zone_of("Europe/Berlin"))
    assert f"From {from_when} on, a scheduled price of €8.70 replaces the" in page
    assert f"This undoes the price of €8.70 that applies from {from_when} on." in page
    assert f'<th scope="row"><time title="{tomorrow:%Y-%m-%d %H:%M:%S} UTC">{from_when}<' in page
    assert re.search(r"cost €[0-9.]+. The lowest allowed price is <b>€[0-9.]+</b>", page)


def test_following_price_is_found_beyond_200_scheduled_prices(
    ledger: psycopg.Connection, past: datetime
) -> None:
    written = services.set_price(services.SetPrice(location="L", sku="S", price_minor=880))
    ledger.execute(
        "INSERT INTO retail.price_change (inv_key, location, sku, effective_from, price_minor,"
        " kind, floor_minor) SELECT 'L|S', 'L', 'S', date_trunc('day', now()) + day * interval"
        " '1 day', 800 + day, 'manual', 750 FROM generate_series(1, %s) AS day",
        (queries.MOST_ROWS + 1,),
    )

    assert getattr(following_price(written), "price_minor", None) == 801
    assert following_price(newest_id()) is None


def test_prior_price_ignores_a_price_that_was_never_in_force(
    ledger: psycopg.Connection, past: datetime
) -> None:
    for price in (820, 850):
        services.set_price(services.SetPrice(location="L", sku="S", price_minor=price))

    found = prior_prices("L|S", prior_rule="plain")

    # 820 was never in force, so 850 is a cut of 899.
    assert found[newest_id()] == 899
    tab = person("pricing").get("/items/L/S?tab=price").content.decode()
    assert tab.count('<span class="flag">undone</span>') == 1
