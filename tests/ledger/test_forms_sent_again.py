"""A form that is sent again has no further effect. With other values it is refused.

Sends forms of `tests.ledger.addresses` three times with one id: twice with the same values and once
with another value. A browser sends other values under the same id if a person goes back and edits.
"""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.test import Client

from tests.ledger.addresses import COMPANY_FORMS, FORMS, Form, sent
from tests.ledger.fingerprint import fingerprint
from tests.ledger.inbox import emptied
from tests.ledger.pages import logged_in
from tests.ledger.planted import PERSON, Store, plant

# The value that a person changes, by address. Left out are commands without an id, commands without
# a value, and forms that are refused with the values of `addresses`.
CHANGED: dict[str, Callable[[Store], Form]] = {
    "counts-begin": lambda s: {"location": s.partner},
    "counts-decide": lambda _: {"reason": "other"},
    "counts-void": lambda _: {"reason": "other"},
    "counts-adjust": lambda _: {"quantity_units": 2},
    "prices-decide": lambda _: {"reason": "other"},
    "ranging-item": lambda _: {"opening": "unknown"},
    "receiving-receive": lambda s: {
        f"received-{s.order_id}-0": 4,
        f"reason-{s.order_id}-0": "short",
    },
    "reorders-decide": lambda _: {"reason": "other"},
    "reorders-approve": lambda s: {"pick": f"2@{s.reorder_id}0"},
    "orders-act": lambda _: {"units": 2},
    "rejected-settle": lambda _: {"reason": "other"},
    "ledger_product_add": lambda _: {"name": "Newer"},
    "ledger_location_add": lambda _: {"name": "Newer"},
    "ledger_supplier_add": lambda _: {"name": "Newer"},
}


@pytest.fixture
def store(ledger: psycopg.Connection) -> Iterator[Store]:
    emptied(ledger)
    ledger.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
    yield plant(ledger, "MINE", 48_151)
    emptied(ledger)


@pytest.fixture
def almighty(store: Store) -> Iterator[Client]:
    people = import_module("ledger.people")  # here, because it needs Django set up
    user, _ = people.User.objects.get_or_create(username=PERSON)
    user.is_superuser = True
    user.save()
    people.write_memberships(user, everywhere=True)
    yield logged_in(user)
    user.is_superuser = False  # other files test the rights of the same person
    user.save()


@pytest.mark.parametrize("name", CHANGED)
def test_a_form_that_is_sent_again_with_another_value_is_refused(
    store: Store, almighty: Client, name: str
) -> None:
    path, fields = FORMS[name](store) if name in FORMS else COMPANY_FORMS[name]
    form = sent(fields)
    first: Any = almighty.post(path, form)
    assert first.status_code == 302, first.content.decode()
    before = fingerprint()

    again = almighty.post(path, form)
    changed: Any = almighty.post(
        path, form | {name: str(value) for name, value in CHANGED[name](store).items()}
    )

    page = changed.content.decode()
    assert again.status_code == 302
    assert changed.status_code == 409
    assert re.search(
        r"This form was already sent with different values, at .* UTC\. The new values", page
    )
    assert fingerprint() == before
    assert form["command_id"] not in page
