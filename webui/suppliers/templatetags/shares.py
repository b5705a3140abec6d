"""Prints shares."""

from django import template

register = template.Library()


@register.filter
def permille(share: int | None) -> str:
    """Thousandths as per cent with one decimal: `98.4 %`; a dash where there is no share."""
    return "–" if share is None else f"{share // 10}.{share % 10} %"


@register.filter
def basis_points(share: int) -> str:
    """Ten-thousandths as per cent: `20.00 %`."""
    return f"{share // 100}.{share % 100:02} %"
