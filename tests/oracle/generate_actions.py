"""Actions that a generated history can take next, with their usual weights."""

from collections.abc import Callable
from typing import Any

from tests.oracle import generate_broken as broken
from tests.oracle import generate_rows as rows
from tests.oracle.arithmetic import DAY, SECOND, W
from tests.oracle.generate import FACTS, World
from tests.oracle.generate_rulings import RULINGS, beat, retract

Row = dict[str, Any]
Action = Callable[[World, str], None]


def sell(world: World, key: str) -> None:
    world.insert(key, "sale_line", rows.sale_row(world.rng, world.happened(key)))


def count(world: World, key: str) -> None:
    world.insert(key, "stock_count", rows.count_row(world.rng, world.happened(key)))


def open_stock(world: World, key: str) -> None:
    row = rows.count_row(world.rng, world.happened(key))
    row |= {"status": "approved", "kind": "opening", "units": world.rng.choice((5, 20, 60, 300))}
    world.insert(key, "stock_count", row)


def huge(world: World, key: str) -> None:
    table, row = rows.huge_facts(world.rng, world.happened(key))
    world.insert(key, table, row)


def adjust(world: World, key: str) -> None:
    world.insert(key, "stock_adjustment", rows.adjustment_row(world.rng, world.happened(key)))


def order(world: World, key: str) -> None:
    row = rows.order_row(world.rng, world.commit, world.reorder_id(key))
    world.insert(key, "purchase_order_line", row)


def ship(world: World, key: str) -> None:
    row = rows.shipment_row(world.rng, world.happened(key), world.reorder_id(key))
    world.insert(key, "shipment_line", row)


def move_shipment(world: World, _: str) -> None:
    found = world.any_row("shipment_line")
    if found is not None:
        key, before = world.live[found]
        t = world.happened(key)
        if before.get("status") in ("planned", "shipped", "received") and "leg" in before:
            changed = rows.shipment_onward(world.rng, {"shipped_units": 0, **before}, t)
            world.update(*found, changes={**changed, "recorded_at": world.recorded()})


