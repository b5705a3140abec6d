"""Text about the time left, for commands that report their progress."""

from dataclasses import dataclass
from math import ceil
from typing import Final

_MINUTE: Final = 60


@dataclass(slots=True)
class TimeLeft:
    """Expected time until all parts of the work are finished, from the rate since the first report.

    `first` is the first report: the number of finished parts, and its time in seconds.
    """

    first: tuple[int, float] | None = None

    def text(self, done: int, planned: int, now_s: float) -> str:
        """Return a text such as `, about 3 min 5 s left`, for a report at `now_s`, in seconds.

        Return "" at the end, and as long as no part was finished since the first report.
        """
        if self.first is None:
            self.first = done, now_s
        counted, seconds = done - self.first[0], now_s - self.first[1]
        if counted <= 0 or done >= planned:
            return ""
        left = ceil(seconds / counted * (planned - done))
        shown = f"{left // _MINUTE} min {left % _MINUTE} s" if left >= _MINUTE else f"{left} s"
        return f", about {shown} left"
