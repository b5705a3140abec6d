"""Windows of a key with the sale lines that arrived after the window had closed (late lines).

The read model has only the newest revision of a window. Most revisions come from late lines. The
ledger has these lines, so the page lists them. The other revisions come from corrected and deleted
sale lines. Only the source log has their former values, so the page shows only their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cdc.contracts.times import us_of
from inventory.explain.arrival import COUNTED
from inventory.model.arithmetic import window_start
from webui.readmodel import explain


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A ten-minute window, and the late lines that it counts."""

    window: explain.Window
    late: tuple[explain.Fact, ...]

    @property
    def other_changes(self) -> int:
        """Number of revisions that come from corrected or deleted sale lines."""
        return max(0, self.window.window_revision - len(self.late))


def shown_windows(inv_key: str, windows: Sequence[explain.Window]) -> list[ShownWindow]:
    """Return each of `windows`, in their order, with the late lines that it counts."""
    revised = [window.start_us for window in windows if window.window_revision]
    late = [fact for fact in explain.facts_of_windows(inv_key, revised) if fact.arrival == COUNTED]
    return [
        ShownWindow(
            window,
            tuple(f for f in late if window_start(us_of(f.business_at)) == window.start_us),
        )
        for window in windows
    ]
