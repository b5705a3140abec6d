"""The translation of messages that services compose, for `ledger.messages.translated`."""

from django.utils.translation import gettext, ngettext


def translate(one: str, many: str = "", number: int = 1) -> str:
    """Return a message id, or its plural form for `number`, in the person's language."""
    return ngettext(one, many, number) if many else gettext(one)
