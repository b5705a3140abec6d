"""Prints shares."""

from django import template

register = template.Library()


@register.filter
def permille(share: int | None) -> str:
    """Thousandths as per cent with one decimal: `98.4 %`; a dash where there is no share."""
    return "–" if share is None else f"{share // 10}.{share % 10} %"
