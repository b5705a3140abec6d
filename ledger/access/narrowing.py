"""Limit the SELECT statements of a page to the stores of the person who requests it.

A page's SELECT names its tables as `retail.stock_count c`. The stores that a person may see are the
person's *scope*. If the scope does not have all stores, `narrowed` replaces each table by
`(SELECT * FROM retail.stock_count WHERE location = ANY(...)) c`. Postgres flattens that subquery,
so indexes still work.

This module declares every table that a page uses. `CONDITIONS` maps a table to the condition
that selects the rows of the person's stores. `COMPANY` lists the tables that every person may read.
`FUNCTIONS` lists the functions that a query may call. A query with an undeclared table or function
raises `UndeclaredRelation`. So a page can't show a new table before a developer has declared who
may see its rows.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NoReturn

from ledger.access.scope import OutOfScope, current, require_key, require_store

STORES: Final = "scope_stores"
_MINE: Final = f"= ANY(%({STORES})s)"
_BY_LOCATION: Final = f"location {_MINE}"
_BY_KEY: Final = f"split_part(inv_key, '|', 1) {_MINE}"

# Tables whose rows every person may read: names, settings, and the state of the pipeline.
COMPANY: Final = frozenset(
    {
        *("retail.product", "retail.supplier", "retail.pipeline_heartbeat"),
        *("retail.gtin", "retail.supplier_code"),
        *("read_model.sink_position", "read_model.heartbeat", "read_model.service_heartbeat"),
        *("read_model.service_error", "read_model.restore"),
        *("app.setting", "app.command", "app.inbox_mark", "app.revision_switch"),
        *("app.location_region", "app.proof"),
    }
)
_LOCATED: Final = (
    *("retail.item_location", "retail.sale_line", "retail.stock_adjustment", "retail.stock_count"),
    *("retail.price_change", "retail.price_decision", "retail.reorder_decision"),
    *("retail.purchase_order_line", "retail.movement", "retail.approved_count", "retail.inbound"),
    *("read_model.stock", "app.adjustment_request", "app.count_sheet", "app.location_hour"),
    *("app.price_proposal", "app.reorder_proposal", "app.purchase_order", "app.scorecard"),
    *("app.decision_event", "app.pending_item"),
)
# Maps a table to the condition that selects the rows of the stores in %(scope_stores)s.
CONDITIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_LOCATED, _BY_LOCATION),
    "retail.location": f"code {_MINE}",
    # A transfer has one row at its source and one at its destination. People of either location
    # see both rows.
    "retail.shipment_line": f"""{_BY_LOCATION} OR (transfer_ref IS NOT NULL AND EXISTS (
        SELECT FROM retail.shipment_line end_of WHERE end_of.transfer_ref = mine.transfer_ref
        AND end_of.{_BY_LOCATION}))""",
    "read_model.sales_window": _BY_KEY,
    "read_model.late_sale": _BY_KEY,
    "app.diff_review_key": _BY_KEY,
    "app.history_difference": f"store {_MINE}",
    "read_model.rejected": f"split_part(app.key_text(key), '|', 1) {_MINE}",
    "app.rejected_mark": f"""EXISTS (SELECT FROM read_model.rejected r WHERE r.id = record_id
        AND split_part(app.key_text(r.key), '|', 1) {_MINE})""",
    "app.count_entry": f"""EXISTS (SELECT FROM app.count_sheet s WHERE s.id = sheet_id
        AND s.{_BY_LOCATION})""",
    # A waiting send may have needs and orders of several stores. Only people who work for all of
    # these stores see the send.
    "app.pending_send": f"""NOT EXISTS (SELECT FROM app.pending_item i WHERE i.send_id = id
        AND NOT i.{_BY_LOCATION})""",
    "app.task": f"{_BY_LOCATION} OR kind = 'pipeline_stale'",
    # The subject of an audit entry may be a location, a key or an order. A person sees an entry
    # about an order only if all lines of that order are for the person's stores.
    "app.action_log": f"""split_part(subject, '|', 1) {_MINE} OR (
        EXISTS (SELECT FROM retail.purchase_order_line o WHERE o.order_ref = subject)
        AND NOT EXISTS (SELECT FROM retail.purchase_order_line o WHERE o.order_ref = subject
                        AND NOT o.{_BY_LOCATION}))""",  # noqa: S608 -- constants of this module
}
# Functions that a page may call. `narrowed` leaves these calls unchanged, because their arguments
# can't name another store. An argument is a column of a narrowed row, or a key or location that
# `require_parameters` has checked.
FUNCTIONS: Final = frozenset(
    {
        *("retail.price_at", "retail.stock_facts", "retail.stock_split", "retail.whereabouts"),
        *("retail.inbound_documents", "retail.business_at", "app.expected_at", "app.key_text"),
        *("app.count_tolerance", "app.last_count", "app.is_item"),
        *("retail.search_words", "retail.search_terms"),
        *("retail.search_shapes", "retail.word_shapes"),
    }
)
_NAMED: Final = re.compile(
    r"(?P<verb>\b(?:FROM|JOIN)\s+)?(?P<name>\b(?:retail|read_model|app)\.\w+)(?P<call>\s*\()?"
    r"(?:(?P<gap>\s+)(?:AS\s+)?(?P<alias>[a-z_]\w*))?"
)


# If a query names a table without its schema, Postgres finds the table through the search path.
# `narrowed` refuses such a query, because its rows wouldn't be limited to stores.
_BARE_NAMES: Final = frozenset(name.partition(".")[2] for name in (*COMPANY, *CONDITIONS))
_BARE: Final = re.compile(r"(?<!DISTINCT )\b(?:FROM|JOIN)\s+(?P<name>[a-z_]\w*)\b(?!\s*[.(])")


class UndeclaredRelation(LookupError):
    """A page uses a table or function that is not declared in this module."""


@lru_cache(maxsize=512)
def narrowed(sql: str) -> str:
    """Return the SELECT statement with each table of `CONDITIONS` limited to a list of stores.

    The caller executes the returned statement with the store codes as parameter `scope_stores`.

    Raises:
        UndeclaredRelation: a table or function is not declared, or a table is named without schema.
    """
    for found in _BARE.finditer(sql):
        is_subquery = re.search(rf"\b{found['name']}\s+AS\s+(?:MATERIALIZED\s+)?\(", sql)
        if found["name"] in _BARE_NAMES and not is_subquery:
            _refuse_undeclared("relation without a schema", found["name"])
    return _NAMED.sub(_narrowed_relation, sql)


def _narrowed_relation(found: re.Match[str]) -> str:
    name, text = found["name"], found[0]
    if found["call"]:
        if name not in FUNCTIONS:
            _refuse_undeclared("function", name)
        return text
    if name in COMPANY:
        return text
    if name not in CONDITIONS or not found["verb"]:
        _refuse_undeclared("relation", text)
    alias = found["alias"] or name.partition(".")[2]
    rows = f"(SELECT * FROM {name} mine WHERE {CONDITIONS[name]})"  # noqa: S608 -- constants of this module
    return f"{found['verb']}{rows} AS {alias}"


def _refuse_undeclared(kind: str, text: str) -> NoReturn:
    message = (
        f"{kind} {text.strip()!r} is not declared, so the query was not run;"
        " declare it in ledger/access/narrowing.py, with the condition that selects a store's rows"
    )
    raise UndeclaredRelation(message)


def scoped(sql: str, parameters: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return `sql` and `parameters`, limited to the stores that the requesting person may see.

    If the person may see all stores, return `sql` and `parameters` unchanged.

    Raises:
        OutOfScope: parameter `key` or `location` names a store outside the scope.
        UndeclaredRelation: a table or function is not declared, or a table is named without schema.
    """
    scope = current()
    if scope.everywhere:
        return sql, parameters
    require_parameters(parameters)
    return narrowed(sql), {**parameters, STORES: sorted(scope.stores)}


def require_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise `OutOfScope` if parameter `key` or `location` names a store outside the scope."""
    key, location = str(parameters.get("key", "")), str(parameters.get("location", ""))
    if key.partition("|")[0]:
        require_key(key)
    if location:
        require_store(location)


__all__ = [
    "COMPANY",
    "CONDITIONS",
    "FUNCTIONS",
    "STORES",
    "OutOfScope",
    "UndeclaredRelation",
    "narrowed",
    "scoped",
]
