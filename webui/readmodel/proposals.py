"""Queries of the desks for reorder and price proposals."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from inventory.pricing.margins import unit_effect_minor, week_effect_minor
from ledger.kernel.rows import select, select_one, select_value


class Decidable:
    """A proposal with its status and the last decision of a person."""

    __slots__ = ()

    status: str
    updated_at: datetime
    decided_action: str | None
    decided_at: datetime | None

    @property
    def waits(self) -> bool:
        """Return True if a person has decided, but workers haven't processed the decision yet."""
        if self.status not in {"open", "snoozed"}:
            return False
        if self.decided_action in {"approve", "reject"}:
            return True
        said = self.decided_at if self.decided_action == "snooze" else None
        return self.status == "open" and said is not None and said > self.updated_at

    @property
    def actionable(self) -> bool:
        """Return True if a person may still decide."""
        return self.status in {"open", "snoozed"} and not self.waits


@dataclass(frozen=True, slots=True)
class Proposal(Decidable):
    """The columns that reorder and price proposals have in common."""

    inv_key: str
    location: str
    sku: str
    name: str
    revision: int
    status: str
    reason: str | None
    terms: Any
    logic_revision: int
    position: Any
    as_of_us: int
    opened_at: datetime
    updated_at: datetime
    decided_action: str | None
    decided_by: str | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReorderProposal(Proposal):
    """One need as the desk shows it, with the last decision of a person on it.

    `hold` is the state of the hold that this need has caused, for example `held-snoozed`.
    `held_until_us` is its end in µs since 1970 UTC. Both are None without a hold.
    """

    reorder_id: str
    supplier: str
    supplier_name: str
    quantity_units: int | None
    base_position_units: int
    reorder_point_units: int | None
    order_up_to_units: int | None
    flags: list[str]
    cost_minor: int
    pack_units: int
    decided_units: int | None
    on_hand_units: int | None
    on_order_units: int | None
    hold: str | None
    held_until_us: int | None

    @property
    def resumable(self) -> bool:
        """Return True if a buyer may end the hold that this need has caused."""
        return self.hold is not None and self.decided_action != "resume"

    @property
    def value_minor(self) -> int:
        """Return the cost of the order in minor units."""
        return (self.quantity_units or 0) * self.cost_minor


_REORDER: Final = """
SELECT r.inv_key, r.location, r.sku, coalesce(p.name, r.sku) AS name, r.revision, r.status,
       r.reason, r.terms, r.logic_revision, r.position, r.as_of_us, r.opened_at, r.updated_at,
       r.decided_action, r.decided_by, r.decided_at, r.reorder_id,
       coalesce(r.supplier, '') AS supplier,
       coalesce(su.name, r.supplier, 'No supplier') AS supplier_name,
       r.quantity_units, r.base_position_units, r.reorder_point_units, r.order_up_to_units,
       r.flags, r.cost_minor, coalesce(il.pack_units, 1) AS pack_units, r.decided_units,
       s.on_hand_units, s.on_order_units, held.hold, held.until_us AS held_until_us
FROM app.reorder_proposal r
LEFT JOIN retail.product p ON p.code = r.sku
LEFT JOIN retail.supplier su ON su.code = r.supplier
LEFT JOIN retail.item_location il ON il.inv_key = r.inv_key
LEFT JOIN read_model.stock s ON s.inv_key = r.inv_key
LEFT JOIN LATERAL (
    SELECT s.episode_state AS hold, (s.state::json #>> '{episode,until_us}')::bigint AS until_us
    WHERE s.reorder_id = r.reorder_id AND s.episode_state LIKE 'held-%%'
) held ON true
"""


@dataclass(frozen=True, slots=True)
class PriceProposal(Proposal):
    """One proposed price, with the last decision of a person on it.

    `next_minor` is a scheduled price that would replace the proposed one at `next_from`; both are
    None without such a price. Amounts are in minor currency units.
    """

    proposal_id: str
    old_minor: int
    new_minor: int
    regular_minor: int
    floor_minor: int
    step: int
    signal: str
    clamps: list[str]
    effective_at_us: int
    prior_minor: int | None
    cost_minor: int | None
    tax_bp: int | None
    rate_micro: int | None
    blocked_until_us: int | None
    next_minor: int | None
    next_from: datetime | None

    @property
    def unit_effect_minor(self) -> int | None:
        """The change of one unit's margin (domain.md 6.5); None for an item without a policy."""
        if self.tax_bp is None:
            return None
        return unit_effect_minor(self.old_minor, self.new_minor, self.tax_bp)

    @property
    def week_effect_minor(self) -> int | None:
        """The change of a week's margin at today's demand; None without a known demand."""
        unit = self.unit_effect_minor
        if unit is None or self.rate_micro is None:
            return None
        return week_effect_minor(unit, self.rate_micro)

    @property
    def change_permille(self) -> int:
        """Return the price change in thousandths of the old price, rounded towards zero."""
        difference = abs(self.new_minor - self.old_minor) * 1000 // max(1, self.old_minor)
        return difference if self.new_minor >= self.old_minor else -difference


