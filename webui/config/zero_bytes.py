"""Middleware that rejects requests with NUL characters, or in other character sets than UTF-8."""

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.deprecation import MiddlewareMixin

ZERO = "\x00"
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii"})


class RefuseZeros(MiddlewareMixin):
    """Middleware that answers 400 to NUL characters, because a Postgres text can't contain them.

    It also rejects character sets other than UTF-8 and ASCII. Django would pass any name to
    Python's codecs. With `base64`, for example, which is no character set, decoding would raise
    LookupError.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Return the answer 400 for a NUL character or a wrong character set; None to continue."""
        charset = (request.content_params or {}).get("charset", "utf-8")
        if charset.lower() not in _CHARSETS:
            return _refused("Send forms in UTF-8. Nothing was changed.")
        query = request.META.get("QUERY_STRING", "")
        if ZERO in request.path or "%00" in query or ZERO in query:
            return _refused("Addresses can't contain zero characters. Nothing was changed.")
        for name, values in request.POST.lists():
            if ZERO in name or any(ZERO in str(value) for value in values):
                shown = name.replace(ZERO, "").replace("_", " ")
                rule = "forms can't contain zero characters. Nothing was changed."
                return _refused(f"{shown.capitalize()}: {rule}")
        return None


def _refused(message: str) -> HttpResponse:
    return HttpResponseBadRequest(message, content_type="text/plain; charset=utf-8")
