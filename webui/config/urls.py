"""Routes of the project: those of the `urls` module of each package in `settings.DESKS`."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

handler403 = "webui.config.errors.handle_forbidden"
handler404 = "webui.config.errors.handle_not_found"
handler500 = "webui.config.errors.handle_server_error"

# The stock desk serves "/".
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include(f"{desk}.urls")) for desk in settings.DESKS
]