_PRICE: Final = """
SELECT r.inv_key, r.location, r.sku, coalesce(p.name, r.sku) AS name, r.revision, r.status,
       r.reason, r.terms, r.logic_revision, r.position, r.as_of_us, r.opened_at, r.updated_at,
       r.decided_action, r.decided_by, r.decided_at, r.proposal_id, r.old_minor, r.new_minor,
       r.regular_minor, r.floor_minor, r.step, r.signal, r.clamps, r.effective_at_us,
       r.prior_minor, il.cost_minor, il.tax_bp,
       coalesce(s.demand_rate_micro, il.initial_rate_micro) AS rate_micro,
       CASE WHEN r.status = 'snoozed' THEN
           (s.state::json #>> '{price_episode,blocked_until_us}')::bigint END AS blocked_until_us,
       later.price_minor AS next_minor, later.effective_from AS next_from
FROM app.price_proposal r
LEFT JOIN retail.product p ON p.code = r.sku
LEFT JOIN retail.item_location il ON il.inv_key = r.inv_key
LEFT JOIN read_model.stock s ON s.inv_key = r.inv_key
LEFT JOIN LATERAL (
    SELECT price_minor, effective_from FROM retail.price_change
    WHERE inv_key = r.inv_key AND effective_from > greatest(
        statement_timestamp(), to_timestamp(r.effective_at_us / 1000000.0))
    ORDER BY effective_from, id DESC LIMIT 1
) later ON true
"""
DESK_ROWS: Final = 100
_VIEWS: Final = {
    "open": "r.status = 'open'",
    "snoozed": "r.status = 'snoozed'",
    # Needs that were rejected, or ordered with too few units, are closed. But the buyer may end the
    # hold that they caused.
    "held": """(r.status = 'snoozed' OR r.reorder_id IN (
        SELECT h.reorder_id FROM read_model.stock h
        WHERE h.episode_state IN ('held-rejected', 'held-short')))""",
    "closed": "r.status NOT IN ('open', 'snoozed')",
}
# For the desk of prices, which adds its own search and order.
PRICE_PROPOSAL: Final = _PRICE
PRICE_VIEWS: Final = {view: _VIEWS[view] for view in ("open", "snoozed", "closed")}
_SUPPLIER_NAME: Final = "coalesce(su.name, r.supplier, 'No supplier')"
_BEHIND: Final = f"""NOT EXISTS (SELECT FROM app.reorder_proposal WHERE reorder_id = %(after)s)
    OR EXISTS (
        SELECT FROM app.reorder_proposal a LEFT JOIN retail.supplier asu ON asu.code = a.supplier
        WHERE a.reorder_id = %(after)s
          AND ({_SUPPLIER_NAME}, r.location, r.reorder_id)
              > (coalesce(asu.name, a.supplier, 'No supplier'), a.location, a.reorder_id))"""  # noqa: S608 -- the line above
_BEFORE: Final = """NOT EXISTS (SELECT FROM app.reorder_proposal WHERE reorder_id = %(after)s)
    OR EXISTS (SELECT FROM app.reorder_proposal a WHERE a.reorder_id = %(after)s
               AND (r.updated_at, r.reorder_id) < (a.updated_at, a.reorder_id))"""


def reorder_proposals(
    *, view: str, location: str = "", supplier: str = "", after: str = "", rows: int = DESK_ROWS
) -> list[ReorderProposal]:
    """Return up to `rows` reorder proposals of a view, from the one after the id `after` on.

    Order them by supplier, location and id; in the view `closed`, by their last change, newest
    first. A page starts after a proposal and not after a number of rows. So an approval on one page
    doesn't shift the next page.
    """
    where = reorder_conditions(view, location, supplier)
    if after:
        where.append(f"({_BEFORE if view == 'closed' else _BEHIND})")
    order = (
        "r.updated_at DESC, r.reorder_id DESC"
        if view == "closed"
        else "supplier_name, r.location, r.reorder_id"
    )
    sql = f"{_REORDER} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT %(rows)s"
    given = {"location": location, "supplier": supplier, "after": after, "rows": rows}
    return select(sql, given, ReorderProposal)


def reorder_proposal(reorder_id: str) -> ReorderProposal | None:
    """Return one reorder proposal, or None."""
    sql = f"{_REORDER} WHERE r.reorder_id = %(id)s"
    return select_one(sql, {"id": reorder_id}, ReorderProposal)