def move_order(world: World, _: str) -> None:
    found = world.any_row("purchase_order_line")
    if found is None:
        return
    key, before = world.live[found]
    rng = world.rng
    ordered = before["ordered_units"]
    top = max(0, ordered) if isinstance(ordered, int) else 0
    change: Row = rng.choice(
        (
            {"confirmed_units": top // 2, "cancelled_units": 0},
            {"confirmed_units": None, "cancelled_units": rng.randint(0, top)},
            {"cancelled_units": before.get("confirmed_units") or 0},
            {"reorder_id": world.reorder_id(key)},
            {"status": "closed"},
        )
    )
    world.update(*found, changes=change)


def correct_fact(world: World, _: str) -> None:
    found = world.any_row(*FACTS)
    if found is None:
        return
    table, _number = found
    key, _before = world.live[found]
    rng, t = world.rng, world.happened(key)
    changes: dict[str, tuple[Row, ...]] = {
        "sale_line": (
            {"quantity_units": rows.small(rng)},
            {"quantity_units": -rows.small(rng)},
            {"amount_minor": rng.randint(-500, 5000)},
            {"occurred_at": t},
            {"condition": "damaged"},
            {},
        ),
        "stock_count": (
            {"status": "approved"},
            {"status": "void"},
            {"units": rows.small(rng)},
            {"occurred_at": t},
            {"kind": "cycle"},
        ),
        "stock_adjustment": (
            {"quantity_units": rows.small(rng)},
            {"reason": rng.choice(rows.REASONS)},
            {"occurred_at": t},
        ),
    }
    world.update(*found, changes=rng.choice(changes[table]))


def delete_row(world: World, _: str) -> None:
    found = world.any_row(*FACTS, "shipment_line", "purchase_order_line")
    if found is not None:
        world.delete(*found)


def delete_anything(world: World, _: str) -> None:
    found = world.any_row()
    if found is not None:
        world.delete(*found)


def move_key(world: World, _: str) -> None:
    """Change `inv_key`: a delete under the old key and an insert under the new one."""
    found = world.any_row(*FACTS)
    if found is None:
        return
    table, number = found
    old, before = world.live[found]
    new = world.rng.choice(world.keys)
    if new != old:
        world.delete(table, number)
        location, _, sku = new.partition("|")
        after = {**before, "inv_key": new, "location": location, "sku": sku}
        world.live[found] = (new, after)
        world.emit(new, table, "c", None, after)


def range_item(world: World, key: str) -> None:
    if world.policy_id(key) is None:
        row = rows.policy_row(world.rng, world.commit, priced=world.priced, mode=world.mode[key])
        if world.focus == "price" and world.rng.random() < 0.7:
            row |= {"status": "active", "price_mode": "advise", "regular_minor": 999}
            row |= {"cost_minor": world.rng.choice((100, 300, 500)), "margin_permille": 100}
        if world.rng.random() < 0.1:
            row["reviewed_at"] = world.now_of(key)
        world.insert(key, "item_location", row)


def change_policy(world: World, key: str) -> None:
    number = world.policy_id(key)
    if number is None:
        range_item(world, key)
        return
    _, before = world.live[("item_location", number)]
    changed = rows.policy_change(world.rng, before, world.now_of(key))
    if world.rng.random() < 0.02:
        changed = broken.overflow_policy(world.rng, changed)
    world.update("item_location", number, {**changed, "recorded_at": world.recorded()})


def switch_clock(world: World, key: str) -> None:
    number = world.policy_id(key)
    if number is not None:
        mode = world.rng.choice(("live", "replayed"))
        world.mode[key] = mode
        world.calendar[key] = world.now_of(key)
        world.update("item_location", number, {"clock_mode": mode})


def review(world: World, key: str) -> None:
    number = world.policy_id(key)
    if number is None:
        return
    now = world.commit
    if world.mode[key] == "replayed":
        world.calendar[key] += world.step(world.calendar[key])
        now = world.calendar[key]
    t = world.rng.choice((now, now, now, now - now % DAY, None))
    world.update("item_location", number, {"reviewed_at": t})


def live_through_days(world: World, key: str) -> None:
    """Write some days with random sales and reviews. Demand rates and prices need several days."""
    rng = world.rng
    days = (16, 17, 20) if world.priced else (3, 6, 16)
    for _ in range(rng.choice(days)):
        if world.mode[key] == "replayed":
            world.calendar[key] += DAY
        world.commit += DAY if world.mode[key] == "live" else SECOND
        if rng.random() < 0.7:
            sell(world, key)
        if rng.random() < 0.08:
            retract(world, key)
        if rng.random() < 0.7:
            review(world, key)


def unrange(world: World, key: str) -> None:
    number = world.policy_id(key)
    if number is not None:
        world.delete("item_location", number)


def decide(world: World, key: str) -> None:
    name = world.reorder_id(key) or f"R:{key}:1-1"
    row = rows.decision_row(world.rng, world.now_of(key), name, "reorder_id")
    world.insert(key, "reorder_decision", row)


def change_decision(world: World, _: str) -> None:
    found = world.any_row("reorder_decision", "price_decision")
    if found is not None:
        world.update(*found, changes={"action": world.rng.choice(("reject", "snooze"))})


def set_price(world: World, key: str) -> None:
    known = world.model.keys.get(key)
    proposal = None
    candidate = None if known is None else known.proposal.candidate
    if known is not None and candidate is not None and world.rng.random() < 0.6:
        proposal = {
            "proposal_id": known.proposal.id,
            "price_minor": candidate.new,
            "step": candidate.step,
            "kind": "rule",
            "effective_from": candidate.effective_at,
        }
    old = candidate.old if candidate else None
    row = rows.price_row(world.rng, world.now_of(key), old, proposal)
    world.insert(key, "price_change", row)


def old_price(world: World, key: str) -> None:
    """Write a price of the last months, often a cut. Prior prices depend on such rows."""
    rng = world.rng
    row = rows.price_row(rng, world.now_of(key), None, None)
    back = rng.choice((20 * DAY, 50 * DAY, 120 * DAY))
    row |= {
        "effective_from": world.now_of(key) - rng.randrange(back),
        "price_minor": rng.choice((999, 999, 949, 899, 899, 849, 1049)),
        "step": rng.choice((0, 0, 0, 0, 1, -1)),
        "kind": rng.choice(("initial", "initial", "manual", "rule")),
        "floor_minor": 1,
    }
    world.insert(key, "price_change", row)


def count_to_a_cover(world: World, key: str) -> None:
    """Write a count that brings cover to the limit of a price signal, then a review."""
    known, rng = world.model.keys.get(key), world.rng
    if known is None or known.policy is None:
        return
    d = known.d_and_mad[0]
    name = rng.choice(("scarce_days", "overstock_days", "overstock_days", "restore_days"))
    units = d * known.policy[name] // 10**6 + known.allocated + rng.choice((-1, 0, 0, 1, 2, 40))
    row = rows.count_row(rng, world.now_of(key))
    row |= {"status": "approved", "units": min(1_000_000, max(0, units))}
    world.insert(key, "stock_count", row)
    if name == "scarce_days" and rng.random() < 0.6:
        for back in (0, DAY, DAY + W, DAY - W):
            sale = rows.sale_row(rng, world.now_of(key) - back)
            world.insert(key, "sale_line", sale | {"quantity_units": rows.small(rng)})
    review(world, key)


def tighten_limit(world: World, key: str) -> None:
    """Set a limit at or just below the order quantity of the open need."""
    known, number = world.model.keys.get(key), world.policy_id(key)
    if known is None or number is None or known.episode.q is None:
        return
    q = known.episode.q
    top = max(0, q - world.rng.choice((0, 1, 1, 2, 6)))
    b = max(0, known.base_position)
    change = world.rng.choice(({"max_order_units": top}, {"capacity_units": top + b}))
    world.update("item_location", number, change)


def switch_method(world: World, key: str) -> None:
    number = world.policy_id(key)
    if number is not None:
        method = world.rng.choice(("ewma", "tsb"))
        world.update("item_location", number, {"demand_method": method})


def decide_price(world: World, key: str) -> None:
    known = world.model.keys.get(key)
    name = None if known is None else known.proposal.id
    if name is None or world.rng.random() < 0.2:
        name = f"P:{key}:1-1"
    row = rows.decision_row(world.rng, world.now_of(key), name, "proposal_id")
    world.insert(key, "price_decision", row)


def resend(world: World, _: str) -> None:
    """Send the connector's last records again, all or some of them."""
    if not world.records:
        return
    back = world.rng.choice((1, 1, 3, 10, 40))
    for record in world.records[-back:][: world.rng.choice((1, 2, 5))]:
        world.log({**record, "offset": world.offset})


def snapshot_again(world: World, key: str) -> None:
    image = world.fresh(key, rows.sale_row(world.rng, world.commit))
    world.emit(key, "sale_line", "r", None, image)


def break_something(world: World, _: str) -> None:
    if world.records:
        record = world.rng.choice(world.records[-5:])
        other = world.rng.choice(world.keys)
        world.lsn += 1
        fresh = {**record, "offset": world.offset, "lsn": world.lsn, "commit_us": world.commit}
        if fresh["before"] is None and fresh["after"] is None:
            return
        world.log(broken.break_record(world.rng, fresh, other))


ACTIONS: dict[str, tuple[float, Action]] = {
    "sell": (10, sell),
    "count": (2, count),
    "open stock": (0.2, open_stock),
    "adjust": (2, adjust),
    "huge": (0.15, huge),
    "order": (2.5, order),
    "move order": (1.5, move_order),
    "ship": (2, ship),
    "move shipment": (2, move_shipment),
    "correct": (3, correct_fact),
    "delete": (1.5, delete_row),
    "delete anything": (0.1, delete_anything),
    "move key": (0.5, move_key),
    "range": (0.5, range_item),
    "policy": (2, change_policy),
    "clock": (0.3, switch_clock),
    "review": (3, review),
    "days": (0.5, live_through_days),
    "unrange": (0.12, unrange),
    "decide": (2, decide),
    "change decision": (0.1, change_decision),
    "price": (1.5, set_price),
    "old price": (0.2, old_price),
    "cover": (0.4, count_to_a_cover),
    "method": (0.3, switch_method),
    "limit": (0.3, tighten_limit),
    "decide price": (0.8, decide_price),
    "resend": (0.8, resend),
    "snapshot": (0.15, snapshot_again),
    "break": (0.5, break_something),
    **RULINGS,
}
ANSWERS: tuple[Action, ...] = (
    decide,
    decide,
    order,
    ship,
    change_policy,
    review,
    adjust,
    tighten_limit,
)
PRICE_ANSWERS: tuple[Action, ...] = (set_price, decide_price, change_policy, review)
SNAPSHOT_ACTIONS: tuple[Action, ...] = (
    sell,
    sell,
    count,
    adjust,
    order,
    ship,
    range_item,
    set_price,
    decide,
    beat,
)
