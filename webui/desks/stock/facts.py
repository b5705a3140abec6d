"""The facts of a key in pages, with sums of the facts that a page leaves out.

A long history has thousands of facts. The first page shows the newest facts by business time, the
sum of the earlier facts, and a link to them. A page of earlier facts shows newer facts as a sum.
"""

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest

from webui.readmodel import explain

_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class FactPage:
    """Some facts of a key. `newest` is the newest of all its facts.

    `opening_units`, the changes by the facts of the page and `newer_units` add up to `total_units`.
    """

    facts: tuple[explain.Fact, ...]
    newest: explain.Fact | None

    @property
    def total_units(self) -> int:
        """On-hand: the sum of all facts of the key."""
        return self.newest.running_units if self.newest else 0

    @property
    def opening_units(self) -> int:
        """On-hand before the first fact of the page."""
        return self.facts[0].running_units - self.facts[0].delta_units if self.facts else 0

    @property
    def earlier(self) -> int:
        """Number of facts before the first one of the page."""
        return self.facts[0].place - 1 if self.facts else 0

    @property
    def is_part(self) -> bool:
        """True if the page leaves facts out."""
        return bool(self.earlier or self.newer)

    @property
    def newer(self) -> int:
        """Number of facts after the last one of the page."""
        return self.newest.place - self.facts[-1].place if self.newest and self.facts else 0

    @property
    def newer_units(self) -> int:
        """Net movement of the facts after the last one of the page."""
        return self.total_units - self.facts[-1].running_units if self.facts else 0

    @property
    def newer_to(self) -> int:
        """The argument `to` of `fact_page` for the next newer facts; 0 if this page is empty."""
        return self.facts[-1].place + explain.FACTS_SHOWN if self.facts else 0


def fact_page(inv_key: str, to: int | None = None) -> FactPage:
    """Return up to 25 facts, ordered by business time; the last one is the fact number `to`.

    The first fact of the key has number 1. Without `to`, the page ends with the newest fact.
    """
    found = tuple(explain.facts(inv_key, to=to))
    if to is None:
        return FactPage(found, found[-1] if found else None)
    newest = explain.facts(inv_key, limit=1)
    return FactPage(found, newest[0] if newest else None)


def position_from_query(request: HttpRequest) -> int | None:
    """Return the parameter `to` of the URL for `fact_page`, or None for the newest facts."""
    given = request.GET.get("to", "")
    if given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS and int(given):
        return int(given)
    return None
