"""Every address of the application, with a request about one store.

`FORMS` has the addresses that change something, with the form of their page. `PAGES` and the other
lists have addresses that only read. A test walks Django's URL patterns and fails for an address
that is missing here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from uuid import uuid4

from tests.ledger import admin_addresses
from tests.ledger.planted import SUPPLIER, Store

Form = dict[str, Any]


def _about(path: str, **query: object) -> str:
    return f"{path}?{urlencode(query)}"


# Logins, probes and pages of the own account. Other modules test them.
OPEN = frozenset(
    {
        *("login", "login-code", "invitation", "logout", "livez", "readyz"),
        # Files that a device installs. They contain no data.
        *("service-worker", "offline"),
        "language",
        *("second-factor", "sessions", "password", "password-changed", "tokens"),
        "api-openapi",
    }
)
# Other modules test the event stream, because its response doesn't end.
STREAMS = frozenset({"live-stream"})

# Pages about people don't depend on stores. Other modules test them.
PEOPLE = frozenset({"people", "people-add", "people-act"})
PEOPLE_FORMS: dict[str, tuple[str, Form]] = {
    "people-add": ("/people/add", {"person": "newcomer", "roles": "associate", "stores": "MINE-1"}),
    "people-act": ("/people/act", {"person": "visitor", "action": "disable"}),
}

# Lists: with the store in the address, and without, where they show the person's own stores.
LISTS: dict[str, str] = {
    "stock": "/",
    "stock-export": "/stock.csv",
    "find": "/find/?q=ASKED",
    "scan": "/scan/?q=ASKED",
    "scan-code": "/scan/code?q=ASKED",
    "labels": "/labels/?sku=ASKED",
    "tasks": "/tasks/?for=all",
    "counts": "/counts/",
    "counts-waiting": "/counts/waiting/",
    "counts-history": "/counts/history/",
    "counts-adjust": "/counts/adjust/",
    "receiving": "/receiving/",
    "transfers": "/transfers/",
    "reorders": "/reorders/",
    "orders": "/orders/",
    "suppliers": "/suppliers/",
    "supplier": f"/suppliers/{SUPPLIER}/",
    "ranging": "/range/",
    "prices": "/prices/",
    "demand": "/system/demand/",
    "audit": "/system/audit/",
    "home": "/home/",
}
# Pages without a store in the address, for every role that may read them.
COMPANY: dict[str, str] = {
    "system": "/system/",
    "workers": "/system/workers/",
    "rejected-records": "/system/rejected/",
    "proofs": "/system/proofs/",
    "tasks-version": "/tasks/version",
    "reorders-version": "/reorders/version",
    "prices-version": "/prices/version",
}
# Pages about every store, only for people who work everywhere.
COMPANY_PAGES: dict[str, str] = {
    **admin_addresses.PAGES,
    "people-refused": "/people/refused/",
    "webhooks": "/system/webhooks/",
    "history": "/history/",
    "history-request": "/history/requests/900003/",
    "history-differences": "/history/differences/",
    "history-difference": "/history/differences/900001/",
    "history-key": "/history/differences/900001/key?key=ROME-1%7CTEA",
    "history-reviews": "/history/reviews/",
    "history-review": "/history/reviews/900001/",
    "history-proofs": "/history/proofs/",
    "history-questions": "/history/questions/",
    "history-answer": "/history/answers/900002/",
    "history-answer-csv": "/history/answers/900002.csv",
}
# Pages about one record of a store.
PAGES: dict[str, Callable[[Store], str]] = {
    "item": lambda s: f"/items/{s.location}/ASKED",
    "prices-item": lambda s: f"/prices/items/{s.location}/ASKED",
    "counts-sheet": lambda s: f"/counts/sheets/{s.sheet_id}/",
    "receiving-order": lambda s: _about("/receiving/order", ref=s.order_ref),
    "reorders-need": lambda s: _about("/reorders/need", id=s.reorder_id),
    "order": lambda s: _about("/orders/order", ref=s.order_ref),
    "order-document": lambda s: _about("/orders/document", ref=s.order_ref),
    "order-csv": lambda s: _about("/orders/document.csv", ref=s.order_ref),
    "rejected": lambda s: f"/system/rejected/{quote(s.record_id)}",
}
FORMS: dict[str, Callable[[Store], tuple[str, Form]]] = {
    "counts-begin": lambda s: ("/counts/sheets/", {"location": s.location}),
    "counts-entries": lambda s: (
        f"/counts/sheets/{s.sheet_id}/entries",
        {"sku": "ASKED", "units": 1},
    ),
    "counts-undo": lambda s: (f"/counts/sheets/{s.sheet_id}/undo", {"entry_id": s.entry_id}),
    "counts-submit": lambda s: (f"/counts/sheets/{s.sheet_id}/submit", {}),
    "counts-decide": lambda s: (
        "/counts/waiting/decide",
        {"subject": f"count-{s.draft_id}", "action": "refuse", "reason": "spoilt"},
    ),
    "counts-void": lambda s: (
        "/counts/history/void",
        {"count_id": s.count_id, "reason": "spoilt"},
    ),
    "counts-adjust": lambda s: (
        "/counts/adjust/",
        {
            "location": s.location,
            "sku": "ASKED",
            "reason": "theft",
            "quantity_units": 1,
            "action": "book",
        },
    ),
    "item-policy": lambda s: (
        _about("/items/policy", location=s.location, sku="ASKED"),
        {"shown_recorded_at": "x", "auto_max": "5.00"},
    ),
    "prices-item-change": lambda s: (
        f"/prices/items/{s.location}/ASKED/change",
        {"action": "manual", "price": "9.00", "proposal": "x", "shown_revision": 1},
    ),
    "prices-decide": lambda s: (
        "/prices/decide",
        {"proposal": s.proposal_id, "shown_revision": 1, "action": "reject", "reason": "no"},
    ),
    "ranging-item": lambda s: (
        "/range/item",
        {"location": s.location, "sku": "NEW", "opening": "zero"},
    ),
    "receiving-receive": lambda s: (
        _about("/receiving/receive", ref=s.order_ref),
        {
            "accept": "rest",
            f"shown-{s.order_id}-0": 5,
            f"expected-{s.order_id}-0": 5,
            f"received-{s.order_id}-0": 5,
        },
    ),
    "receiving-correct": lambda s: (
        _about("/receiving/correct", ref=s.order_ref),
        {"receipt": s.receipt_id, "received": 4, "damaged": 0, "reason": "short"},
    ),
    "reorders-decide": lambda s: (
        "/reorders/decide",
        {"proposal": s.reorder_id, "shown_revision": 1, "action": "reject", "reason": "no"},
    ),
    "reorders-approve": lambda s: ("/reorders/approve", {"pick": f"1@{s.reorder_id}"}),
    "reorders-sends": lambda s: ("/reorders/sends", {"send": s.send_id, "action": "undo"}),
    "orders-send": lambda s: ("/orders/send", {"pick": f"0@@{s.order_ref}"}),
    "orders-act": lambda s: (
        _about("/orders/act", ref=s.order_ref),
        {"action": "ship", "line": s.order_id, "units": 1},
    ),
    "rejected-settle": lambda s: (
        f"/system/rejected/{quote(s.record_id)}/settle",
        {"proposal": s.record_id, "shown_revision": 0, "action": "dismiss", "reason": "seen"},
    ),
    "tasks-acknowledge": lambda s: (
        "/tasks/acknowledge",
        {"proposal": s.task_id, "shown_revision": -3, "action": "acknowledge"},
    ),
    "transfers-ask": lambda s: (
        "/transfers/ask",
        {
            "source": s.location,
            "destination": s.partner,
            "sku": "ASKED",
            "units": 1,
            "action": "plan",
        },
    ),
    "transfers-step": lambda s: (
        "/transfers/step",
        {"transfer": s.transfer_id, "action": "cancel"},
    ),
}
# Forms whose change has an effect in every store, only for people who work everywhere.
COMPANY_FORMS: dict[str, tuple[str, Form]] = {
    "codes-import": ("/codes/import", {"rows": "sku,code\nA,96385074", "action": "import"}),
    **admin_addresses.FORMS,
    "counts-limit": ("/counts/limit", {"limit": "50.00", "shown_minor": 10_000}),
    "prices-stop": ("/prices/stop", {"stop": "1"}),
    "webhooks-act": ("/system/webhooks/act", {"webhook": 1, "action": "stop"}),
    "history-ask": ("/history/ask", {"kind": "compare", "a": "2", "b": "3"}),
    "history-act": ("/history/requests/900003/act", {"action": "confirm"}),
    "history-review-act": (
        "/history/reviews/900001/act",
        {"action": "approved", "reason": "checked", "growth": 0},
    ),
    "supplier-terms": ("/suppliers/terms", {"supplier": SUPPLIER}),
}


class Call(NamedTuple):
    """A request of the API about a store: method, address, and the body of a command."""

    name: str
    method: str
    path: Callable[[Store], str]
    body: Callable[[Store], dict[str, Any]] | None = None


def _item(kind: str) -> Callable[[Store], str]:
    return lambda s: f"/api/v1/{kind}/{s.location}/ASKED"


# The catalogue is the same for every store, so its lists name none.
API_CATALOGUE = frozenset({"api-listCodes"})
# Lists of the API: they show the owner's own stores.
API_LISTS: dict[str, str] = {
    "api-listStock": "/api/v1/stock",
    "api-listCodes": "/api/v1/codes",
    "api-listNeeds": "/api/v1/needs",
    "api-listOrders": "/api/v1/orders",
    "api-listPrices": "/api/v1/prices",
    "api-listPriceProposals": "/api/v1/price-proposals",
    "api-listDecisions": "/api/v1/decisions",
    "api-listWaitingCounts": "/api/v1/counts",
    "api-listDueOrders": "/api/v1/receipts",
    "api-listTransfers": "/api/v1/transfers",
}
# The response doesn't end. tests/ledger/test_api_documentation.py reads it.
API_STREAMS = frozenset({"api-streamDecisions"})
API_CALLS: tuple[Call, ...] = (
    Call("api-getStock", "GET", _item("stock")),
    Call("api-getNeed", "GET", lambda s: f"/api/v1/needs/{quote(s.reorder_id)}"),
    Call("api-getOrder", "GET", lambda s: f"/api/v1/orders/{s.order_ref}"),
    Call("api-getPrices", "GET", _item("prices")),
    Call(
        "api-getPriceProposal",
        "GET",
        lambda s: f"/api/v1/price-proposals/{quote(s.proposal_id)}",
    ),
    Call(
        "api-getNeed",
        "POST",
        lambda s: f"/api/v1/needs/{quote(s.reorder_id)}",
        lambda _: {"action": "reject", "revision": 1, "reason": "no"},
    ),
    Call(
        "api-listNeeds",
        "POST",
        lambda _: "/api/v1/needs",
        lambda s: {"approvals": [{"need_id": s.reorder_id, "revision": 1}]},
    ),
    Call(
        "api-getOrder",
        "POST",
        lambda s: f"/api/v1/orders/{s.order_ref}",
        lambda _: {"action": "send", "version": "0@"},
    ),
    Call(
        "api-changeOrderLine",
        "POST",
        lambda s: f"/api/v1/order-lines/{s.order_id}",
        lambda _: {"action": "ship", "units": 1},
    ),
    Call(
        "api-getPrices",
        "POST",
        _item("prices"),
        lambda _: {"action": "set", "newest_id": 0, "price_minor": 900},
    ),
    Call(
        "api-getPriceProposal",
        "POST",
        lambda s: f"/api/v1/price-proposals/{quote(s.proposal_id)}",
        lambda _: {"action": "reject", "revision": 1, "reason": "no"},
    ),
    Call(
        "api-listWaitingCounts",
        "POST",
        lambda _: "/api/v1/counts",
        lambda s: {"location": s.location, "counts": [{"sku": "ASKED", "units": 1}]},
    ),
    Call(
        "api-decideCount",
        "POST",
        lambda s: f"/api/v1/counts/{s.draft_id}",
        lambda _: {"action": "refuse", "reason": "spoilt"},
    ),
    Call("api-getDelivery", "GET", lambda s: f"/api/v1/receipts/{s.order_ref}"),
    Call(
        "api-getDelivery",
        "POST",
        lambda s: f"/api/v1/receipts/{s.order_ref}",
        lambda s: {
            "action": "receive",
            "lines": [
                {
                    "line_id": s.order_id,
                    "expected_units": 5,
                    "open_units": 5,
                    "received_units": 5,
                }
            ],
        },
    ),
    Call(
        "api-listTransfers",
        "POST",
        lambda _: "/api/v1/transfers",
        lambda s: {
            "action": "plan",
            "source": s.location,
            "destination": s.partner,
            "sku": "ASKED",
            "units": 1,
        },
    ),
    Call(
        "api-moveTransfer",
        "POST",
        lambda s: f"/api/v1/transfers/{s.transfer_id}",
        lambda _: {"action": "cancel"},
    ),
)
# Operations about the caller's own account, not about a store.
API_OWN_CALLS: tuple[Call, ...] = (
    Call("api-listWebhooks", "GET", lambda _: "/api/v1/webhooks"),
    Call(
        "api-listWebhooks",
        "POST",
        lambda _: "/api/v1/webhooks",
        lambda _: {"url": "https://example.com/hooks"},
    ),
    Call("api-getWebhook", "GET", lambda _: "/api/v1/webhooks/1"),
    Call("api-getWebhook", "POST", lambda _: "/api/v1/webhooks/1", lambda _: {"action": "stop"}),
    Call("api-getPriceStop", "GET", lambda _: "/api/v1/price-stop"),
)
# Operations with an effect in every store, only for people who work everywhere.
API_COMPANY_CALLS: tuple[Call, ...] = (
    Call(
        "api-getPriceStop",
        "POST",
        lambda _: "/api/v1/price-stop",
        lambda _: {"action": "stop"},
    ),
)
API = {
    *(*API_LISTS, *API_STREAMS),
    *(call.name for call in (*API_CALLS, *API_OWN_CALLS, *API_COMPANY_CALLS)),
}


def sent(form: Form) -> Form:
    """Return the form as texts, with a new command id like every form of a page."""
    return {"command_id": str(uuid4())} | {name: str(value) for name, value in form.items()}
