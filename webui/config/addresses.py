"""Middleware that rejects requests with zero characters before any page or service reads them."""

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.deprecation import MiddlewareMixin

ZERO = "\x00"


class RefuseZeros(MiddlewareMixin):
    """Middleware that answers 400 to zero characters: a Postgres text can't hold them."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Return a refusal for such an address or form, or None to continue."""
        query = request.META.get("QUERY_STRING", "")
        if ZERO in request.path or "%00" in query or ZERO in query:
            return _refused("An address holds no zero characters.")
        for name, values in request.POST.lists():
            if ZERO in name or any(ZERO in str(value) for value in values):
                shown = name.replace(ZERO, "").replace("_", " ")
                return _refused(f"{shown.capitalize()}: a form holds no zero characters.")
        return None


def _refused(message: str) -> HttpResponse:
    return HttpResponseBadRequest(message, content_type="text/plain; charset=utf-8")
