"""Django's URL patterns, for tests that must check each address."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver


def patterns(resolver: URLResolver | None = None) -> Iterator[URLPattern]:
    """Every address."""
    for entry in (resolver or get_resolver()).url_patterns:
        if isinstance(entry, URLResolver):
            yield from patterns(entry)
        else:
            yield entry


def url_names() -> set[str]:
    """The names of all addresses; one without a name counts by its route."""
    return {pattern.name or str(pattern.pattern) for pattern in patterns()}


def rule_of(name: str) -> Any:
    """The rule of an address, None without any."""
    [view] = {pattern.callback for pattern in patterns() if pattern.name == name}
    return getattr(view, import_module("webui.accounts.roles").RULE, None)
