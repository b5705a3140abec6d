"""Refusals of services in the person's language."""

from ledger.kernel.errors import Conflict, ServiceError
from ledger.kernel.refusal_text import refusal_text
from webui.translation.messages import translate


def refused_text(error: ServiceError) -> str:
    """Return the sentence of a refusal."""
    return refusal_text(error, translate)


def conflict_text(conflict: Conflict) -> str:
    """Return the sentences of a conflict."""
    return conflict.said(translate)
