"""Template filters: amounts with their currency, and the time that stock lasts."""

from collections.abc import Iterable
from typing import Final, Protocol

from django import template
from django.utils.translation import gettext

from inventory.replenishment.attention import SENTENCES
from ledger.kernel.amounts import amount_text
from webui.readmodel.figures import age_text, cover_text

register = template.Library()

# A longer cover isn't shown as a number of days: it only means that the item hardly sells.
LONGEST_COVER_CENTIDAYS: Final = 36_500


class HasStatus(Protocol):
    """An object with the status of a send."""

    @property
    def status(self) -> str:
        """The status of the send: "waiting" until it has ended."""


@register.filter
def amount(minor: int | None) -> str:
    """Return minor units with the currency of this installation: `€1,234.50`."""
    return amount_text(minor)


@register.filter
def lasts(centidays: int | None) -> str:
    """Return the days for which the stock lasts: `0.4 d` or `12 d`.

    Return "hardly sells" for more than a year and for None.
    """
    return gettext("hardly sells") if _hardly_sells(centidays) else cover_text(centidays)


@register.filter
def lasts_label(centidays: int | None) -> str:
    """Return the label before the text of `lasts`: "Lasts", or empty before "hardly sells"."""
    return "" if _hardly_sells(centidays) else gettext("Lasts")


def _hardly_sells(centidays: int | None) -> bool:
    return centidays is None or centidays > LONGEST_COVER_CENTIDAYS


@register.filter
def flagged(code: str) -> str:
    """Return the sentence for a flag of a need: "would last too long"."""
    return gettext(SENTENCES.get(code, code.replace("_", " ")))


@register.filter
def seconds(milliseconds: int) -> int:
    """Return milliseconds as seconds, rounded up, for a countdown."""
    return -(-milliseconds // 1000)


@register.filter
def late(milliseconds: int) -> str:
    """Return a delay in milliseconds as text: `12 s`, `4 min`."""
    return age_text(milliseconds * 1000)


@register.filter
def ended(sends: Iterable[HasStatus]) -> int:
    """Return the number of sends that have ended."""
    return sum(send.status != "waiting" for send in sends)
