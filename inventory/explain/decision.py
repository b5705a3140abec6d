"""The lines that explain one revision of a need. They come from the terms in its record.

The terms are names with values, for example `reorder_point_units` with 20. This module turns each
term into a step, a total or a note. It adds the steps that the record leaves out, for example
S - s, which leads from s to S. So `lines.gaps` can check all totals without knowing the rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from inventory.explain.lines import Line, Section, add, note, total
from inventory.replenishment.families import BASE_STOCK, FAMILIES

Terms = Mapping[str, int | str]

_STOCK: Final = (
    "on_hand_units",
    "on_hand_clamp_units",
    "on_order_units",
    "on_order_clamp_units",
    "allocated_units",
)
# Terms that the sections read by name. `_levels` makes every other term a note line.
_SUMMED: Final = frozenset(
    {
        *(*_STOCK, "base_position_units", "protection_demand_units", "safety_stock_units"),
        *("reorder_point_units", "order_up_to_units", "need_units", "packed_units"),
        *("quantity_units", "minimum_units", "limit_units", "pack_units", "pack_rounding"),
    }
)


def arithmetic(terms: Sequence[tuple[str, int | str]]) -> tuple[Section, ...]:
    """Return the sections `stock`, `levels` and `quantity` that explain a revision of a need.

    `terms` are the pairs (name, value) of the revision. A term whose name is not in `_SUMMED`
    becomes a note line in `levels`. A section without lines is left out.
    """
    known = dict(terms)
    found = (
        Section("stock", tuple(_stock(known))),
        Section("levels", tuple(_levels(known))),
        Section("quantity", tuple(_quantity(known))),
    )
    return tuple(section for section in found if section.lines)


def _stock(terms: Terms) -> Iterator[Line]:
    if "base_position_units" not in terms:
        return
    for name in _STOCK:
        units = terms.get(name, 0)
        if isinstance(units, int) and (units or "clamp" not in name):
            yield add(name, units)
    yield total("base_position_units", _int(terms, "base_position_units"))


def _levels(terms: Terms) -> Iterator[Line]:
    if "reorder_point_units" not in terms:
        return
    for name, amount in terms.items():
        if name not in _SUMMED:
            yield note(name, amount)
    s, top = _int(terms, "reorder_point_units"), terms.get("order_up_to_units")
    family = FAMILIES.get(str(terms.get("replenish_family", "")))
    if isinstance(top, int) and family is not None and family.shape == BASE_STOCK:
        yield from _start(terms, top)
        yield total("order_up_to_units", top)
        yield add("below_order_up_to_units", s - top)
        yield total("reorder_point_units", s)
        return
    yield from _start(terms, s)
    yield total("reorder_point_units", s)
    if isinstance(top, int):
        yield add("batch_units", top - s)
        yield total("order_up_to_units", top)


def _start(terms: Terms, first_units: int) -> Iterator[Line]:
    """Yield the lines that add up to `first_units`, the level that is computed first.

    This level is the order-up-to level S in families of shape `BASE_STOCK`, and the reorder point s
    in all other families.
    """
    if "protection_demand_units" in terms:
        yield add("protection_demand_units", _int(terms, "protection_demand_units"))
        yield add("safety_stock_units", _int(terms, "safety_stock_units"))
    elif terms.get("levels") == "computed" and not _is_always_typed(terms):
        yield add("span_demand_units", first_units)
    else:
        yield add("typed_units", first_units)


def _is_always_typed(terms: Terms) -> bool:
    """Return True if the need's family has no computed levels. Then `levels` has no effect."""
    family = FAMILIES.get(str(terms.get("replenish_family", "")))
    return family is not None and not family.computed


def _quantity(terms: Terms) -> Iterator[Line]:
    if "need_units" not in terms:
        return
    need, packed = _int(terms, "need_units"), _int(terms, "packed_units")
    top = terms.get("order_up_to_units")
    if isinstance(top, int):
        yield add("order_up_to_units", top)
        yield add("base_position_units", -_int(terms, "base_position_units"))
    else:
        yield add("batches_units", need)
    yield total("need_units", need)
    rounding = f"{terms.get('pack_rounding', '')} to packs of {terms.get('pack_units', 1)}"
    yield add("pack_rounding_units", packed - need, rounding)
    yield total("packed_units", packed)
    least = _int(terms, "minimum_units")
    yield note("minimum_units", least)
    if "limit_units" in terms:
        yield note("limit_units", terms["limit_units"])
    if "quantity_units" in terms:
        units, raised = _int(terms, "quantity_units"), max(packed, least)
        if raised != packed:
            yield add("minimum_raise_units", raised - packed)
        if units != raised:
            yield add("limit_cut_units", units - raised)
        yield total("quantity_units", units)


def _int(terms: Terms, name: str) -> int:
    amount = terms.get(name, 0)
    return amount if isinstance(amount, int) else 0
