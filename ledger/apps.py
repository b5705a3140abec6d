"""Django application of the ledger."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """Registers the models and migrations of `ledger` under the label `ledger`."""

    name = "ledger"
    label = "ledger"
