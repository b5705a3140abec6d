"""What a person reads when a page could not be made."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.views.defaults import server_error

RETRY_S = 5


def broken(request: HttpRequest) -> HttpResponse:
    """The page of an unexpected error: 503 where the database does not answer, else 500."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return server_error(request)
    page = loader.get_template("503.html").render()
    return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_S)})
