"""A supplier's actual performance: lead times, fill, punctuality, discrepancies (domain.md 7).

Lead times are in hundredths of a day. Every function takes the numbers of settled lines. The caller
chooses how many days back they go.
"""

from collections.abc import Sequence
from math import isqrt

from inventory.model.arithmetic import DAY_US, ceil_div, half_even
from inventory.model.value import value

LEAST_RECEIPTS = 5
CHANGE_PERMILLE = 100


@value
class LeadTime:
    """Distribution of the lead times of `receipts` receipts, in centidays."""

    receipts: int
    mean_centidays: int
    sd_centidays: int
    p50_centidays: int
    p90_centidays: int


def receipt_centidays(ordered_us: int, received_us: int) -> int:
    """Return the lead time of one receipt in hundredths of a day, rounded half to even."""
    return half_even((received_us - ordered_us) * 100, DAY_US)


def lead_time(centidays: Sequence[int]) -> LeadTime | None:
    """Return mean, deviation and two percentiles, or None without a receipt."""
    n = len(centidays)
    if n == 0:
        return None
    total = sum(centidays)
    squares = sum(one * one for one in centidays)
    ranked = sorted(centidays)
    return LeadTime(
        receipts=n,
        mean_centidays=half_even(total, n),
        sd_centidays=isqrt(n * squares - total * total) // n,
        p50_centidays=percentile(ranked, 50),
        p90_centidays=percentile(ranked, 90),
    )


def percentile(ranked: Sequence[int], percent: int) -> int:
    """Return the value of rank ceil(percent·n / 100), counted from 1; `ranked` is ascending."""
    return ranked[ceil_div(percent * len(ranked), 100) - 1]


def share_permille(part: int, whole: int) -> int | None:
    """Return thousandths, rounded down, or None if `whole` is 0."""
    return None if whole == 0 else 1000 * part // whole


def is_written_back(found: LeadTime, mean_centidays: int, sd_centidays: int) -> bool:
    """Return True if ≥ 5 receipts differ from the policy by more than 10 % in mean or deviation.

    If the policy's value is 0, every other value differs. A mean below 0 (orders recorded after
    their goods) is never written back.
    """
    if found.receipts < LEAST_RECEIPTS or found.mean_centidays < 0:
        return False
    return _differs(found.mean_centidays, mean_centidays) or _differs(
        found.sd_centidays, sd_centidays
    )


def _differs(found: int, held: int) -> bool:
    return abs(found - held) * 1000 > CHANGE_PERMILLE * held
