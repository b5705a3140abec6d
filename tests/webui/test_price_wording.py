"""The desk of prices has a text for each signal, and shows an unknown clamp by its code."""

from inventory.pricing.signals import SIGNALS
from webui.desks.prices.wording import SIGNAL_WORDS, clamps_text


def test_each_price_signal_has_a_text() -> None:
    assert set(SIGNAL_WORDS) == set(SIGNALS)


def test_an_unknown_price_clamp_is_shown_by_its_code() -> None:
    assert clamps_text(["floor", "max_off", "new_limit"]) == [
        "floor",
        "largest markdown",
        "new limit",
    ]
