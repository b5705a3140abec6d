from typing import Any
from urllib.parse import quote

from playwright.sync_api import Locator, Page, expect

from tests.stack.browser.conftest import Doors
from tests.stack.browser.shop import Shop
from tests.stack.running import RunningStack

TWO_CLICKS = """form => {
  const body = new URLSearchParams(new FormData(form));
  const send = () => fetch(form.getAttribute("action"), { method: "POST", body });
  return Promise.all([send(), send()]).then(answers => answers.map(answer => answer.status));
}"""


def proposal_of(stack: RunningStack, shop: Shop) -> str:
    """Wait for the shop's open need and return its id."""
    found = stack.wait_until(
        lambda: shop.sql(
            "SELECT reorder_id FROM app.reorder_proposal WHERE location = %s AND status = 'open'",
            shop.location,
        )
    )
    return str(found[0][0])


def card(page: Page, proposal: str) -> Locator:
    return page.locator(f'[data-proposal="{proposal}"]')


def details(page: Page, proposal: str) -> Locator:
    """Expand the row of a need and return its details."""
    card(page, proposal).locator("a[data-need]").click()
    return page.locator(f'[data-need-of="{proposal}"]')


def test_a_need_appears_on_the_open_desk_and_a_double_click_orders_once(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    key = shop.range("MUG", 24)
    stack.wait_until(lambda: shop.shown(["MUG"]))
    page = doors.log_in("buyer").open(f"/reorders/?location={shop.location}")
    expect(page.get_by_text("No open needs")).to_be_visible()

    shop.sell("MUG", 6)

    # 24 − 6 = 18 ≤ 20, and 60 − 18 = 42, which are seven packs.
    proposal = proposal_of(stack, shop)
    mine = card(page, proposal)
    expect(mine.locator(".ask")).to_contain_text("× 6 = 42")
    # The same update must have changed the total above the list.
    expect(page.locator("#reorders-total")).to_contain_text("1 need,")
    full = details(page, proposal)
    expect(full.locator(".arithmetic")).to_contain_text("Base position 18 ≤ reorder point 20")
    expect(full.locator(".steps")).to_contain_text("Above the reorder point")
    mine.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_text("Ordered 42 units")).to_be_visible()
    expect(mine).to_have_count(0)
    assert shop.order_lines() == [(42, "draft", "buyer")]
    page.goto(f"{doors.base}/?location={shop.location}")
    row = page.locator(f'[data-key="{key}"]')
    expect(row.locator('[data-f="on_order"]')).to_have_text("42")
    page.goto(f"{doors.base}/reorders/?view=closed&location={shop.location}")
    expect(page.get_by_text("buyer approved: 42 units")).to_be_visible()


def test_the_same_command_sent_twice_at_once_orders_once(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 18)
    proposal = proposal_of(stack, shop)
    page = doors.log_in("buyer").open(f"/reorders/?location={shop.location}")

    statuses = details(page, proposal).locator("form.approve").evaluate(TWO_CLICKS)

    assert statuses == [200, 200]
    assert shop.order_lines() == [(42, "draft", "buyer")]


def test_approving_an_outdated_need_is_refused_and_keeps_the_input(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 18)
    proposal = proposal_of(stack, shop)
    visitor = doors.log_in("buyer")
    visitor.expected = ("409", "422")
    page = visitor.open(f"/reorders/?location={shop.location}")
    card(page, proposal).get_by_label("Packs").fill("8")
    shop.sell("MUG", 6)  # amends 42 to 48
    stack.wait_until(
        lambda: shop.sql(
            "SELECT 1 FROM app.reorder_proposal WHERE reorder_id = %s AND revision = 2", proposal
        )
    )

    card(page, proposal).get_by_role("button", name="Approve").click()

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("It now has revision 2")
    expect(card(page, proposal).get_by_label("Packs")).to_have_value("8")
    assert shop.order_lines() == []
    card(page, proposal).get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Ordered 48 units")).to_be_visible()


