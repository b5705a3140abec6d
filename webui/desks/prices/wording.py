"""The words of the pricing desk for the signals and clamps of the rules."""

from collections.abc import Sequence
from typing import Final

from django.utils.translation import gettext

from inventory.pricing.signals import BELOW_FLOOR, IDLE, OVERSTOCK, RESTORE, SCARCE
from ledger.messages import gettext_noop

SIGNAL_WORDS: Final = {
    BELOW_FLOOR: gettext_noop("below the floor"),
    SCARCE: gettext_noop("running short"),
    OVERSTOCK: gettext_noop("too much stock"),
    IDLE: gettext_noop("not selling"),
    RESTORE: gettext_noop("back to normal"),
}
CLAMP_WORDS: Final = {
    "ending": gettext_noop("allowed ending"),
    "ending_up": gettext_noop("next allowed ending"),
    "floor": gettext_noop("floor"),
    "max_step": gettext_noop("largest step"),
    "max_off": gettext_noop("largest markdown"),
    "ceiling": gettext_noop("largest raise"),
}


def clamps_text(clamps: Sequence[str]) -> list[str]:
    """Return the words for the limits that changed a proposed price."""
    return [gettext(CLAMP_WORDS.get(clamp, clamp.replace("_", " "))) for clamp in clamps]
