"""Template filters for needs and sends: amounts with their currency, labels, and delays."""

from collections.abc import Iterable
from typing import Protocol

from django import template
from django.utils.translation import gettext

from inventory.replenishment.attention import SENTENCES
from ledger.kernel.amounts import amount_text
from webui.readmodel.figures import age_text, is_beyond_a_year

register = template.Library()


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
def lasts_label(centidays: int | None) -> str:
    """Return the label before a cover: "Lasts", or empty before "no demand" and "hardly sells"."""
    in_words = centidays is None or is_beyond_a_year(centidays)
    return "" if in_words else gettext("Lasts")


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
