"""When demand has gaps, so that another method learns it better (domain.md 3.3)."""

# Average gap between selling days from which `tsb` is the better choice: 1.32 days.
GAP_CENTIDAYS = 132
LEAST_SELLING_DAYS = 2


def is_intermittent(selling_days: int, first_day: int, last_day: int) -> bool:
    """Whether the average gap between `selling_days` days, first to last, is 1.32 days or more."""
    if selling_days < LEAST_SELLING_DAYS:
        return False
    return (last_day - first_day) * 100 >= GAP_CENTIDAYS * (selling_days - 1)
