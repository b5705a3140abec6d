"""The figures of a supplier's scorecard (domain.md 7).

Lead times are in hundredths of a day. The caller selects settled order lines, normally the lines of
180 days, and passes their times and units. A line is settled if it is no draft and no more of its
units are expected.
"""

from collections.abc import Sequence
from math import isqrt

from inventory.model.arithmetic import DAY_US, ceil_div, half_even
from inventory.model.value import value

LEAST_RECEIPTS = 5
CHANGE_PERMILLE = 100


@value
class LeadTime:
    """Mean, standard deviation and percentiles of lead times, in hundredths of a day.

    `receipts` is the number of lead times.
    """

    receipts: int
    mean_centidays: int
    sd_centidays: int
    p50_centidays: int
    p90_centidays: int


def receipt_centidays(ordered_us: int, received_us: int) -> int:
    """Return the time from order to receipt in hundredths of a day, rounded half to even."""
    return half_even((received_us - ordered_us) * 100, DAY_US)


def lead_time(centidays: Sequence[int]) -> LeadTime | None:
    """Return mean, standard deviation and two percentiles of the lead times `centidays`.

    The mean is half_even(Σx, n), the deviation isqrt(n·Σx² - (Σx)²) // n. n is the number of lead
    times. None means that n is 0.
    """
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
    """Return the value of rank ceil(percent·n / 100) among the n ascending values `ranked`.

    The first value has rank 1.
    """
    return ranked[ceil_div(percent * len(ranked), 100) - 1]


def share_permille(part: int, whole: int) -> int | None:
    """Return the share in thousandths: 1000·part // whole, or None if `whole` is 0."""
    return None if whole == 0 else 1000 * part // whole


def is_written_back(found: LeadTime, mean_centidays: int, sd_centidays: int) -> bool:
    """Return True if a job should write the mean and deviation to `item_location` (domain.md 7).

    There must be at least 5 receipts. The mean or the deviation must differ by more than 10 % from
    the policy's value, `mean_centidays` or `sd_centidays`. A mean below 0 is never written: it
    means that orders were recorded after their goods had arrived.
    """
    if found.receipts < LEAST_RECEIPTS or found.mean_centidays < 0:
        return False
    return _differs(found.mean_centidays, mean_centidays) or _differs(
        found.sd_centidays, sd_centidays
    )


def _differs(found: int, held: int) -> bool:
    return abs(found - held) * 1000 > CHANGE_PERMILLE * held
