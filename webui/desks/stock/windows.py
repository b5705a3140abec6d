"""Windows of a key with the sales that arrived after the window had closed.

The read model has the newest revision of a window. Late lines in the ledger explain most revisions.
Corrected and deleted lines explain the other revisions; only the source log has those lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cdc.contracts.times import us_of
from inventory.explain.arrival import COUNTED
from inventory.model.arithmetic import window_start
from webui.readmodel import explain


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A ten-minute window, and the late lines that it counts: they arrived after it had closed."""

    window: explain.Window
    late: tuple[explain.Fact, ...]

    @property
    def other_changes(self) -> int:
        """Number of revisions that come from corrected or deleted lines."""
        return max(0, self.window.window_revision - len(self.late))


def shown_windows(inv_key: str, windows: Sequence[explain.Window]) -> list[ShownWindow]:
    """Return `windows` in their order, each with the late lines that it counts."""
    revised = [window.start_us for window in windows if window.window_revision]
    late = [fact for fact in explain.facts_of_windows(inv_key, revised) if fact.arrival == COUNTED]
    return [
        ShownWindow(
            window,
            tuple(f for f in late if window_start(us_of(f.business_at)) == window.start_us),
        )
        for window in windows
    ]
