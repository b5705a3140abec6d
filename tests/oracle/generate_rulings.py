"""Events at the edges that docs/domain.md rules on and ordinary histories rarely meet."""

from collections.abc import Callable
from typing import Any

from tests.oracle import generate_rows as rows
from tests.oracle.arithmetic import DAY, EDGE, HOUR, SECOND
from tests.oracle.generate import World

Row = dict[str, Any]
CROWD = 1000
COMMITS = (EDGE + 1, -EDGE - 1, EDGE + 2, 2**60, -(2**60), -EDGE)
FOREIGN_KEYS = ("~heartbeat|0", "~heartbeat|0", "~heartbeat|7", "~heartbeat|", "~heartbeat|x")
AT_LEAST_0 = (
    "auto_max_minor",
    "phantom_lambda_micro",
    "service_z_micro",
    "initial_rate_micro",
    "pallet_packs",
)
FREE: Row = {
    "cost_minor": 0,
    "margin_permille": 0,
    "max_step_permille": 1000,
    "max_off_permille": 1000,
    "overstock_days": 0,
    "idle_days": 0,
    "endings": [],
    "regular_minor": 1000,
}
DEAR: Row = {"cost_minor": 10**9, "margin_permille": 0, "tax_bp": 0, "endings": []}
TO_THE_TOP: Row = {
    "cost_minor": 0,
    "margin_permille": 0,
    "raise_permille": [50, 60],
    "cap_permille": 100,
    "max_step_permille": 200,
    "scarce_enabled": True,
    "scarce_days": 10**6,
    "endings": [],
}
EDGE_PRICES: tuple[Row, ...] = (
    {**FREE, "ladder_permille": [1000, 1000, 1000]},
    {**FREE, "ladder_permille": [999, 1000, 1000]},
    {**FREE, "ladder_permille": [1100, 999], "endings": []},
    {**FREE, "ladder_permille": [950, 990], "endings": [0]},
    {**FREE, "ladder_permille": [950, 990], "endings": [0, 1]},
    DEAR,
    {**DEAR, "margin_permille": 300},
    {**DEAR, "tax_bp": 1},
    {**DEAR, "cost_minor": 10**9 - 50, "endings": [0]},
    {**DEAR, "cost_minor": 10**9 - 50, "endings": [99]},
    {**DEAR, "cost_minor": 10**9 - 50, "endings": [49]},
    {**TO_THE_TOP, "regular_minor": 10**9},
    {**TO_THE_TOP, "regular_minor": 952_380_952},
    {**TO_THE_TOP, "regular_minor": 952_380_953},
)


def edge_price(world: World, key: str) -> None:
    """Set a policy whose next price would be about 0, 1 or 10^9, and a review that evaluates it."""
    number = world.policy_id(key)
    if number is None:
        return
    change = dict(world.rng.choice(EDGE_PRICES))
    change |= {"status": "active", "price_mode": "advise", "lead_minutes": 0, "cooldown_hours": 0}
    change |= {"no_touch_from": None, "no_touch_until": None}
    change.setdefault("regular_minor", 999)
    change["reviewed_at"] = world.now_of(key) + SECOND
    world.update("item_location", number, change)


def same_instant(world: World, key: str) -> None:
    """Write a price with the `effective_from` of an earlier row, which it replaces."""
    known, rng = world.model.keys.get(key), world.rng
    if known is None or not known.timeline:
        return
    row = rows.price_row(rng, world.now_of(key), None, None)
    other = rng.choice(sorted(known.timeline)[-4:])
    price = rng.choice((999, 949, 899, 849, 799, 1098, 1250, other.price, other.price + 50))
    row |= {"effective_from": other.at, "price_minor": min(price, 10**9), "floor_minor": 0}
    world.insert(key, "price_change", row)


