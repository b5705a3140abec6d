"""Template tags of every page: the icons."""

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return an icon of `static/vendor/lucide.svg` that takes size and colour from its text.

    It says nothing to a screen reader: the text beside it, or a hidden one, names the action.
    """
    return format_html(
        '<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>',
        static("vendor/lucide.svg"),
        name,
    )
