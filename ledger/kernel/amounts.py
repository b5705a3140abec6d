"""Amounts of money with the currency of this installation, for pages and messages."""

from typing import Final

from django.conf import settings

from inventory.explain.formatting import MINUS, money_text

SYMBOLS: Final = {"EUR": "€", "GBP": "£", "USD": "$"}


def currency_mark() -> str:
    """Return the text before an amount: `€`, or a currency code with a blank, like `CHF `."""
    return SYMBOLS.get(settings.CURRENCY, f"{settings.CURRENCY} ")


def amount_text(minor: int | None) -> str:
    """Return minor units with the currency: `€1,234.50`, `−€3.00`; – for None."""
    if minor is None:
        return money_text(minor)
    sign = MINUS if minor < 0 else ""
    return f"{sign}{currency_mark()}{money_text(abs(minor))}"
