"""Django's URL patterns, for tests that must check each address."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver


def patterns(resolver: URLResolver | None = None) -> Iterator[URLPattern]:
    """Yield Django's URL patterns, one per address."""
    for entry in (resolver or get_resolver()).url_patterns:
        if isinstance(entry, URLResolver):
            yield from patterns(entry)
        else:
            yield entry


def url_names() -> set[str]:
    """Return the names of all addresses, or the route of an address without a name."""
    return {pattern.name or str(pattern.pattern) for pattern in patterns()}


def rule_of(name: str) -> Any:
    """Return the access rule of an address, None if it has none."""
    [view] = {pattern.callback for pattern in patterns() if pattern.name == name}
    return getattr(view, import_module("webui.accounts.roles").RULE, None)


def rules_of(name: str) -> dict[str, Any]:
    """Return the access rule of each method of an API address; {} if the address has none."""
    [view] = {pattern.callback for pattern in patterns() if pattern.name == name}
    found: dict[str, Any] = getattr(view, import_module("webui.accounts.gate").API_RULES, {})
    return found
