"""Refusals of services in the person's language, with codes as the services give them.

Pages of accounts and the import of product codes use this module. Other pages use
`webui.shell.refusals`, which shows names.
"""

from ledger.kernel.errors import ServiceError
from ledger.kernel.refusal_text import refusal_text
from webui.translation.messages import translate


def refused_text(error: ServiceError) -> str:
    """Return the sentence that explains a refused value to a person."""
    return refusal_text(error, translate)
