"""Routes of the project: one `urls` module per desk (the pages for one kind of work)."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

handler403 = "webui.config.errors.handle_forbidden"
handler404 = "webui.config.errors.handle_not_found"
handler500 = "webui.config.errors.handle_server_error"

# The stock desk serves "/".
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include(f"{desk}.urls")) for desk in settings.DESKS
]
