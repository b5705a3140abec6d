"""Template filters for ratios."""

from django import template

register = template.Library()


@register.filter
def permille(share: int | None) -> str:
    """Return thousandths as per cent with one decimal: `98.4 %` for 984; a dash for None."""
    return "–" if share is None else f"{share // 10}.{share % 10} %"


@register.filter
def basis_points(share: int) -> str:
    """Return ten-thousandths as per cent with two decimals: `20.00 %` for 2000."""
    return f"{share // 100}.{share % 100:02} %"
