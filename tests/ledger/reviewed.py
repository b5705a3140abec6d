"""Reviews of one difference, and the people who take part in them."""

from importlib import import_module
from typing import Any

import psycopg

from deploy.revisions.approval import Approval, approval_of
from tests.ledger.staff import PASSWORD

DIGEST, OTHER = "ab" * 32, "cd" * 32
KEYS = {("reorder", "L1|TEA"), ("reorder", "L1|SOAP"), ("price", "L1|TEA")}
OURS, THEIRS = 2, 3


def person(name: str, role: str) -> None:
    people = import_module("ledger.people")
    user, _ = people.User.objects.get_or_create(username=name)
    user.set_password(PASSWORD)
    user.is_active = True
    user.save()
    user.groups.set([people.create_roles()[role]])


def request(
    service: Any,
    *,
    actor: str = "ada",
    digest: str = DIGEST,
    keys: Any = KEYS,
    code: str = "0123456789abcdef",
) -> Any:
    wanted = service.RequestReview(
        digest=digest,
        former=OURS,
        revision=THEIRS,
        code=code,
        runs=("local-a", "local-b"),
        summary={"decisions_differing": len(keys)},
        keys=keys,
    )
    return service.request_review(wanted, actor=actor)


def decision(service: Any, verdict: str = "approved", **given: Any) -> Any:
    return service.Decision(verdict, **given)


def approved(service: Any) -> Any:
    return service.decide_review(
        request(service), decision(service, reason="checked"), actor="olga"
    )


def approval(sinks: psycopg.Connection, digest: str = DIGEST[:12]) -> Approval:
    return approval_of(sinks, digest, former=OURS, revision=THEIRS)
