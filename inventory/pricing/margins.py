"""The effect of another price on the margin of an item (domain.md 6.5)."""

from typing import Final

from inventory.model.arithmetic import half_even

_WHOLE_BP: Final = 10_000
_MICRO_DAYS_A_WEEK: Final = (1_000_000, 7)


def net_minor(price_minor: int, tax_bp: int) -> int:
    """Return the price without tax: half_even(price·10000, 10000 + tax_bp) in minor units."""
    return half_even(price_minor * _WHOLE_BP, _WHOLE_BP + tax_bp)


def unit_effect_minor(old_minor: int, new_minor: int, tax_bp: int) -> int:
    """Return the change of one unit's margin by a new price, in minor units.

    The unit's cost cancels out. Example: a new price of 849 instead of 999, with 20 % tax, gives
    708 - 832 = -124.
    """
    return net_minor(new_minor, tax_bp) - net_minor(old_minor, tax_bp)


def week_effect_minor(unit_effect: int, rate_micro: int) -> int:
    """Return by how much the margin of a week changes: half_even(effect·7·d, 10^6) in minor units.

    `rate_micro` is the demand rate d in micro-units a day. The demand is taken as unchanged, so the
    result is no forecast: a lower price is meant to raise the demand.
    """
    micro, days = _MICRO_DAYS_A_WEEK
    return half_even(unit_effect * days * rate_micro, micro)