def counted_reorders(*, view: str, location: str = "", supplier: str = "", most: int = 1000) -> str:
    """Return SQL that counts the proposals of a view with these filters, up to `most`.

    For each filter that is not empty, the SQL has a parameter of the same name.
    """
    where = " AND ".join(reorder_conditions(view, location, supplier))
    few = f"SELECT 1 FROM app.reorder_proposal r WHERE {where} LIMIT {most}"  # noqa: S608 -- conditions of this module
    return "SELECT count(*) FROM (" + few + ") few"  # noqa: S608 -- the line above


def reorder_conditions(view: str, location: str, supplier: str) -> list[str]:
    """Return SQL conditions for rows `r` of `app.reorder_proposal`, to be joined by AND.

    `view` is `open`, `snoozed`, `held` or `closed`. An empty `location` or `supplier` filters
    nothing. For each filter that isn't empty, the SQL has a parameter of the same name.
    """
    where = [_VIEWS[view]]
    if location:
        where.append("r.location = %(location)s")
    if supplier:
        where.append("r.supplier = %(supplier)s")
    return where


_PRICES_BEHIND: Final = """NOT EXISTS (SELECT FROM app.price_proposal WHERE proposal_id = %(after)s)
    OR EXISTS (SELECT FROM app.price_proposal a WHERE a.proposal_id = %(after)s
               AND (r.location, r.sku, r.proposal_id) > (a.location, a.sku, a.proposal_id))"""
_PRICES_BEFORE: Final = """NOT EXISTS (SELECT FROM app.price_proposal WHERE proposal_id = %(after)s)
    OR EXISTS (SELECT FROM app.price_proposal a WHERE a.proposal_id = %(after)s
               AND (r.updated_at, r.proposal_id) < (a.updated_at, a.proposal_id))"""


def price_proposals(
    *, view: str, location: str = "", after: str = "", rows: int = DESK_ROWS
) -> list[PriceProposal]:
    """Return up to `rows` price proposals of a view, from the one after the id `after` on.

    Order them by location, SKU and id; in the view `closed`, by their last change, newest first.
    """
    where = [_VIEWS[view]]
    if location:
        where.append("r.location = %(location)s")
    if after:
        where.append(f"({_PRICES_BEFORE if view == 'closed' else _PRICES_BEHIND})")
    order = (
        "r.updated_at DESC, r.proposal_id DESC"
        if view == "closed"
        else "r.location, r.sku, r.proposal_id"
    )
    sql = f"{_PRICE} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT %(rows)s"
    return select(sql, {"location": location, "after": after, "rows": rows}, PriceProposal)


def price_proposal(proposal_id: str) -> PriceProposal | None:
    """Return one price proposal, or None."""
    return select_one(f"{_PRICE} WHERE r.proposal_id = %(id)s", {"id": proposal_id}, PriceProposal)


def open_reorder_of(inv_key: str) -> ReorderProposal | None:
    """Return the newest open or snoozed reorder proposal of a key, or None."""
    sql = f"""{_REORDER} WHERE r.inv_key = %(key)s AND r.status IN ('open', 'snoozed')
              ORDER BY r.opened_at DESC LIMIT 1"""
    return select_one(sql, {"key": inv_key}, ReorderProposal)


def open_price_of(inv_key: str) -> PriceProposal | None:
    """Return the newest open or snoozed price proposal of a key, or None."""
    sql = f"""{_PRICE} WHERE r.inv_key = %(key)s AND r.status IN ('open', 'snoozed')
              ORDER BY r.opened_at DESC LIMIT 1"""
    return select_one(sql, {"key": inv_key}, PriceProposal)


def desk_count(table: str, *, most: int = 1000) -> int:
    """Return the number of open proposals in `app.{table}`, capped at `most`.

    `table` is `reorder_proposal` or `price_proposal`.
    """
    few = f"SELECT 1 FROM app.{table} r WHERE {_VIEWS['open']} LIMIT {most}"  # noqa: S608 -- callers pass one of two table names
    return int(select_value("SELECT count(*) FROM (" + few + ") few"))  # noqa: S608 -- the line above


def desk_version(table: str) -> str:
    """Return a text that changes when any proposal in `app.{table}` changes."""
    return str(select_value(version_sql(table)))


def version_sql(table: str) -> str:
    """Return SQL for a text that changes when any proposal in `app.{table}` changes."""
    # A transaction may commit after another one that has a newer `updated_at`. Then the newest time
    # stays the same, and only the sums show the change.
    sums = "count(*) || '-' || coalesce(sum(revision), 0) || '-' || count(decided_action)"
    newest = "coalesce(max(updated_at)::text, '') || '-' || coalesce(max(decided_at)::text, '')"
    return f"SELECT {sums} || '-' || {newest} FROM app.{table}"  # noqa: S608 -- callers pass one of two table names
