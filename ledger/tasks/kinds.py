"""The names of the kinds of tasks (docs/domain.md 8), as column `kind` of `app.task` has them.

`ledger.automation.conditions` has the condition of each kind, `webui.desks.tasks.kinds` the text
that pages show.
"""

from typing import Final

PIPELINE_STALE: Final = "pipeline_stale"
REJECTED_RECORD: Final = "rejected_record"
SOURCE_CLOCK: Final = "source_clock"
STALE_SOURCE: Final = "stale_source"
MISSING_PROPOSAL: Final = "missing_proposal"
NEGATIVE_STOCK: Final = "negative_stock"
COUNT_AGAIN: Final = "count_again"
OVERDUE_RECEIPT: Final = "overdue_receipt"
STUCK_TRANSFER: Final = "stuck_transfer"
STUCK_SIGNAL: Final = "stuck_signal"
HELD_AT_ZERO: Final = "held_at_zero"
NEGATIVE_BUCKET: Final = "negative_bucket"
NOT_COUNTED: Final = "not_counted"
UNKNOWN_ITEM: Final = "unknown_item"
FLOOR_BREACHED: Final = "floor_breached"
PHANTOM_SUSPECT: Final = "phantom_suspect"
COUNT_VARIANCE: Final = "count_variance"
