"""The words of the pricing desk for the signals and clamps of the rules."""

from collections.abc import Sequence
from typing import Final

from inventory.pricing.signals import BELOW_FLOOR, IDLE, OVERSTOCK, RESTORE, SCARCE

SIGNAL_WORDS: Final = {
    BELOW_FLOOR: "below the floor",
    SCARCE: "running short",
    OVERSTOCK: "too much stock",
    IDLE: "not selling",
    RESTORE: "back to normal",
}
CLAMP_WORDS: Final = {
    "ending": "allowed ending",
    "ending_up": "next allowed ending",
    "floor": "floor",
    "max_step": "largest step",
    "max_off": "largest markdown",
    "ceiling": "largest raise",
}


def clamps_text(clamps: Sequence[str]) -> list[str]:
    """Return the words for the limits that changed a proposed price."""
    return [CLAMP_WORDS.get(clamp, clamp.replace("_", " ")) for clamp in clamps]
