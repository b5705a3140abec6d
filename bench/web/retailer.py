"""A generated retailer for the pages: stores, products, and template rows of `read_model.stock`.

Each key gets a copy of one of the 600 template rows. The same seed, number of keys and as-of time
give the same retailer.
"""

import random
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from cdc.contracts.state import encode_level
from inventory.model.arithmetic import DAY_US, HOUR_US
from inventory.model.ids import InvKey, Position
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow
from inventory.model.state import Count, Demand, KeyState, Stock
from inventory.replenishment.families import MIN_MAX
from streams.sinks.rows import stock_row
from streams.sinks.upsert import Row

# Placeholder for the key in a level record. SQL replaces it with the real key.
KEY: Final = InvKey("L|S")
GENERATION: Final = 1
TEMPLATES: Final = 600
SUPPLIERS: Final = 40
_STORE_ITEMS: Final = 7_000  # items of an average store; the largest store has 1.4 times as many
_SMALLEST, _LARGEST = 0.6, 1.4
_CATALOGUE: Final = 2.5  # products of the catalogue, divided by the items of an average store
_FEWEST_STORES: Final = 2
# Number of keys per thousand by status. Stock with the status `ok` lies between the reorder point
# and the order-up-to level.
_STATUSES: Final = {"negative": 5, "out": 40, "low": 110, "over": 60, "ok": 785}
_SIZES: Final = ("S", "M", "L", "XL", "1 l", "2 l", "30 cm", "60 cm", "140 cm", "set of 4")
_WORDS: Final = (
    ("Linen", "Cotton", "Oak", "Steel", "Copper", "Glass", "Enamel", "Bamboo", "Wool", "Ceramic"),
    ("Tea", "Garden", "Kitchen", "Bath", "Desk", "Travel", "Party", "Baby", "Camping", "Winter"),
    (
        *("Kettle", "Towel", "Bowl", "Lantern", "Basket", "Chair", "Blanket", "Plate", "Vase"),
        *("Candle", "Cushion", "Mug", "Tray", "Curtain", "Shelf", "Clock", "Lamp", "Knife", "Jug"),
    ),
)
_CITIES: Final = ("Wien", "Berlin", "Dublin", "Lyon", "Porto", "Gent", "Turin", "Malmo", "Basel")


@dataclass(frozen=True, slots=True)
class Store:
    """A store that has `items` products of the catalogue, from number `first` on."""

    code: str
    name: str
    items: int
    first: int


@dataclass(frozen=True, slots=True)
class Product:
    """A product of the catalogue."""

    code: str
    name: str
    supplier: str


@dataclass(frozen=True, slots=True)
class Retailer:
    """The generated retailer. `levels` are rows of `read_model.stock` whose key is `KEY`."""

    keys: int
    seed: int
    stores: tuple[Store, ...]
    products: tuple[Product, ...]
    levels: tuple[Row, ...]
    now_us: int


def retailer(keys: int, seed: int, now_us: int | None = None) -> Retailer:
    """Return the retailer with `keys` keys. `now_us` is the as-of time of its levels."""
    drawn = random.Random(seed)  # noqa: S311 -- a bench, no secret
    now_us = time.time_ns() // 1000 if now_us is None else now_us
    sizes = _sizes(keys)
    products = _products(drawn, max(*sizes, round(keys / len(sizes) * _CATALOGUE)))
    stores = tuple(_store(number, size, len(products)) for number, size in enumerate(sizes))
    levels = tuple(_level(drawn, number, now_us) for number in range(TEMPLATES))
    return Retailer(keys, seed, stores, products, levels, now_us)


def _sizes(keys: int) -> list[int]:
    """Return the number of items of each store, from small to large; their sum is `keys`."""
    number = max(_FEWEST_STORES, -(-keys // _STORE_ITEMS))
    step = (_LARGEST - _SMALLEST) / (number - 1)
    ends = [0.0]
    for place in range(number):
        ends.append(ends[-1] + _SMALLEST + place * step)
    edges = [round(keys * end / ends[-1]) for end in ends]
    return [end - start for start, end in pairwise(edges)]


def _store(number: int, items: int, products: int) -> Store:
    city = _CITIES[number % len(_CITIES)]
    place = 1 + number // len(_CITIES)
    return Store(f"{city.upper()}-{place}", f"{city} {place}", items, number * 997 % products)


def _products(drawn: random.Random, number: int) -> tuple[Product, ...]:
    return tuple(
        Product(
            f"{name[:3].upper()}-{10_000 + place}",
            f"{name} {place % 97}",
            f"SUP-{drawn.randrange(SUPPLIERS):02}",
        )
        for place in range(number)
        for name in [" ".join([*(drawn.choice(words) for words in _WORDS), drawn.choice(_SIZES)])]
    )


def _level(drawn: random.Random, number: int, now_us: int) -> Row:
    """Return level `number` as a row with the key `KEY`. Its status follows from `number`."""
    state = _state(drawn, _status(number), now_us)
    row = stock_row(encode_level(state, ()), 0, now_us)
    return {**row, "reorder_id": None, "price_proposal_id": None}


def _status(number: int) -> str:
    place = number * 1000 // TEMPLATES
    for status, of_thousand in _STATUSES.items():
        if place < of_thousand:
            return status
        place -= of_thousand
    return "ok"


def _state(drawn: random.Random, status: str, now_us: int) -> KeyState:
    """Return the state of a key that was counted a month ago and has sold since."""
    point, up_to = (low := drawn.randrange(4, 40)), low * drawn.randrange(3, 6)
    on_hand = {
        "negative": -drawn.randrange(1, 9),
        "out": 0,
        "low": drawn.randrange(1, point + 1),
        "over": up_to + drawn.randrange(1, 60),
        "ok": drawn.randrange(point + 1, up_to + 1),
    }[status]
    counted = Count(now_us - 30 * DAY_US, 1, on_hand + 60, "cycle")
    rate_micro = drawn.randrange(50_000, 6_000_000)
    demand = Demand(begun=True, rate_micro=rate_micro, mad_micro=rate_micro // 3, observed_days=30)
    price = drawn.randrange(299, 9_999)
    policy = ItemLocation(
        id=1,
        inv_key=KEY,
        replenish_family=MIN_MAX.code,
        reorder_point_units=point,
        order_up_to_units=up_to,
        lead_time_centidays=500,
        supplier="SUP-00",
        cost_minor=price // 2,
        pack_units=6,
        regular_minor=price,
    )
    stock = Stock(
        on_hand_units=on_hand,
        on_order_units=drawn.choice((0, 0, 0, up_to)),
        in_transit_units=drawn.choice((0, 0, 0, 0, 6)),
        sum_movements_units=-60,
        opening_units=on_hand + 60,
        opening_count=counted,
    )
    state = KeyState(
        inv_key=KEY,
        position=Position(GENERATION, drawn.randrange(1, 1 << 30)),
        stream_time_us=now_us - drawn.randrange(1, 20) * HOUR_US,
        stock=stock,
        final_demand=demand,
        demand=demand,
        timeline=(PriceRow(now_us - 60 * DAY_US, 1, price, 0, "initial"),),
        policy=policy,
    )
    return replace(
        state,
        base_position_units=on_hand + stock.on_order_units + stock.in_transit_units,
        reorder_point_units=point,
        order_up_to_units=up_to,
    )