def cuts(world: World, key: str) -> None:
    """Write a run of price cuts, with rows between them that were in force at no instant."""
    rng, now = world.rng, world.now_of(key)
    back, price = now - rng.choice((20, 45, 90)) * DAY, rng.choice((1250, 1100, 1050))
    kind = rng.choice(("initial", "manual"))
    for _ in range(rng.randint(2, 4)):
        for passing in rng.choice(((), (1150,), (price + 90, 700), (price,))):
            row = {"effective_from": back, "price_minor": passing, "kind": kind, "floor_minor": 0}
            world.insert(key, "price_change", row)
        row = {"effective_from": back, "price_minor": price, "kind": kind, "floor_minor": 0}
        world.insert(key, "price_change", row)
        back, price = back + rng.choice((3, 10, 29)) * DAY, price - rng.choice((0, 50, 101))
        kind = rng.choice(("manual", "rule"))
    number = world.policy_id(key)
    if number is not None:
        world.update("item_location", number, {"prior_rule": "progressive"})


def retract(world: World, key: str) -> None:
    """Delete or reduce a sale line whose insert isn't in the log."""
    rng = world.rng
    image = world.fresh(key, rows.sale_row(rng, world.happened(key)))
    image["quantity_units"] = abs(image["quantity_units"])
    if rng.random() < 0.6:
        world.emit(key, "sale_line", "d", image, None)
        return
    after = {**image, "quantity_units": 1}
    world.live[("sale_line", image["id"])] = (key, after)
    world.emit(key, "sale_line", "u", image, after)


def beat(world: World, _: str) -> None:
    key = f"~heartbeat|{world.rng.choice((0, 0, 0, 3))}"
    after = {"id": 1, "beat": len(world.records), "recorded_at": world.commit}
    after["occurred_at"] = world.commit
    if world.rng.random() < 0.08:
        after["beat"] = world.rng.choice((EDGE, EDGE + 1, -EDGE, -EDGE - 1))
    before = {**after, "beat": len(world.records) - 1}
    world.emit(key, "pipeline_heartbeat", "u", before, after)


def again_at_the_horizon(world: World, key: str) -> None:
    """Send a record again, with the same or another commit time, at the ring's limit of 120 s."""
    rng = world.rng
    if not world.records:
        return
    record = rng.choice(world.records[-12:])
    edge = record["commit_us"] + 120 * SECOND
    if abs(edge - world.commit) < HOUR:
        world.commit = max(world.commit, edge + rng.choice((-1, 0, 1, -20 * SECOND)))
        beat(world, key)
    for _ in range(rng.choice((1, 1, 2))):
        commit = rng.choice((record["commit_us"], world.commit, world.commit + 30 * SECOND))
        world.log({**record, "offset": world.offset, "commit_us": commit})


def edge_commit(world: World, key: str) -> None:
    """Write a sale with a commit time at the end of the integer range or beyond it."""
    rng = world.rng
    commit, usual = world.commit, COMMITS if rng.random() < 0.97 else (EDGE,)
    world.commit = rng.choice(usual)
    image = {**rows.sale_row(rng, commit), "recorded_at": commit}
    world.lsn += 1
    world.emit(key, "sale_line", rng.choice(("c", "c", "c", "r")), None, world.fresh(key, image))
    world.commit = commit


def foreign_key(world: World, key: str) -> None:
    """Write a normal record under a heartbeat's key, or a heartbeat under another key."""
    rng = world.rng
    if rng.random() < 0.2:
        image: Row = {"id": 1, "beat": 1, "recorded_at": world.commit}
        other = rng.choice((key, "l|S", "~heartbeat|", "~beat|0"))
        world.emit(other, "pipeline_heartbeat", "c", None, image)
        return
    found = world.any_row()
    if found is None:
        return
    table, number = found
    image = {**world.live[found][1], "id": number + 10**6}
    for name in ("inv_key", "location", "sku"):
        image.pop(name, None)
    world.emit(rng.choice(FOREIGN_KEYS), table, "c", None, image)


