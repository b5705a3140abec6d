"""Middleware that serves the joined files. `servestatic` serves all other files of `static/`."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.decorators import sync_and_async_middleware
from django.utils.http import quote_etag

from webui.config.joined_files import join_script, join_style

# The scripts that pages load: the first by the template `base.html`, the second by the printable
# order.
SCRIPTS: Final = ("js/app.js", "js/document.js")
# Style sheets that import others. A page loads `css/app.css` and at most one more.
STYLES: Final = ("css/find.css", "css/item.css", "css/order.css")
# `Cache-Control` of every static file. A browser asks again after a minute, and gets 304 if the
# file has not changed.
_CACHED: Final = "max-age=60, public"


@dataclass(frozen=True, slots=True)
class Served:
    """One joined file: its bytes, type and entity tag."""

    content: bytes
    content_type: str
    etag: str

    @classmethod
    def of(cls, text: str, content_type: str) -> "Served":
        """Return the file with this text; its entity tag is a hash of the content."""
        content = text.encode()
        tag = quote_etag(hashlib.sha256(content).hexdigest()[:20])
        return cls(content, content_type, tag)

    def respond(self, request: HttpRequest) -> HttpResponseBase:
        """Return the file, or 304 if the browser has it."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        headers = {"ETag": self.etag, "Cache-Control": _CACHED}
        whole = HttpResponse(self.content, content_type=self.content_type, headers=headers)
        return get_conditional_response(request, etag=self.etag, response=whole) or whole


def joined_files(folder: Path, prefix: str) -> dict[str, Served]:
    """Return the joined files of `folder` by URL path.

    Raises:
        NotJoinable: a source has a form of import that can't be joined.
    """
    files = {}
    for name in SCRIPTS:
        script = join_script(folder / name)
        files[f"{prefix}{name}"] = Served.of(script.text, "text/javascript; charset=utf-8")
        files[f"{prefix}{name}.map"] = Served.of(script.source_map, "application/json")
    for name in STYLES:
        files[f"{prefix}{name}"] = Served.of(join_style(folder / name), "text/css; charset=utf-8")
    return files


@sync_and_async_middleware
def serve_joined(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Return a middleware that serves the joined files and passes on all other requests.

    The files are read once, when the server starts.
    """
    files = joined_files(settings.BASE_DIR / "static", settings.STATIC_URL)

    async def respond_async(request: HttpRequest) -> HttpResponseBase:
        found = files.get(request.path_info)
        if found is not None:
            return found.respond(request)
        answer: Awaitable[HttpResponseBase] = get_response(request)
        return await answer

    def respond(request: HttpRequest) -> HttpResponseBase:
        found = files.get(request.path_info)
        if found is not None:
            return found.respond(request)
        answer: HttpResponseBase = get_response(request)
        return answer

    return respond_async if iscoroutinefunction(get_response) else respond
