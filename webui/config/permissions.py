"""Header `Permissions-Policy`: a page may use the camera only if its view has set this header."""

from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

NONE: Final = "camera=(), microphone=(), geolocation=()"


class Permissions(MiddlewareMixin):
    """Middleware that denies camera, microphone and geolocation to pages without the header."""

    def process_response(
        self, _request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Return the response. If the view hasn't set the header, set it to `NONE`."""
        response.headers.setdefault("Permissions-Policy", NONE)
        return response
