"""ASGI entry for uvicorn: `webui.config.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.config.settings")
application = get_asgi_application()

from webui.config.session_limits import limit_pages  # noqa: E402 -- needs Django set up

limit_pages()
