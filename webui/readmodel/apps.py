"""Django application of the read model."""

from django.apps import AppConfig


class ReadModelConfig(AppConfig):
    """The projector's tables."""

    name = "webui.readmodel"
    label = "readmodel"
