"""Django application of the read model."""

from django.apps import AppConfig


class ReadModelConfig(AppConfig):
    """The Django application of the read model, whose tables the projector fills."""

    name = "webui.readmodel"
    label = "readmodel"
