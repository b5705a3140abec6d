"""Routes of the API, and its OpenAPI document at `/api/v1/openapi.json`."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET
from ninja import NinjaAPI
from ninja.errors import ValidationError, ValidationErrorContext
from ninja.operation import Operation, PathView
from ninja.params.models import QueryModel
from typing_extensions import override

import webui.shell.code_path  # noqa: F401 -- registers the converter `code`
from webui.accounts.gate import API_RULES
from webui.accounts.roles import GROUPS_OF
from webui.api import (
    codes,
    counts,
    decisions,
    needs,
    orders,
    price_stop,
    prices,
    receipts,
    stock,
    transfers,
    webhooks,
)
from webui.api.access import API_PARAMETERS, Token, all_rules
from webui.api.problems import MEDIA_TYPE, URN, register

PREFIX: Final = "api/v1/"
_PROBLEM: Final = {
    "title": "Problem",
    "type": "object",
    "description": "RFC 9457: what happened, what was kept and what to do next.",
    "required": ["type", "title", "status", "detail", "next_step"],
    "properties": {
        "type": {
            "type": "string",
            "description": f"Stable name of the kind of problem: {URN}NAME.",
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "next_step": {"type": "string"},
        "field": {"type": "string", "description": "The refused field."},
        "value": {"type": "string", "description": "The refused value, cut after 60 characters."},
        "rule": {"type": "string", "description": "Rule that the value must meet."},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}
_REFUSALS: Final = {
    400: "The request can't be read, or breaks this schema",
    401: "No valid token",
    403: "The token lacks the scope, the right or the store",
    404: "No such resource for this token",
    405: "This method is not allowed here",
    422: "A rule of the ledger refuses a value",
    429: "Too many requests in this minute",
    503: "Try again later",
}
_REFUSALS_OF_WRITES: Final = {
    409: "Something has changed, or the key was used for another command",
    413: "The body is too large",
    415: "The body is not JSON",
}
# Attribute that ninja adds to the model of an operation's query: {name: path of the value}.
_PARAMETERS: Final = "__ninja_flatten_map__"
_GONE: Final = {410: "The events after this cursor are gone"}


class Api(NinjaAPI):
    """A ninja API whose validation errors also contain the refused value."""

    @override
    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        refused = super().validation_error_from_error_contexts(error_contexts)
        seen = [
            error["input"]
            for context in error_contexts
            for error in context.pydantic_validation_error.errors(include_url=False)
        ]
        for error, value in zip(refused.errors, seen, strict=True):
            error["input"] = value
        return refused


api = Api(
    title="Retail inventory",
    version="1",
    description="The same services and queries as the pages. Times are UTC, amounts are minor"
    " units of `currency`, quantities are units. Each write needs an Idempotency-Key.",
    urls_namespace="api",
    docs_url=None,
    openapi_url=None,
)
register(api)
for module in (
    *(stock, codes, needs, orders, prices, price_stop, counts, receipts, transfers),
    *(decisions, webhooks),
):
    api.add_router("", module.router)


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document, with the scope, roles and refusals of each operation."""
    found: dict[str, Any] = api.get_openapi_schema(path_prefix=PREFIX)
    rules = {operation.operation_id: operation for operation in operations()}
    for methods in found["paths"].values():
        for method, described in methods.items():
            rule = rules[described["operationId"]]
            _describe(described, method, *all_rules(rule.auth_callbacks))
    components = found["components"]
    components["schemas"]["Problem"] = _PROBLEM
    return found


def _describe(described: dict[str, Any], method: str, rule: Token) -> None:
    roles = ", ".join(sorted(GROUPS_OF[rule.ability])) or "everybody"
    right = rule.ability.replace("_", " ")
    text = f"Scope `{rule.scope}`. Right: {right} ({roles})."
    described["description"] = f"{described.get('description', '')}\n\n{text}".strip()
    refusals = _REFUSALS | (_REFUSALS_OF_WRITES if method == "post" else {})
    if "decisions" in described["tags"]:
        refusals |= _GONE
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, meaning in refusals.items():
        described["responses"][status] = {"description": meaning, "content": content}


def operations() -> list[Any]:
    """Return every operation of the API: ninja's object for one method of one path."""
    return [operation for view in _path_views() for operation in view.operations]


def _path_views() -> list[PathView]:
    return [
        view
        for router in api._get_bound_routers()  # noqa: SLF001 -- ninja has no public list
        for view in router.path_operations.values()
    ]


@require_GET
def openapi(_request: HttpRequest) -> JsonResponse:
    """Return the OpenAPI 3.1 document."""
    return JsonResponse(document())


def _view(found: PathView) -> Callable[..., HttpResponseBase]:
    """Return ninja's view of one path.

    Its attribute `API_RULES` has the access rule of each HTTP method, for `webui.accounts.gate`.
    Its attribute `API_PARAMETERS` has the names of the query parameters of each HTTP method.
    """
    serve = found.get_view()

    # No CSRF token is needed: `Frame` removes cookies, and a page of another site can't send the
    # header with the token.
    @csrf_exempt
    def view(request: HttpRequest, **named: Any) -> HttpResponseBase:  # noqa: ANN401 -- what the route gives
        answer: HttpResponseBase = serve(request, **named)
        return answer

    rules = {
        method: rule
        for operation in found.operations
        for method in operation.methods
        for rule in all_rules(operation.auth_callbacks)
    }
    setattr(view, API_RULES, rules)
    parameters = {
        method: list(_query_parameters(operation))
        for operation in found.operations
        for method in operation.methods
    }
    setattr(view, API_PARAMETERS, parameters)
    view.__doc__ = " ".join(operation.description or "" for operation in found.operations)
    return view


def _query_parameters(operation: Operation) -> Iterator[str]:
    for model in operation.models:
        if issubclass(model, QueryModel):
            yield from getattr(model, _PARAMETERS)


def _routes() -> Iterator[URLPattern]:
    for view in _path_views():
        first = view.operations[0]
        route = first.path.lstrip("/").replace("{", "<").replace("}", ">")
        yield path(f"{PREFIX}{route}", _view(view), name=f"api-{first.operation_id}")


urlpatterns = [path(f"{PREFIX}openapi.json", openapi, name="api-openapi"), *_routes()]
