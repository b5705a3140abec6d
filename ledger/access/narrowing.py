"""SQL of a page, limited to the stores of the person who requests it.

A page's SELECT names its tables as `retail.stock_count c`. For a person with a limited scope,
`narrowed` replaces each by `(SELECT * FROM retail.stock_count WHERE location = ANY(...)) c`.
Postgres flattens that, so indexes still work. New queries are narrowed in the same way. A relation
or function that is not declared here raises `UndeclaredRelation`. So a new table is denied until
its owner (a store, a person or all stores) is declared.
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

# Names and terms that every store shares, and the state of the pipeline.
COMPANY: Final = frozenset(
    {
        *("retail.product", "retail.supplier", "retail.pipeline_heartbeat"),
        *("read_model.sink_position", "read_model.heartbeat", "read_model.service_heartbeat"),
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
    "app.decision_event",
)
# The rows of a relation that belong to the stores in %(scope_stores)s.
CONDITIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_LOCATED, _BY_LOCATION),
    "retail.location": f"code {_MINE}",
    # A transfer belongs to both of its ends.
    "retail.shipment_line": f"""{_BY_LOCATION} OR (transfer_ref IS NOT NULL AND EXISTS (
        SELECT FROM retail.shipment_line end_of WHERE end_of.transfer_ref = mine.transfer_ref
        AND end_of.{_BY_LOCATION}))""",
    "read_model.sales_window": _BY_KEY,
    "read_model.late_sale": _BY_KEY,
    "app.diff_review_key": _BY_KEY,
    "read_model.rejected": f"split_part(app.key_text(key), '|', 1) {_MINE}",
    "app.rejected_mark": f"""EXISTS (SELECT FROM read_model.rejected r WHERE r.id = record_id
        AND split_part(app.key_text(r.key), '|', 1) {_MINE})""",
    "app.count_entry": f"""EXISTS (SELECT FROM app.count_sheet s WHERE s.id = sheet_id
        AND s.{_BY_LOCATION})""",
    "app.task": f"{_BY_LOCATION} OR kind = 'pipeline_stale'",
    # Entries name a location, a key, or an order all of whose lines are for these stores.
    "app.action_log": f"""split_part(subject, '|', 1) {_MINE} OR (
        EXISTS (SELECT FROM retail.purchase_order_line o WHERE o.order_ref = subject)
        AND NOT EXISTS (SELECT FROM retail.purchase_order_line o WHERE o.order_ref = subject
                        AND NOT o.{_BY_LOCATION}))""",  # noqa: S608 -- constants of this module
}
# Functions of one key or location, which `require_parameters` checks, or of a row's columns.
FUNCTIONS: Final = frozenset(
    {
        *("retail.price_at", "retail.stock_facts", "retail.stock_split", "retail.whereabouts"),
        *("retail.inbound_documents", "retail.business_at", "app.expected_at", "app.key_text"),
        *("app.count_tolerance", "app.last_count"),
    }
)
_NAMED: Final = re.compile(
    r"(?P<verb>\b(?:FROM|JOIN)\s+)?(?P<name>\b(?:retail|read_model|app)\.\w+)(?P<call>\s*\()?"
    r"(?:(?P<gap>\s+)(?:AS\s+)?(?P<alias>[a-z_]\w*))?"
)


# The search path of the pages' role finds a relation without its schema too.
_BARE_NAMES: Final = frozenset(name.partition(".")[2] for name in (*COMPANY, *CONDITIONS))
_BARE: Final = re.compile(r"(?<!DISTINCT )\b(?:FROM|JOIN)\s+(?P<name>[a-z_]\w*)\b(?!\s*[.(])")


class UndeclaredRelation(LookupError):
    """A page uses a table or function whose owner is not declared in this module."""


@lru_cache(maxsize=512)
def narrowed(sql: str) -> str:
    """Return the statement with every relation of a store limited to `%(scope_stores)s`."""
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
        f"{kind} {text.strip()!r} has no rule for stores: declare it in ledger/access/narrowing.py"
    )
    raise UndeclaredRelation(message)


def scoped(sql: str, parameters: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return statement and parameters for the current scope; unchanged if it is everywhere.

    Raises:
        OutOfScope: a parameter names a key or location of another store.
        UndeclaredRelation: see there.
    """
    scope = current()
    if scope.everywhere:
        return sql, parameters
    require_parameters(parameters)
    return narrowed(sql), {**parameters, STORES: sorted(scope.stores)}


def require_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise `OutOfScope` if `key` or `location` is given and belongs to another store."""
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
