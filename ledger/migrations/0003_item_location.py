"""`item_location`: one policy row per key, with limits under which all formulas have a result.

A limit of one replenishment family applies only to items of that family (docs/domain.md 11.8).
"""

from importlib import import_module

from django.db import migrations

KEY = import_module("ledger.migrations.0002_facts").KEY

MOST = 9_007_199_254_740_991
UNITS = 1_000_000


def amount(column: str, default: int | None, low: int = 0, high: int = MOST) -> str:
    """Return the SQL definition of an integer column within [low, high].

    The column is nullable if `default` is None.
    """
    null = "" if default is None else f" NOT NULL DEFAULT {default}"
    return f"{column} bigint{null} CHECK ({column} BETWEEN {low} AND {high})"


def choice(column: str, default: str | None, *values: str) -> str:
    """Return the SQL definition of a text column that may only have one of `values`."""
    listed = ", ".join(f"'{value}'" for value in values)
    preset = "" if default is None else f" DEFAULT '{default}'"
    return f"{column} text NOT NULL{preset} CHECK ({column} IN ({listed}))"


def moment(column: str) -> str:
    """Return the SQL definition of a nullable column with any finite time."""
    return f"{column} timestamptz CHECK (isfinite({column}))"


def several(column: str, default: str, high: int) -> str:
    """Return the SQL definition of a column with an array of integers within [0, high].

    The array has one dimension and no nulls.
    """
    return f"""{column} bigint[] NOT NULL DEFAULT '{default}' CHECK (
        0 <= ALL ({column}) AND {high} >= ALL ({column})
        AND array_position({column}, NULL) IS NULL AND coalesce(array_ndims({column}), 1) = 1)"""


COLUMNS = [
    choice("status", None, "active", "exit", "inactive"),
    choice("clock_mode", "live", "live", "replayed"),
    amount("allocated_units", 0, 0, UNITS),
    moment("reviewed_at"),
    amount("trading_windows", 144, 1, 144),
    amount("trading_from_window", 0, 0, 143),
    choice("demand_method", "ewma", "ewma", "tsb"),
    amount("demand_alpha_permille", 125),
    amount("initial_rate_micro", None),
    choice("replenish_family", "off", "off", "sQ", "sS", "RS", "RsS", "par", "cover"),
    choice("levels", "fixed", "fixed", "computed"),
    amount("reorder_point_units", 0, 0, UNITS),
    amount("order_up_to_units", 0, 0, UNITS),
    amount("order_quantity_units", 0, 0, UNITS),
    amount("lead_time_centidays", 0),
    amount("lead_time_sd_centidays", 0),
    amount("review_centidays", 0),
    amount("cycle_centidays", 0),
    amount("min_cover_centidays", 0),
    amount("max_cover_centidays", 0),
    choice("safety_method", "fixed", "fixed", "days", "service"),
    amount("safety_stock_units", 0, 0, UNITS),
    amount("safety_centidays", 0),
    amount("service_z_micro", 0),
    amount("order_days_mask", 127, 0, 127),
    amount("hysteresis_units", None, 0, UNITS),
    "supplier text",
    amount("cost_minor", 0, 0, 1_000_000_000),
    amount("pack_units", 1, 1, UNITS),
    choice("pack_rounding", "up", "up", "down", "threshold"),
    amount("round_up_permille", 500),
    amount("pallet_packs", 0),
    amount("pallet_permille", 0),
    amount("moq_units", 0, 0, UNITS),
    amount("max_order_units", None, 0, UNITS),
    amount("capacity_units", None, 0, UNITS),
    amount("guard_days", 90),
    amount("auto_max_minor", 0),
    choice("price_mode", "off", "off", "advise", "auto"),
    amount("regular_minor", None, 1, 1_000_000_000),
    amount("margin_permille", 0, 0, 999),
    amount("tax_bp", 0),
    several("ladder_permille", "{100,200,300,500}", MOST),
    several("raise_permille", "{50,100}", MOST),
    several("endings", "{}", 99),
    amount("max_step_permille", 200),
    amount("max_off_permille", 500),
    amount("cap_permille", 100),
    amount("lead_minutes", 30),
    amount("cooldown_hours", 168),
    moment("no_touch_from"),
    moment("no_touch_until"),
    choice("prior_rule", "plain", "plain", "progressive"),
    "scarce_enabled boolean NOT NULL DEFAULT false",
    amount("scarce_days", 3),
    amount("overstock_days", 56),
    amount("idle_days", 21),
    amount("restore_days", 28),
    amount("auto_permille", 0),
    amount("phantom_lambda_micro", 4_605_170),
    "CONSTRAINT item_location_key_unique UNIQUE (inv_key)",
    """CONSTRAINT item_location_fixed_quantity
        CHECK (replenish_family <> 'sQ' OR order_quantity_units >= 1)""",
    """CONSTRAINT item_location_fixed_levels
        CHECK (levels <> 'fixed' OR replenish_family NOT IN ('sS', 'RsS', 'cover')
               OR order_up_to_units > reorder_point_units)""",
    """CONSTRAINT item_location_typed_level
        CHECK (NOT (replenish_family = 'par' OR (replenish_family = 'RS' AND levels = 'fixed'))
               OR order_up_to_units >= 1)""",
]

FORWARD = f"""
CREATE TABLE retail.item_location ({KEY}{", ".join(COLUMNS)});
CREATE INDEX item_location_sku ON retail.item_location (sku, location);
CREATE INDEX item_location_review ON retail.item_location (reviewed_at NULLS FIRST, id)
    WHERE clock_mode = 'live' AND status = 'active';
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0002_facts")]
    operations = [migrations.RunSQL([FORWARD], ["DROP TABLE retail.item_location;"])]
