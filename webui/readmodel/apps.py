"""The read model's Django application."""

from django.apps import AppConfig


class ReadModelConfig(AppConfig):
    """Tables of the projector."""

    name = "webui.readmodel"
    label = "readmodel"
