"""The kill switch of prices: it blocks approvals and rolls back rule-made prices that start later.

The rule is in docs/domain.md 6.4.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ledger.access.scope import require_company
from ledger.items.service import locked_item
from ledger.kernel.errors import Conflict
from ledger.kernel.idempotency import run_command
from ledger.kernel.transactions import database_now, execute, fetch_value, log_action
from ledger.kernel.unscoped_rows import read_all
from ledger.messages import gettext_noop
from ledger.pricing.prices import MOST_PRICE, next_window_start, price_before, write_rollback
from ledger.pricing.timeline import TimelineRow

REASON: Final = "rule-made prices were stopped"
# Selects the rule-made prices that start later and will take effect. A price never takes effect if
# a row with a higher id has the same `effective_from`. Items without a policy are left out, because
# no rule and no till reads their price.
_SCHEDULED: Final = """
SELECT inv_key, p.location, p.sku, p.id, p.price_minor, p.step, p.kind, p.effective_from,
       p.recorded_by, p.recorded_at
FROM retail.price_change AS p JOIN retail.item_location AS i USING (inv_key)
WHERE p.kind = 'rule' AND p.effective_from >= %s AND NOT EXISTS (
    SELECT FROM retail.price_change AS later
    WHERE later.inv_key = p.inv_key AND later.effective_from = p.effective_from AND later.id > p.id)
ORDER BY inv_key, p.effective_from
"""


@dataclass(frozen=True, slots=True)
class PricesStopped:
    """The result of the switch: the number of scheduled prices that it rolled back."""

    rolled_back: int = 0  # 0 for a stored result of an earlier release, which has no number


@dataclass(frozen=True, slots=True)
class _Scheduled(TimelineRow):
    """A rule-made price that is not in force yet."""

    inv_key: str
    location: str
    sku: str


def set_price_kill_switch(
    *, is_on: bool, actor: str | None, command_id: UUID | None = None
) -> PricesStopped:
    """Stop or allow rule-made prices in every store; return the number of rolled-back prices.

    During a stop, the rules still propose prices, but no proposal can be approved. A stop also
    rolls back each rule-made price that is not in force yet (exceptions: `_roll_back_scheduled`).
    The end of the stop doesn't restore these prices. After a rollback, the rules wait twice the
    cool-down of the item before they propose again.
    """
    require_company()

    def work() -> PricesStopped:
        was_on = fetch_value("SELECT price_kill_switch FROM app.setting WHERE id = 1 FOR UPDATE")
        execute(
            "UPDATE app.setting SET price_kill_switch = %s, updated_by = %s,"
            " updated_at = clock_timestamp() WHERE id = 1",
            is_on,
            actor,
        )
        rolled_back, kept = _roll_back_scheduled(actor) if is_on else (0, [])
        detail = {"is_on": is_on, "was_on": was_on, "rolled_back": rolled_back, "kept": kept}
        log_action(actor=actor, action="price_kill_switch", subject="settings", detail=detail)
        return PricesStopped(rolled_back)

    return run_command(command_id, "price_kill_switch", actor, work, PricesStopped, content=is_on)


def refuse_while_killed() -> None:
    """Raise `Conflict` if the kill switch of rule-made prices is on.

    The row of the switch stays locked until the caller's transaction ends. So no person can turn
    the switch on between this check and the commit of an approval.
    """
    is_on = fetch_value("SELECT price_kill_switch FROM app.setting WHERE id = 1 FOR SHARE")
    if is_on:
        message = gettext_noop("Rule-made prices are stopped, so no proposed price can be approved")
        raise Conflict(message)


def _roll_back_scheduled(actor: str | None) -> tuple[int, list[str]]:
    """Replace each scheduled rule-made price by the price before it, but at least by the floor.

    The new row has the start of the replaced price. A scheduled price stays if `price_before` finds
    no price before it, or if the floor is above `MOST_PRICE`. Return the number of replaced prices,
    and the keys whose scheduled price stays. The caller holds the lock on the switch, so no
    approval adds a price meanwhile.
    """
    found = read_all(_Scheduled, _SCHEDULED, next_window_start(database_now()))
    # Every write of a price locks the item. So after this statement, the prices can't change any
    # more, and the second query finds all of them.
    execute(
        "SELECT FROM retail.item_location WHERE inv_key = ANY(%s) ORDER BY inv_key FOR UPDATE",
        [row.inv_key for row in found],
    )
    rolled_back, kept = 0, []
    for row in read_all(_Scheduled, _SCHEDULED, next_window_start(database_now())):
        item = locked_item(location=row.location, sku=row.sku)
        before = price_before(item, row)
        if before is None or item.floor_minor > MOST_PRICE:
            kept.append(row.inv_key)
            continue
        write_rollback(item, before, row.effective_from, actor=actor, reason=REASON)
        rolled_back += 1
    return rolled_back, kept
