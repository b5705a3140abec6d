"""Routes of the project: each desk brings its own."""

from importlib.util import find_spec

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

handler500 = "webui.config.errors.broken"

# The stock desk answers "/"; the order is the order of the navigation.
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include(f"{desk}.urls"))
    for desk in settings.DESKS
    if find_spec(f"{desk}.urls") is not None
]
