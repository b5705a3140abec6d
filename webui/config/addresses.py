"""What no page has to look for in an address."""

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.deprecation import MiddlewareMixin


class RefuseZeros(MiddlewareMixin):
    """Answers 400 to an address with a zero character: no SQL text can hold it."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Refuse such an address before a page reads it."""
        query = request.META.get("QUERY_STRING", "")
        if "\x00" in request.path or "%00" in query or "\x00" in query:
            return HttpResponseBadRequest(
                "An address holds no zero characters.", content_type="text/plain; charset=utf-8"
            )
        return None