def test_a_rejected_need_moves_to_the_closed_list_with_its_reason(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 18)
    proposal = proposal_of(stack, shop)
    page = doors.log_in("buyer").open(f"/reorders/?location={shop.location}")
    full = details(page, proposal)
    full.get_by_text("Reject", exact=True).first.click()
    full.get_by_label("Reason").fill("delisted next week")

    full.get_by_role("button", name="Reject").click()

    expect(page.get_by_text("For seven days")).to_be_visible()
    expect(card(page, proposal)).to_have_count(0)
    page.goto(f"{doors.base}/reorders/?view=closed&location={shop.location}")
    expect(card(page, proposal)).to_contain_text("delisted next week")
    assert shop.order_lines() == []


def test_a_snoozed_need_can_be_resumed(stack: RunningStack, doors: Doors, shop: Shop) -> None:
    shop.range("MUG", 18)
    proposal = proposal_of(stack, shop)
    page = doors.log_in("buyer").open(f"/reorders/?location={shop.location}")
    full = details(page, proposal)
    full.get_by_text("Snooze", exact=True).first.click()
    full.get_by_label("Days").fill("3")
    full.get_by_role("button", name="Snooze").click()
    expect(page.get_by_text("for 3 days")).to_be_visible()
    expect(card(page, proposal)).to_have_count(0)
    page.goto(f"{doors.base}/reorders/?view=held&location={shop.location}")

    details(page, proposal).get_by_role("button", name="Resume").click()

    expect(card(page, proposal)).to_have_count(0)
    page.goto(f"{doors.base}/reorders/?location={shop.location}")
    expect(card(page, proposal).locator(".ask")).to_contain_text("42")


def test_an_associate_sees_needs_and_may_not_decide(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 18)
    proposal = proposal_of(stack, shop)
    visitor = doors.log_in("associate")
    page = visitor.open(f"/reorders/?location={shop.location}")

    expect(card(page, proposal)).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    form: dict[str, Any] = {"csrfmiddlewaretoken": token, "proposal": proposal, "action": "approve"}
    own = {"Referer": doors.base, "Origin": doors.base}
    answer = page.request.post(f"{doors.base}/reorders/decide", form=form, headers=own)
    assert answer.status == 403
    del form["csrfmiddlewaretoken"]
    buyer = doors.log_in("buyer").page
    without_token = buyer.request.post(f"{doors.base}/reorders/decide", form=form, headers=own)
    assert without_token.status == 403
    assert shop.order_lines() == []


def test_an_approved_price_is_written_once_and_never_below_its_floor(
    stack: RunningStack, doors: Doors, shop: Shop
) -> None:
    shop.range("MUG", 90)
    fair = shop.propose_price("MUG", old_minor=999, new_minor=849)
    shop.range("CUP", 90)
    cheap = shop.propose_price("CUP", old_minor=999, new_minor=399)
    visitor = doors.log_in("pricing")
    visitor.expected = ("409", "422")
    page = visitor.open(f"/prices/?location={shop.location}")
    expect(card(page, fair).locator(".ask")).to_contain_text("9.99 → 8.49")

    card(page, fair).get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_text("Approved: €8.49 applies from")).to_be_visible()
    card(page, cheap).get_by_role("button", name="Approve").click()

    expect(page.get_by_role("alert")).to_be_visible()
    written = shop.sql(
        "SELECT price_minor, proposal_id FROM retail.price_change"
        " WHERE location = %s AND kind = 'rule'",
        shop.location,
    )
    assert written == [(849, fair)]


def test_a_malformed_rejected_record_id_in_the_address_shows_404(doors: Doors) -> None:
    visitor = doors.log_in("operator")
    visitor.expected = ("404",)

    page = visitor.open(f"/system/rejected/{quote('1-2-3')}")

    expect(page.get_by_role("heading", name="No such record")).to_be_visible()
