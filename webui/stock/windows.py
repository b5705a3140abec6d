"""Windows of a key with the sales that came after they had closed.

The read model keeps the newest revision of a window. What stands in the ledger explains most of
it: each late line that is still there. The rest were changes of lines, which only the log keeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cdc.contracts.times import us_of
from inventory.explanation.arrival import COUNTED
from inventory.model.arithmetic import window_start
from webui.readmodel import explain_selectors as explain


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A window, its late lines in the ledger, and how many revisions they leave unexplained."""

    window: explain.Window
    late: tuple[explain.Fact, ...]

    @property
    def other_changes(self) -> int:
        """Revisions by corrected or deleted lines."""
        return max(0, self.window.window_revision - len(self.late))


def shown_windows(inv_key: str, windows: Sequence[explain.Window]) -> list[ShownWindow]:
    """Each window with the late lines that it has counted, oldest first."""
    revised = [window.start_us for window in windows if window.window_revision]
    late = [fact for fact in explain.facts_of_windows(inv_key, revised) if fact.arrival == COUNTED]
    return [
        ShownWindow(
            window,
            tuple(f for f in late if window_start(us_of(f.business_at)) == window.start_us),
        )
        for window in windows
    ]
