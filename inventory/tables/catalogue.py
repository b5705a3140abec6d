"""The list of captured tables, in the order of Postgres' publication.

The decoder of records, the connector and the publication take the tables from this list. Tests
compare all other lists of captured tables with it, for example the list in domain.md 2.6.
docs/how-to/add-a-captured-table.md has the steps for a new table.
"""

from collections.abc import Mapping
from typing import Final

from inventory.tables import (
    item_location,
    pipeline_heartbeat,
    price_change,
    price_decision,
    purchase_order_line,
    reorder_decision,
    sale_line,
    shipment_line,
    stock_adjustment,
    stock_count,
)
from inventory.tables.captured import CapturedTable, Parser

CAPTURED: Final[tuple[CapturedTable, ...]] = (
    item_location.TABLE,
    sale_line.TABLE,
    purchase_order_line.TABLE,
    shipment_line.TABLE,
    stock_count.TABLE,
    stock_adjustment.TABLE,
    price_change.TABLE,
    reorder_decision.TABLE,
    price_decision.TABLE,
    pipeline_heartbeat.TABLE,
)
PARSERS: Final[Mapping[str, Parser]] = {table.name: table.parse for table in CAPTURED}
