"""The service worker's script and the offline page, which a device stores to work offline.

Both hold no data and need no login. A service worker handles only URLs below the directory of its
script, so this script can't be a file below `/static/`.
"""

import hashlib
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

_SCRIPT: Final = Path(settings.BASE_DIR) / "static/js/service-worker.js"


@require_GET
def service_worker(request: HttpRequest) -> HttpResponse:
    """Return the service worker's script. Browsers request it again after each navigation.

    The last line has a digest of the offline page in the language of the request. When texts or the
    language change, the script changes. The browser then installs it again, with the new page.
    """
    text = _SCRIPT.read_text(encoding="utf-8")
    page = hashlib.sha256(render(request, "offline.html").content).hexdigest()[:20]
    response = HttpResponse(
        f"{text}// /offline/ {page}\n", content_type="text/javascript; charset=utf-8"
    )
    response["Cache-Control"] = "no-cache"
    return response


@require_GET
def offline(request: HttpRequest) -> HttpResponse:
    """Return the page that an offline device shows instead of a page that it hasn't stored."""
    return render(request, "offline.html")
