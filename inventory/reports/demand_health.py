"""Detection of intermittent demand, for which `tsb` is the better method (domain.md 3.3)."""

# `tsb` is the better choice from this average gap between selling days: 1.32 days.
GAP_CENTIDAYS = 132
LEAST_SELLING_DAYS = 2


def is_intermittent(selling_days: int, first_day: int, last_day: int) -> bool:
    """Return True if the average gap of `selling_days` days from first to last is ≥ 1.32 days."""
    if selling_days < LEAST_SELLING_DAYS:
        return False
    return (last_day - first_day) * 100 >= GAP_CENTIDAYS * (selling_days - 1)
