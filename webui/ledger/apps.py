"""The ledger's Django application."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """System of record."""

    name = "webui.ledger"
    label = "ledger"
