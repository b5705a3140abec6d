"""Django application of the ledger."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """The system of record."""

    name = "webui.ledger"
    label = "ledger"
