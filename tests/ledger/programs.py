"""Requests of a program to the API, with a token of a person or a service account."""

import json
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from uuid import uuid4

from django.test import Client

from tests.ledger.pages import person

ALL = (
    *("stock:read", "needs:read", "needs:decide", "orders:read", "orders:write"),
    *("prices:read", "prices:write", "prices:stop", "decisions:read"),
    *("counts:write", "counts:approve", "receipts:read", "receipts:write"),
    *("transfers:read", "transfers:write", "webhooks:manage"),
)


@dataclass
class Program:
    """A client with a token; each answer is JSON."""

    token: str
    client: Client = field(default_factory=lambda: Client(SERVER_NAME="localhost"))

    @property
    def head(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def get(self, path: str, **query: str | int) -> Any:
        return self.client.get(path, query, headers=self.head)

    def post(self, path: str, body: object, *, key: object = None) -> Any:
        head = self.head | {"Idempotency-Key": str(key or uuid4())}
        return self.client.post(path, json.dumps(body), "application/json", headers=head)


def account(role: str, name: str = "", *, stores: tuple[str, ...] = ()) -> Any:
    """Return an account of this role, in every store unless some are given."""
    person(role, name, stores=stores)
    user = import_module("django.contrib.auth.models").User.objects.get(username=name or role)
    if not user.is_active:
        user.is_active = True
        user.save()
    return user


def program_of(user: Any, *scopes: str, days: int = 1) -> Program:
    """Return a program with a new token of a person, with every scope unless some are given."""
    tokens = import_module("webui.accounts.api_tokens")
    new = tokens.create_token(
        person=user, name="test", scopes=scopes or ALL, days=days, actor=user.get_username()
    )
    return Program(new.token)


def program(role: str, *scopes: str, stores: tuple[str, ...] = ()) -> Program:
    """Return a program of an account of this role."""
    return program_of(account(role, stores=stores), *scopes)


def problem(answer: Any) -> dict[str, Any]:
    """Return the problem details of a refusal. Assert that every required field is there."""
    assert answer["Content-Type"] == "application/problem+json", answer.content
    found: dict[str, Any] = answer.json()
    assert found["status"] == answer.status_code
    assert found["type"].startswith("urn:retail-inventory:problem:")
    assert found["title"]
    assert found["detail"]
    assert found["next_step"]
    return found
