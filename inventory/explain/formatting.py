"""Labels and formatted values of explanation lines, the same on pages and in terminals.

A line's name ends with a unit. The unit decides how the line's integer is formatted. Callers pass
the function that formats times, because this package doesn't use `datetime`.
"""

from collections.abc import Callable
from typing import Final

from inventory.explain.lines import ADD, Line, Section
from inventory.replenishment.families import FAMILIES

MINUS: Final = "\N{MINUS SIGN}"
UNKNOWN: Final = "–"
TITLES: Final = {
    "stock": "Stock",
    "demand": "Demand",
    "levels": "Levels",
    "quantity": "Order quantity",
    "price": "Price",
    "hold": "Need",
    "source": "Where this comes from",
}
LABELS: Final = {
    "replenish_family": "Reorder rule",
    "last_count_at_us": "Last count at",
    "movements_since_units": "Movements since",
    "on_hand_not_in_state_units": "Facts that the state lacks",
    "on_order_not_in_state_units": "Documents that the state lacks",
    "on_hand_clamp_units": "Negative on-hand counts as 0",
    "on_order_clamp_units": "Negative on-order counts as 0",
    "base_position_units": "Base position B",
    "reorder_point_units": "Reorder point",
    "order_up_to_units": "Order up to",
    "below_order_up_to_units": "One unit below the order level",
    "batch_units": "Above the reorder point",
    "typed_units": "As typed",
    "demand_rate_micro": "Demand per day d",
    "demand_mad_micro": "Mean absolute deviation",
    "final_rate_micro": "Rate of final days",
    "retained_days_micro": "Change by later days",
    "rate_change_micro": "Change of the rate",
    "learned_rate_micro": "Learned rate",
    "day_us": "Day",
    "observed_micro": "Observed that day",
    "sigma_micro": "Deviation per day \N{GREEK SMALL LETTER SIGMA}",
    "lead_time_centidays": "Lead time L",
    "service_z_micro": "Service factor z",
    "protection_demand_units": "Demand of the protection span",
    "above_reorder_point_units": "Base position above the reorder point",
    "minimum_raise_units": "Raised to the minimum",
    "limit_cut_units": "Cut to the limit",
    "pack_rounding_units": "Pack rounding",
    "tax_bp": "Tax in basis points",
    "price_from_us": "Price since",
    "clamps_minor": "Clamps",
    "target_change_minor": "Change to the step's target",
    "known_on_hand_units": "On hand as it was known then",
    "known_base_position_units": "Base position B as it was known then",
    "policy_generation": "State position, generation",
    "policy_partition": "State position, partition",
    "policy_offset": "State position, offset",
    "policy_row_offset": "Policy row, offset",
    "as_of_us": "As of",
}


def units_text(units: int | None) -> str:
    """Return units as text, for example `12,345` or `−5`. None gives a dash."""
    if units is None:
        return UNKNOWN
    return f"{_sign(units)}{abs(units):,}"


def money_text(minor: int | None) -> str:
    """Return an amount in minor units as text in major units: `1,234.50` for 123450; – for None."""
    if minor is None:
        return UNKNOWN
    major, rest = divmod(abs(minor), 100)
    return f"{_sign(minor)}{major:,}.{rest:02d}"


def micro_text(micro: int | None) -> str:
    """Return a rate in micro-units, rounded to a thousandth of a unit: `4.376` for 4,375,500.

    Halves are rounded away from zero. This text is for display. Use `exact_micro_text` where a
    reader computes with the value.
    """
    if micro is None:
        return UNKNOWN
    thousandths = (abs(micro) + 500) // 1000
    whole, rest = divmod(thousandths, 1000)
    return f"{_sign(micro if thousandths else 0)}{whole:,}.{rest:03d}"


def exact_micro_text(micro: int | None) -> str:
    """Return the rate with all its digits, at least three decimals: `4.375`, `10.000001`.

    Explanation lines build on each other. Units are rounded up, so a demand of 10.000001 a day
    gives one unit more than a demand of 10. A reader can't check that with rounded rates.
    """
    if micro is None:
        return UNKNOWN
    whole, rest = divmod(abs(micro), 1_000_000)
    return f"{_sign(micro)}{whole:,}.{_digits(rest)}"


def _digits(millionths: int) -> str:
    digits = f"{millionths:06d}"
    return digits[:3] + digits[3:].rstrip("0")


def centidays_text(centidays: int | None) -> str:
    """Return hundredths of a day as text: `6.25 d`, `−0.50 d`.

    A lead time is negative if the order was recorded after its goods had arrived.
    """
    if centidays is None:
        return UNKNOWN
    whole, rest = divmod(abs(centidays), 100)
    return f"{_sign(centidays)}{whole}.{rest:02d} d"


def counted_text(number: int, one: str, many: str = "") -> str:
    """Return a number with a noun, in English: `1 row`, `1,200 rows`.

    `many` is the plural, by default `one` with an s. Pages use `ledger.nouns` instead.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _sign(amount: int) -> str:
    return MINUS if amount < 0 else ""


_PRINTERS: Final = (
    ("_units", units_text),
    ("_micro", exact_micro_text),
    ("_centidays", centidays_text),
    ("_minor", money_text),
)
_ENDS: Final = (*(unit for unit, _ in _PRINTERS), "_us")


def visible_lines(section: Section) -> tuple[Line, ...]:
    """Return the lines that have a value or a detail text. All other lines are hidden."""
    return tuple(line for line in section.lines if line.amount not in (None, "") or line.detail)


def label(line: Line) -> str:
    """Return the label for the line's name.

    A name that is not in `LABELS` loses its unit and its underscores: `packed_units` gives
    `Packed`.
    """
    if line.name in LABELS:
        return LABELS[line.name]
    name = line.name
    for unit in _ENDS:
        name = name.removesuffix(unit)
    return name.replace("_", " ").capitalize()


def text(line: Line, time_text: Callable[[int], str]) -> str:
    """Return the line's value as text.

    A positive `add` line begins with `+`. The code of a replenishment family becomes the family's
    label. Every other text value gets blanks instead of underscores. `time_text` formats the values
    of lines whose names end in `_us`.
    """
    amount = line.amount
    if line.name == "replenish_family" and amount in FAMILIES:
        return FAMILIES[str(amount)].label
    if not isinstance(amount, int):
        return UNKNOWN if amount is None else amount.replace("_", " ")
    if line.name.endswith("_us"):
        return time_text(amount)
    plus = "+" if line.part == ADD and amount > 0 else ""
    for unit, printed in _PRINTERS:
        if line.name.endswith(unit):
            return plus + printed(amount)
    return plus + str(amount)


def origin(line: Line) -> str:
    """Return the line's source, such as `stock_count 12 by ann`, or "" for a line without one."""
    source = line.source
    if source is None:
        return ""
    by = "" if source.actor is None else f" by {source.actor}"
    return f"{source.table} {source.id}{by}"
