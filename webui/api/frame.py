"""Middleware that removes cookies of API requests and converts all refusals to problem details."""

from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from webui.api.problems import MEDIA_TYPE, answer_problem, problem_of_status

ROOT: Final = "/api/"
_REFUSED: Final = 400
# Headers of a refusal that its problem details keep.
_KEPT: Final = ("Allow", "Retry-After", "WWW-Authenticate", "Content-Security-Policy")


class Frame(MiddlewareMixin):
    """Remove cookies from requests below `/api/`, and convert refusals into problem details.

    A browser sends its cookies to every URL of the site. Without cookies, a page of another
    site can't use the session of a person, so the API needs no CSRF token.
    """

    def process_request(self, request: HttpRequest) -> None:
        """Remove the cookies of an API request, before the session middleware reads them."""
        if request.path.startswith(ROOT):
            request.META.pop("HTTP_COOKIE", None)
            request.COOKIES = {}

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Return the response. Convert a refusal into problem details if it has another format."""
        is_ours = request.path.startswith(ROOT)
        is_refusal = response.status_code >= _REFUSED
        if not is_ours or not is_refusal or response.headers.get("Content-Type") == MEDIA_TYPE:
            return response
        problem = problem_of_status(response.status_code)
        problem.headers = {name: value for name, value in response.headers.items() if name in _KEPT}
        return answer_problem(problem)
