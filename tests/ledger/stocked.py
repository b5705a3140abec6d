"""Locations with an item and counted stock."""

from ledger import services
from ledger.kernel.transactions import fetch_value


def stocked(*locations: str, sku: str = "S", units: int = 100) -> None:
    """Range `sku` at these locations, with a count of `units` one minute ago.

    A count made now would include the movements that the test writes in the same second.
    """
    items = [services.RangedItem(location, sku, {}, units) for location in locations]
    counted_at = fetch_value("SELECT clock_timestamp() - interval '1 minute'")
    services.range_items(items=items, occurred_at=counted_at)
