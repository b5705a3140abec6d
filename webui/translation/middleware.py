"""The language of a request: the person's choice, or else the language of the browser."""

from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from typing_extensions import override

_PROGRAMS: Final = "/api/"


class Language(LocaleMiddleware):
    """Activate the language of the cookie or of the header `Accept-Language`.

    Responses of the API are in English, because programs compare texts.
    """

    @override
    def process_request(self, request: HttpRequest) -> None:
        if request.path.startswith(_PROGRAMS):
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
            return
        super().process_request(request)

    @override
    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if request.path.startswith(_PROGRAMS):
            return response
        return super().process_response(request, response)
