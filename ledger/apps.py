"""Django application of the ledger."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """The system of record."""

    name = "ledger"
    label = "ledger"
