"""Refusals of services in the person's language."""

from django.utils.translation import gettext

from ledger.kernel.errors import Conflict, ServiceError
from ledger.kernel.refusal_text import refusal_text


def refused_text(error: ServiceError) -> str:
    """Return the sentence of a refusal."""
    return refusal_text(error, gettext)


def conflict_text(conflict: Conflict) -> str:
    """Return the sentences of a conflict."""
    return conflict.said(gettext)