def lose_void(world: World, _: str) -> None:
    """Retract a count by a record too old for the ring. Often approve the row again later."""
    rng = world.rng
    found = world.any_row("stock_count")
    if found is None or world.live[found][1].get("status") != "approved":
        return
    key, before = world.live[found]
    draft = {**before, "status": "draft"}
    commit, lsn = world.commit, world.lsn
    world.commit, world.lsn = commit - 200 * SECOND, lsn - 500
    world.live[found] = (key, draft)
    world.emit(key, "stock_count", "u", before, draft)
    world.commit, world.lsn = commit, lsn
    if rng.random() < 0.6:
        world.commit += rng.choice((0, DAY, 4 * DAY, 4 * DAY, 5 * DAY))
        if world.mode[key] == "replayed":
            world.calendar[key] += 5 * DAY
        world.insert(key, "sale_line", rows.sale_row(rng, world.happened(key)))
        again = {"status": "approved", "occurred_at": world.happened(key)}
        world.update(*found, changes={**again, "recorded_at": world.recorded()})


def crowd(world: World, key: str) -> None:
    """Write about a thousand counts of one day, and changes to them."""
    rng = world.rng
    world.commit += 12 * HOUR - world.commit % DAY + DAY
    day_at, ids = world.commit - 6 * HOUR, []
    for _ in range(rng.choice((CROWD - 2, CROWD - 1, CROWD, CROWD))):
        ids.append(world.next_id)
        put_count(world, key, day_at + rng.randrange(5 * HOUR))
    for _ in range(14):
        act = rng.choice(("add", "add", "draft", "void", "move", "later", "elsewhere"))
        changed = ("stock_count", rng.choice(ids))
        if act == "later":
            world.commit += rng.choice((0, 3 * DAY, 4 * DAY))
        if act in ("add", "later", "draft", "elsewhere"):
            at = day_at + (DAY if act == "elsewhere" else rng.randrange(5 * HOUR))
            ids.append(world.next_id)
            put_count(world, key, at, status="draft" if act == "draft" else "approved")
        elif act == "void":
            world.update(*changed, changes={"status": rng.choice(("void", "approved"))})
        elif changed in world.live:
            world.update(*changed, changes={"occurred_at": day_at + rng.choice((0, DAY, -DAY))})


def put_count(world: World, key: str, at: int, status: str = "approved") -> None:
    row = {"units": rows.small(world.rng), "kind": "cycle", "status": status, "occurred_at": at}
    image = {**world.fresh(key, row), "recorded_at": max(at, world.commit)}
    world.live[("stock_count", image["id"])] = (key, image)
    world.emit(key, "stock_count", "c", None, image)


def out_of_range(world: World, key: str) -> None:
    """Write a policy or a price with one column at the end of its range, or one further."""
    rng, number = world.rng, world.policy_id(key)
    if number is None or rng.random() < 0.4:
        ends = ({"effective_from": EDGE + 1}, {"effective_from": -EDGE - 1}, {"floor_minor": -1})
        row = rows.price_row(rng, world.now_of(key), None, None) | rng.choice(ends)
        world.emit(key, "price_change", "c", None, world.fresh(key, row))
        return
    name = rng.choice(AT_LEAST_0)
    change = {name: rng.choice((-1, -1, 0))}
    if rng.random() < 0.5:
        change = {"demand_alpha_permille": rng.choice((1000, 1001, 1001, -1))}
    _, before = world.live[("item_location", number)]
    # Keep the old row, as if Postgres had refused the change. It is the next before-image.
    world.emit(key, "item_location", "u", before, {**before, **change})


Action = Callable[[World, str], None]
RULINGS: dict[str, tuple[float, Action]] = {
    "edge price": (0.5, edge_price),
    "same instant": (0.3, same_instant),
    "cuts": (0.15, cuts),
    "retract": (0.5, retract),
    "heartbeat": (0.4, beat),
    "again": (0.5, again_at_the_horizon),
    "edge commit": (0.15, edge_commit),
    "foreign key": (0.2, foreign_key),
    "lose void": (0.3, lose_void),
    "out of range": (0.2, out_of_range),
}
