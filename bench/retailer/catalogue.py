"""The demo retailer's items, locations and suppliers. The functions are pure: no I/O, no clock.

The retailer has 2,400 items in 12 departments, 40 suppliers, 12 stores and 2 distribution centres.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from math import ceil
from random import Random
from typing import Final, NamedTuple

from inventory.pricing.targets import floor_minor

TAX_BP: Final = 2000
MARGIN_PERMILLE: Final = 200
DIRECT_PERCENT: Final = 25

WAREHOUSES: Final = {
    "DC-1": "Distribution centre north",
    "DC-2": "Distribution centre south",
}
# Share of the chain's trade, in permille: a capital sells more than a seaside town.
STORE_SHARES: Final = {
    "BERLIN-1": 130,
    "DUBLIN-1": 70,
    "GENT-1": 55,
    "HAMBURG-1": 95,
    "KRAKOW-1": 60,
    "LYON-1": 80,
    "MADRID-1": 100,
    "MILANO-1": 85,
    "PARIS-1": 135,
    "PORTO-1": 50,
    "ROMA-1": 75,
    "WIEN-1": 65,
}
STORES: Final = tuple(STORE_SHARES)


class Supplier(NamedTuple):
    """A supplier with its lead time in days and its rates of late, short and damaged deliveries."""

    code: str
    name: str
    lead_days: int
    late_permille: int
    short_permille: int
    damaged_permille: int


class Department(NamedTuple):
    """A department: its suppliers, the parts of its item names, its season."""

    name: str
    suppliers: tuple[str, ...]
    nouns: tuple[str, ...]
    makes: tuple[str, ...]
    season: str  # summer, winter, gifts or even


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


DEPARTMENTS: Final = (
    Department(
        "Bath",
        ("Larsen Bath", "Tiber Textiles", "Mondego Cotton"),
        _words("Towel Bathmat Robe Flannel Soapdish Mirror Basket Shelf Caddy Curtain"),
        _words("Cotton Linen Bamboo Waffle Ribbed"),
        "even",
    ),
    Department(
        "Bedding",
        ("Baltic Home Textiles", "Alster Feather", "Vienna Quilts"),
        _words("Duvet Pillow Sheet Throw Blanket Quilt Valance Bolster Topper Bedspread"),
        _words("Percale Flannel Jersey Satin Washed"),
        "winter",
    ),
    Department(
        "Cleaning",
        ("Clear Brook", "Rhine Brush Works", "Scaldis Soap"),
        _words("Broom Brush Bucket Cloth Duster Mop Sponge Squeegee Wiper Dustpan"),
        _words("Classic Compact Heavy Soft Natural"),
        "even",
    ),
    Department(
        "Games",
        ("Delta Toys and Games", "Kobold Press", "Seven Hills Games"),
        _words("Puzzle Chess Dominoes Cards Draughts Dice Quiz Memory Ludo Mikado"),
        _words("Travel Family Wooden Deluxe Junior"),
        "gifts",
    ),
    Department(
        "Garden",
        ("Alpine Outdoor Goods", "Greenway Tools", "Lisboa Pots", "Marsh and Meadow"),
        _words("Trowel Planter Hose Rake Shears Gloves Lantern Feeder Trellis Sprinkler"),
        _words("Steel Terracotta Teak Zinc Folding"),
        "summer",
    ),
    Department(
        "Kitchen",
        ("Ceres Kitchen Supply", "Iron Hearth", "Bohemia Glass", "Porcelana do Norte"),
        _words("Mug Pan Knife Jar Teapot Bowl Plate Whisk Grater Casserole"),
        _words("Enamel Stoneware Copper Glass Oak"),
        "gifts",
    ),
    Department(
        "Lighting",
        ("Eolia Lighting", "Nordlys", "Fiamma Candles"),
        _words("Lamp Candle Spot Shade Garland Torch Lantern Sconce Nightlight Pendant"),
        _words("Brass Paper Rattan Smoked Frosted"),
        "winter",
    ),
    Department(
        "Office",
        ("Papelaria Central", "Quill and Sons", "Format Office"),
        _words("Notebook Pen Folder Stapler Ruler Planner Tray Scissors Pencil Envelope"),
        _words("Lined Recycled Leather Slim Pocket"),
        "even",
    ),
    Department(
        "Outdoor",
        ("Tatra Trails", "Fjord Supply", "Sierra Camp"),
        _words("Rucksack Bottle Tent Blanket Umbrella Flask Stove Hammock Headlamp Poncho"),
        _words("Light Trail City Family Expedition"),
        "summer",
    ),
    Department(
        "Pets",
        ("Good Dog", "Whisker House", "Feather and Fin"),
        _words("Collar Leash Bed Bowl Toy Brush Carrier Scratcher Feeder Blanket"),
        _words("Small Large Woven Padded Washable"),
        "even",
    ),
    Department(
        "Tools",
        ("Ferrum Tools", "Solingen Steel", "Arno Fasteners", "Workshop Union"),
        _words("Hammer Spanner Drill Tape Saw Plane Chisel Clamp Level Screwdriver"),
        _words("Forged Compact Carbon Classic Trade"),
        "even",
    ),
    Department(
        "Toys",
        ("Little Caravan", "Pinewood Toys", "Orsetto", "Kite and Co"),
        _words("Kite Blocks Doll Drum Train Rattle Bear Boat Tractor Xylophone"),
        _words("Wooden Painted Knitted Tiny Giant"),
        "gifts",
    ),
)
COLOURS: Final = ("red", "blue", "green", "natural")


@dataclass(frozen=True, slots=True)
class Item:
    """One SKU with its cost and its demand in the chain.

    `daily_units` is the chain's average demand per day. The random traffic and the levels of the
    policies follow from it.
    """

    sku: str
    name: str
    department: str
    season: str
    supplier: str
    warehouse: str
    is_direct: bool  # delivered by the supplier to the stores, not through the warehouse
    cost_minor: int
    regular_minor: int
    pack_units: int
    daily_units: float

    @property
    def floor_minor(self) -> int:
        """Return the lowest price that covers cost, margin and tax."""
        return floor_minor(self.cost_minor, MARGIN_PERMILLE, TAX_BP)


@cache
def suppliers(seed: int) -> dict[str, Supplier]:
    """Return the 40 suppliers by code; most are punctual, some are not."""
    random = Random(f"{seed}:suppliers")  # noqa: S311 -- a demo, not a secret
    made = {}
    for department in DEPARTMENTS:
        for name in department.suppliers:
            code = name.upper().replace(" AND ", " ").replace(" ", "-")[:24]
            untidy = random.choice((1, 1, 1, 2, 4))
            made[code] = Supplier(
                code, name, random.randrange(2, 9), 60 * untidy, 25 * untidy, 10 * untidy
            )
    return made


def catalogue(seed: int) -> list[Item]:
    """Return all items, best sellers first; demand falls with the rank as in real shops."""
    random = Random(f"{seed}:catalogue")  # noqa: S311 -- a demo, not a secret
    codes = {supplier.name: code for code, supplier in suppliers(seed).items()}
    names = [
        (department, number, f"{make} {noun.lower()}, {colour}")
        for department in DEPARTMENTS
        for number, (noun, make, colour) in enumerate(
            product(department.nouns, department.makes, COLOURS)
        )
    ]
    random.shuffle(names)
    return [
        _item(random, department, number, name, codes, rank)
        for rank, (department, number, name) in enumerate(names)
    ]


def _item(
    random: Random,
    department: Department,
    number: int,
    name: str,
    codes: dict[str, str],
    rank: int,
) -> Item:
    cost = random.randrange(120, 3600)
    floor = floor_minor(cost, MARGIN_PERMILLE, TAX_BP)
    return Item(
        sku=f"{department.name[:3].upper()}-{1000 + number}",
        name=name,
        department=department.name,
        season=department.season,
        supplier=codes[random.choice(department.suppliers)],
        warehouse=random.choice(tuple(WAREHOUSES)),
        is_direct=random.randrange(100) < DIRECT_PERCENT,
        cost_minor=cost,
        # Shelf prices end in 99 and lie well above the floor, so price cuts are possible.
        regular_minor=ceil(floor * random.uniform(1.4, 2.0) / 100) * 100 - 1,
        pack_units=random.choice((1, 6, 6, 12)),
        daily_units=60.0 / (rank + 12) ** 0.62 * random.uniform(0.7, 1.3),
    )
