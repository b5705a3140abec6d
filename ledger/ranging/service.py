"""Ranging of one item by a person: key, product name and policy, without duplicates.

`range_items` accepts what importers know; a person must name an existing location and supplier.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from ledger.items.names import name_products
from ledger.items.reference import LONGEST_NAME
from ledger.items.service import range_item
from ledger.kernel import checks
from ledger.kernel.errors import refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.transactions import fetch_value
from ledger.ordering.supplier_terms import terms_of
from ledger.pricing.plausibility import require_plausible_policy

# A till may have sold at a location without a name; its item must not stay unknown.
_IS_PLACE: Final = """
SELECT EXISTS (SELECT FROM retail.location WHERE code = %s)
    OR EXISTS (SELECT FROM retail.item_location WHERE location = %s)
    OR EXISTS (SELECT FROM retail.sale_line WHERE inv_key = %s)
"""


class NewItem(NamedTuple):
    """An item for the range of a location.

    `name` "" leaves the product unnamed. `opening_units` None means that the stock is unknown;
    store staff then get a task to count it.
    """

    location: str
    sku: str
    policy: Mapping[str, object]
    name: str = ""
    opening_units: int | None = 0


@dataclass(frozen=True, slots=True)
class _Ranged:
    """The key of an item that was ranged."""

    inv_key: str


def range_new_item(
    *, item: NewItem, actor: str, is_confirmed: bool = True, command_id: UUID | None = None
) -> str:
    """Range an item and name its product, if it has no name; return its `inv_key`.

    Raise `ServiceError` for an unknown location or supplier and for a policy that breaks a limit,
    `Conflict` for an item that is ranged there already. Unless `is_confirmed`, amounts far from
    those of other locations are refused, see `plausibility`.
    """
    inv_key = checks.key(item.location, item.sku)

    def work() -> _Ranged:
        _check(item, inv_key)
        if not is_confirmed:
            require_plausible_policy(item.sku, inv_key, item.policy)
        if item.name:
            name_products(names={item.sku: item.name})
        range_item(
            location=item.location,
            sku=item.sku,
            policy=item.policy,
            opening_units=item.opening_units,
            actor=actor,
        )
        return _Ranged(inv_key)

    return run_command(
        command_id, f"range_item {inv_key}", actor, work, _Ranged, content=(item, is_confirmed)
    ).inv_key


def _check(item: NewItem, inv_key: str) -> None:
    if not fetch_value(_IS_PLACE, item.location, item.location, inv_key):
        refuse("location", item.location, "a location that we know")
    _refuse_unknown_supplier(item.policy.get("supplier"))
    if len(item.name) > LONGEST_NAME:
        refuse("name", item.name[:40], f"at most {LONGEST_NAME} characters")


def _refuse_unknown_supplier(code: object) -> None:
    if code is not None and not terms_of({str(code)})[str(code)].is_named:
        refuse("supplier", code, "a supplier that we know; add it first")
