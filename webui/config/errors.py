"""What a person reads when a page could not be made."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.views.defaults import server_error

RETRY_S = 5
# Classes of SQLSTATE: no connection, the server is starting or ending; and what a retry may mend.
_AWAY = ("08", "57P")
_CONFLICT = "40"


def broken(request: HttpRequest) -> HttpResponse:
    """The page of an unexpected error.

    503 where the database does not answer or asks to be asked again, else 500.
    """
    failure = sys.exc_info()[1]
    if not isinstance(failure, OperationalError | InterfaceError):
        return server_error(request)
    state = getattr(failure.__cause__, "sqlstate", None)
    if state is None or state.startswith(_AWAY):
        return _later("503.html")
    if state.startswith(_CONFLICT):
        return _later("conflict.html")
    return server_error(request)


def _later(template: str) -> HttpResponse:
    page = loader.get_template(template).render()
    return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_S)})
