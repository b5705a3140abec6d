"""The facts of a key a page at a time, so that what is shown and what is left out add up.

A long history is thousands of facts. The page shows the newest ones in business order, says what
those before them came to, and leads to them; on a page of earlier facts the newer ones are a sum.
"""

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest

from webui.readmodel import explain_selectors as explain

_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class FactPage:
    """Some facts of a key: `opening_units`, their changes and `newer_units` make `total_units`."""

    facts: tuple[explain.Fact, ...]
    newest: explain.Fact | None

    @property
    def total_units(self) -> int:
        """On-hand by all facts of the key."""
        return self.newest.running_units if self.newest else 0

    @property
    def opening_units(self) -> int:
        """On-hand before the first fact that is shown."""
        return self.facts[0].running_units - self.facts[0].delta_units if self.facts else 0

    @property
    def earlier(self) -> int:
        """How many facts stand before the first one that is shown."""
        return self.facts[0].place - 1 if self.facts else 0

    @property
    def is_part(self) -> bool:
        """Whether facts are left out."""
        return bool(self.earlier or self.newer)

    @property
    def newer(self) -> int:
        """How many facts stand behind the last one that is shown."""
        return self.newest.place - self.facts[-1].place if self.newest and self.facts else 0

    @property
    def newer_units(self) -> int:
        """What the facts behind the last one that is shown have moved."""
        return self.total_units - self.facts[-1].running_units if self.facts else 0

    @property
    def newer_to(self) -> int:
        """The place at which the next page of newer facts ends."""
        return self.facts[-1].place + explain.FACTS_SHOWN if self.facts else 0


def fact_page(inv_key: str, to: int | None = None) -> FactPage:
    """The facts up to and with the one at place `to`; the newest ones without it."""
    found = tuple(explain.facts(inv_key, to=to))
    if to is None:
        return FactPage(found, found[-1] if found else None)
    newest = explain.facts(inv_key, limit=1)
    return FactPage(found, newest[0] if newest else None)


def asked_place(request: HttpRequest) -> int | None:
    """The place that the address names, None for the newest facts."""
    given = request.GET.get("to", "")
    if given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS and int(given):
        return int(given)
    return None
