"""Seeded random histories of one partition that reach every rule and many edges.

The generator folds its history with the reference model while it writes it, because an answer or a
person's decision must name an open id. It keeps the rows as the database would. A record that the
fold refuses is still a row, and later changes have it as their before-image.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.oracle import generate_broken as broken
from tests.oracle.arithmetic import DAY, HOUR, MINUTE, SECOND, W, day
from tests.oracle.key import Key
from tests.oracle.partition import Model

Row = dict[str, Any]
Record = dict[str, Any]
FOCUS = {
    "need": {"sell": 3, "decide": 2, "policy": 1.5, "unrange": 0.2, "break": 0.3, "count": 0.3},
    "price": {
        "price": 2,
        "decide price": 2,
        "review": 3,
        "days": 3,
        "cover": 12,
        "unrange": 0.1,
        "break": 0.3,
        "edge price": 2,
        "same instant": 2,
        "cuts": 2,
    },
}
CROWDS = 0.006  # share of the histories with about a thousand counts on one day
CROWDED = 300  # only histories that may have more records get a thousand counts
KEYS = ("S1|A", "S1|a", "S2|A", "DC-1|85123A", "UCI|Tea & pot", "S3|x y")
FACTS = ("sale_line", "stock_count", "stock_adjustment")


class World:
    """A shop: its clock, its rows, and the log of their changes."""

    def __init__(self, seed: int, focus: str | None = None) -> None:
        self.rng = rng = Random(seed)  # noqa: S311 -- repeatable test data, no secret
        self.model = Model()
        self.records: list[Record] = []
        self.said: list[dict[str, Any]] = []
        self.live: dict[tuple[str, int], tuple[str, Row]] = {}
        self.offset, self.lsn, self.next_id = rng.choice((0, 1, 500)), 1000, 1
        self.commit = (20_000 + rng.randrange(400)) * DAY + rng.randrange(DAY)
        self.keys = rng.sample(KEYS, rng.choice((1, 1, 1, 2, 3)))
        drawn = rng.choice(("all", "all", "need", "price"))
        self.focus = drawn if focus is None else focus
        self.priced = self.focus == "price" or rng.random() < 0.5
        self.mode = {key: rng.choice(("live", "live", "replayed")) for key in self.keys}
        self.calendar = dict.fromkeys(self.keys, self.commit - rng.randrange(500) * DAY)
        self.pace = rng.choice(("burst", "minutes", "hours", "days", "days", "mixed", "mixed"))
        if self.priced and rng.random() < 0.8:
            self.pace = rng.choice(("burst", "minutes", "hours"))
        self.snapshot = False

    # Time.
    def tick(self) -> None:
        """Advance the time: usually little, sometimes exactly to an edge."""
        edges = [t for key in self.keys for t in edges_of(self.model.keys.get(key))]
        ahead = [t for t in edges if self.commit < t < self.commit + 91 * DAY]
        if ahead and self.rng.random() < 0.12 and not self.snapshot:
            self.commit = self.rng.choice(ahead) + self.rng.choice((0, 0, 0, -1, 1))
        else:
            self.commit += self.step(self.commit)

    def step(self, now: int) -> int:
        rng = self.rng
        small = rng.choice((0, 0, 1, 400_000, SECOND, 7 * SECOND, MINUTE))
        middle = rng.choice((MINUTE, 10 * MINUTE, HOUR, rng.randrange(5 * HOUR)))
        days = rng.choice((6 * HOUR, DAY, DAY, DAY, 2 * DAY))
        weeks = rng.choice((3 * DAY, 4 * DAY, 7 * DAY, 20 * DAY, 60 * DAY, 60 * DAY + W, 300 * DAY))
        edge = rng.choice((W - now % W, DAY - now % DAY, DAY - now % DAY + W, 2 * W - now % W))
        edge += rng.choice((0, 0, -1, 1, -SECOND))
        weights = {
            "burst": (90, 5, 0, 0, 5),
            "minutes": (40, 40, 5, 1, 14),
            "hours": (20, 50, 10, 1, 19),
            "days": (20, 15, 45, 1, 19),
            "mixed": (35, 20, 20, 5, 20),
        }[self.pace]
        return max(0, rng.choices((small, middle, days, weeks, edge), weights)[0])

    def happened(self, key: str) -> int:
        """Return an `occurred_at`: now, or the time of an edge, a count or the horizon."""
        rng = self.rng
        now = self.commit
        if self.mode[key] == "replayed":
            if rng.random() < 0.7:
                self.calendar[key] += self.step(self.calendar[key])
            now = self.calendar[key]
        known = self.model.keys.get(key)
        choices = [now, now, now, now - rng.randrange(HOUR), now - rng.randrange(DAY)]
        choices += [now - now % W, now - now % W - W, now - now % W - 1, now - now % DAY]
        choices += [now - rng.randrange(6 * DAY), (day(now) - 3) * DAY, (day(now) - 3) * DAY - 1]
        if known is not None and known.ledger.counts:
            times = [count.at for count in known.ledger.counts]
            choices += [rng.choice(times) + rng.choice((0, 0, SECOND, -1)) for _ in range(3)]
        if rng.random() < 0.03:
            return now + rng.choice((SECOND, HOUR, 9 * DAY))
        return rng.choice(choices) if rng.random() < 0.6 else now

    def recorded(self) -> int:
        return self.commit - self.rng.choice((0, 1, 100_000, 900_000, 2 * SECOND))

    # Rows and records of them.
    def now_of(self, key: str) -> int:
        known = self.model.keys.get(key)
        if known is None or known.stream is None:
            return self.calendar[key] if self.mode[key] == "replayed" else self.commit
        return known.stream

    def fresh(self, key: str, row: Row) -> Row:
        location, _, sku = key.partition("|")
        image = {"id": self.next_id, "recorded_at": self.recorded(), **row}
        self.next_id += 1
        if self.rng.random() < 0.9:
            image |= {"inv_key": key, "location": location, "sku": sku}
        return image

    def emit(self, key: str, table: str, op: str, before: Row | None, after: Row | None) -> None:
        rng = self.rng
        if rng.random() < 0.8:
            self.lsn += rng.choice((1, 1, 8))
        record: Record = {
            "offset": self.offset,
            "table": table,
            "op": op,
            "key": key,
            "before": before,
            "after": after,
            "lsn": self.lsn,
            "commit_us": self.commit,
        }
        if rng.random() < 0.02 and not self.snapshot:
            record["commit_us"] -= rng.choice((SECOND, 100 * SECOND, 120 * SECOND, 121 * SECOND))
        if rng.random() < 0.01 and not self.snapshot:
            record["lsn"] -= rng.choice((1, 50, 900))
        self.log(record)

    def log(self, record: Record) -> None:
        self.offset += self.rng.choice((1, 1, 1, 3))
        copied = json.loads(json.dumps(record))
        self.records.append(copied)
        self.said.append(self.model.apply(copied))

    def insert(self, key: str, table: str, row: Row) -> None:
        image = self.fresh(key, row)
        if self.rng.random() < 0.008 and table in broken.LIMITS:
            image = broken.break_limit(self.rng, table, image)
            if self.rng.random() < 0.4 and table == "shipment_line":
                image = broken.break_shipment(self.rng, image)
            if self.rng.random() < 0.4 and table == "item_location":
                image = broken.break_policy(self.rng, image)
        else:
            self.live[(table, image["id"])] = (key, image)
        if self.rng.random() < 0.3:
            self.live[(table, image["id"])] = (key, image)
        self.emit(key, table, "r" if self.snapshot else "c", None, image)

    def update(self, table: str, number: int, changes: Row) -> None:
        key, before = self.live[(table, number)]
        after = {**before, "recorded_at": self.recorded(), **changes}
        if self.rng.random() < 0.008 and table in broken.LIMITS:
            after = broken.break_limit(self.rng, table, after)
            if self.rng.random() < 0.3:
                self.live[(table, number)] = (key, after)
        else:
            self.live[(table, number)] = (key, after)
        self.emit(key, table, "u", before, after)

    def delete(self, table: str, number: int) -> None:
        key, before = self.live.pop((table, number))
        self.emit(key, table, "d", before, None)

    def any_row(self, *tables: str) -> tuple[str, int] | None:
        found = [name for name in self.live if not tables or name[0] in tables]
        recent = found[-8:] if self.rng.random() < 0.6 else found
        return self.rng.choice(recent) if recent else None

    def policy_id(self, key: str) -> int | None:
        for (table, number), (owner, _) in self.live.items():
            if table == "item_location" and owner == key:
                return number
        return None

    def reorder_id(self, key: str) -> str | None:
        """Return a reorder id of the key: mostly the open one, sometimes another one."""
        known = self.model.keys.get(key)
        current = None if known is None else known.episode.id
        other = self.rng.choice((None, f"R:{key}:1-0"))
        return current if current is not None and self.rng.random() < 0.7 else other


def edges_of(known: Key | None) -> list[int]:
    """Return the stream times at which a hold, a block, a proposal or a gate of a key ends."""
    if known is None:
        return []
    edges = [known.episode.until, known.proposal.blocked_until]
    if known.proposal.candidate is not None:
        edges.append(known.proposal.candidate.effective_at + 2 * DAY)
    policy = known.policy
    if policy is not None:
        lead = policy["lead_minutes"] * MINUTE
        gates = [policy["no_touch_from"], policy["no_touch_until"]]
        for row in known.timeline[-2:]:
            wait = policy["cooldown_hours"] * HOUR
            gates += [row.at + wait, row.at + 2 * wait, row.at + 30 * DAY]
        edges += [gate - lead for gate in gates if gate is not None]
    return [edge for edge in edges if edge is not None]


def history(seed: int) -> list[Record]:
    """Return the records of a seed, in log order."""
    return written(seed).records


def written(seed: int, *, longest: int = 400, focus: str | None = None) -> World:
    """Return a world with at most about `longest` records, and the model's results for them.

    `focus`, a key of `FOCUS`, makes actions about needs or prices more frequent. If `longest` is
    above 300, a few worlds have about a thousand records more.
    """
    from tests.oracle.generate_actions import ACTIONS  # noqa: PLC0415 -- actions need World
    from tests.oracle.generate_rulings import crowd  # noqa: PLC0415 -- as above

    world = World(seed, focus)
    rng = world.rng
    names = sorted(ACTIONS)
    shares: dict[str, float] = FOCUS.get(world.focus, {})
    usual = [ACTIONS[name][0] * shares.get(name, 1) for name in names]
    weights = [weight * rng.choice((0.2, 1, 1, 1, 3)) for weight in usual]
    length = rng.choice((5, 10, 20, 40, 60, 80, 120, 200, 400))
    length = min(length, longest) + begin(world)
    if longest > CROWDED and rng.random() < CROWDS:
        crowd(world, world.keys[0])
        length = len(world.records) + min(length, 20)
    while len(world.records) < length:
        world.tick()
        action: Callable[[World, str], None] = ACTIONS[rng.choices(names, weights)[0]][1]
        key = rng.choice(world.keys)
        if rng.random() < 0.3:
            action, key = urgent(world, action, key)
        action(world, key)
    return world


def begin(world: World) -> int:
    """Write the first records of a history.

    Return the number by which `written` raises the drawn length. With the focus `price`, it is
    usually the number of these records; otherwise it is 0.
    """
    from tests.oracle.generate_actions import ACTIONS  # noqa: PLC0415 -- actions need World

    rng, start = world.rng, world.rng.random()
    if start < 0.25:
        take_snapshot(world, rng.randint(1, 15))
    elif start < 0.9:
        for key in world.keys:
            ACTIONS["range"][1](world, key)
            if rng.random() < 0.85:
                ACTIONS["open stock"][1](world, key)
    if world.focus != "price" or start >= 0.9:
        return 0
    for name in ["old price"] * rng.choice((0, 1, 2, 5)) + ["days", "cover"]:
        ACTIONS[name][1](world, world.keys[0])
    return len(world.records)


def urgent(
    world: World, action: Callable[[World, str], None], key: str
) -> tuple[Callable[[World, str], None], str]:
    """Return an action that answers a need or proposed price, and its key; else the given ones."""
    from tests.oracle.generate_actions import ANSWERS, PRICE_ANSWERS  # noqa: PLC0415 -- as above

    choices = []
    for name in world.keys:
        known = world.model.keys.get(name)
        if known is not None and known.episode.id is not None:
            choices += [(answer, name) for answer in ANSWERS]
        if known is not None and known.proposal.id is not None:
            choices += [(answer, name) for answer in PRICE_ANSWERS]
    return world.rng.choice(choices) if choices else (action, key)


def take_snapshot(world: World, number: int) -> None:
    """Write rows that existed before the log begins. Some come twice."""
    from tests.oracle.generate_actions import SNAPSHOT_ACTIONS  # noqa: PLC0415 -- as above

    world.snapshot = True
    for _ in range(number):
        if world.rng.random() < 0.1 and world.records:
            again = {**world.rng.choice(world.records), "offset": world.offset}
            world.log(again)
        else:
            world.tick()
            world.rng.choice(SNAPSHOT_ACTIONS)(world, world.rng.choice(world.keys))
    world.snapshot = False


def lines(records: list[Record]) -> list[str]:
    return [json.dumps(record) for record in records]
