"""Template filters: amounts with their currency, and the time that stock lasts."""

from collections.abc import Iterable
from typing import Final, Protocol

from django import template
from django.utils.translation import gettext

from inventory.replenishment.attention import SENTENCES
from ledger.kernel.amounts import amount_text
from webui.readmodel.figures import age_text, cover_text

register = template.Library()

# Beyond a year, a number of days only shows that the item hardly sells.
LONGEST_COVER_CENTIDAYS: Final = 36_500


class HasStatus(Protocol):
    """An object with the status of a send."""

    @property
    def status(self) -> str:
        """Its status, "waiting" until it has ended."""


@register.filter
def amount(minor: int | None) -> str:
    """Return minor units with the currency of this installation: `€1,234.50`."""
    return amount_text(minor)


@register.filter
def lasts(centidays: int | None) -> str:
    """Return the days that the stock lasts: `0.4 d`, `12 d`, or "hardly sells" beyond a year."""
    return gettext("hardly sells") if _hardly_sells(centidays) else cover_text(centidays)


@register.filter
def lasts_label(centidays: int | None) -> str:
    """Return the label of `lasts` on a card: "Lasts", or an empty text before "hardly sells"."""
    return "" if _hardly_sells(centidays) else gettext("Lasts")


def _hardly_sells(centidays: int | None) -> bool:
    return centidays is None or centidays > LONGEST_COVER_CENTIDAYS


@register.filter
def flagged(code: str) -> str:
    """Return the sentence for a flag of a need: "would last too long"."""
    return gettext(SENTENCES.get(code, code.replace("_", " ")))


@register.filter
def seconds(milliseconds: int) -> int:
    """Return the seconds of a countdown, rounded up."""
    return -(-milliseconds // 1000)


@register.filter
def late(milliseconds: int) -> str:
    """Return a delay in milliseconds as text: `12 s`, `4 min`."""
    return age_text(milliseconds * 1000)


@register.filter
def ended(sends: Iterable[HasStatus]) -> int:
    """Return the number of sends that have ended."""
    return sum(send.status != "waiting" for send in sends)
