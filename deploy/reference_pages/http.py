"""The page about HTTP: the addresses of pages, API and workers, with the right that each requires.

The page must not depend on the caller's `INVENTORY_` variables, but Django reads them only once per
process. So `page` runs this module as a separate process without these variables:
`python -m deploy.reference_pages.http` prints the parts about pages and API.
"""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from cdc.contracts.answers import ADDRESSES, PROBLEM
from deploy.stack.home import PROJECT

if TYPE_CHECKING:
    from django.urls import URLPattern

View = Callable[..., Any]

_WORKER: Final = """
## Worker
Every worker answers at these addresses, by default on 127.0.0.1 ([how to query a
worker](../architecture.md#one-key-now)). [Topics and schemas](topics.md#fields) has the fields of
each answer.

| address | bearer token | schema of the answer |
|---|---|---|
"""


def page() -> str:
    """Return the page docs/reference/http.md without its heading."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("INVENTORY_")}
    done = subprocess.run(  # noqa: S603 -- this module
        [sys.executable, "-m", __name__],
        cwd=PROJECT,
        env=own,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [
        f"| `{address}` | {'yes' if address.startswith('/iq/') else 'no'} | `{kind}` |"
        for address, kind in ADDRESSES.items()
    ]
    rows.append("| `/metrics` | no | text of Prometheus, see [metrics](metrics.md) |")
    rows.append(f"| any address, if the status is 400 or above | | `{PROBLEM}` |")
    return done.stdout + _WORKER + "\n".join(rows) + "\n"


def _pages() -> Iterator[str]:
    """Yield the lines about the pages. Django must be set up."""
    from webui.accounts.gate import API_RULES, STREAMS  # noqa: PLC0415 -- see above

    yield "## Pages"
    yield "To use an address, a person needs the right in the column *right*. The column *roles*"
    yield "names the roles with this right (`lead` is the purchasing lead), or has one of these"
    yield "texts:"
    yield ""
    yield "| text | people who may use the address |"
    yield "|---|---|"
    yield "| everybody | all people who are logged in |"
    yield "| own account | all people who are logged in, each for their own account only |"
    yield "| no login needed | also people who are not logged in |"
    yield "| checked by the view | all people who are logged in, for items of their own stores |"
    yield "| company (after the roles) | only people with these roles who work in all stores |"
    yield ""
    yield "| address | method | right | roles | what it does |"
    yield "|---|---|---|---|---|"
    for address, pattern in sorted(_patterns(), key=lambda found: found[0]):
        if hasattr(pattern.callback, API_RULES):
            continue
        people = "checked by the view" if pattern.name in STREAMS else _people(pattern.callback)
        yield _row(address, people, pattern.callback)


def _operations() -> Iterator[str]:
    """Yield the lines about the API. Django must be set up."""
    from webui.accounts.roles import GROUPS_OF  # noqa: PLC0415 -- see above
    from webui.api.access import all_rules  # noqa: PLC0415 -- see above
    from webui.api.urls import PREFIX, operations  # noqa: PLC0415 -- see above

    yield ""
    yield "## API"
    yield "Programs call these addresses with a token ([the API](../api.md)). The token must have"
    yield "the scope of the row, and the owner of the token must have the right."
    yield ""
    yield "| address | method | scope | right | roles | what it does |"
    yield "|---|---|---|---|---|---|"
    for operation in operations():
        [rule] = all_rules(operation.auth_callbacks)
        address = f"/{PREFIX.rstrip('/')}{operation.path}"
        people = ", ".join(sorted(GROUPS_OF[rule.ability])) or "everybody"
        right = rule.ability.replace("_", " ")
        purpose = (inspect.getdoc(operation.view_func) or "").partition("\n")[0]
        method = ", ".join(operation.methods)
        yield f"| `{address}` | {method} | `{rule.scope}` | {right} | {people} | {purpose} |"


def _patterns() -> "Iterator[tuple[str, URLPattern]]":
    """Yield every address of the web application and its URL pattern."""
    from django.urls import URLPattern, URLResolver, get_resolver  # noqa: PLC0415 -- see above

    waiting: list[tuple[str, URLPattern | URLResolver]] = [
        ("/", entry) for entry in get_resolver().url_patterns
    ]
    while waiting:
        before, entry = waiting.pop()
        address = f"{before}{entry.pattern}"
        if isinstance(entry, URLPattern):
            yield address, entry
        else:
            waiting += [(address, inner) for inner in entry.url_patterns]


def _row(address: str, people: str, view: View) -> str:
    from webui.accounts.roles import RULE  # noqa: PLC0415 -- see above

    rule = getattr(view, RULE, None)
    right = "" if rule is None else rule.ability.replace("_", " ")
    methods = ", ".join(_methods(view)).replace(", HEAD", "")
    purpose = (inspect.getdoc(view) or "").partition("\n\n")[0].replace("\n", " ")
    return f"| `{address}` | {methods} | {right} | {people} | {purpose} |"


def _people(view: View) -> str:
    """Return the content of the column *roles* for a view."""
    from webui.accounts.roles import GROUPS_OF, RULE  # noqa: PLC0415 -- see above

    rule = getattr(view, RULE, None)
    if rule is None:
        return "own account" if hasattr(view, "login_url") else "no login needed"
    people = ", ".join(sorted(GROUPS_OF[rule.ability])) or "everybody"
    return f"{people}, company" if rule.company else people


def _methods(view: View) -> Sequence[str]:
    """Return the HTTP methods that a decorator such as `require_GET` allows.

    For a view without such a decorator, return GET and POST.
    """
    wrapped: Any = view
    while wrapped is not None:
        if inspect.isfunction(wrapped):
            nonlocals = inspect.getclosurevars(wrapped).nonlocals
            if "request_method_list" in nonlocals:
                return list(nonlocals["request_method_list"])
        wrapped = getattr(wrapped, "__wrapped__", None)
    return ("GET", "POST")


def main() -> None:
    """Print the parts about the pages and the API."""
    from deploy.stack.django import setup_django  # noqa: PLC0415 -- reads the environment

    setup_django()
    sys.stdout.write("\n".join((*_pages(), *_operations())) + "\n")


if __name__ == "__main__":
    main()
