"""The command by which a person ranges one item at a location.

The supplier of the policy must exist. The location must exist, too, or must have sold the item.
Importers use `ledger.items.service.range_items`, which doesn't check this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from ledger.items.names import check_location, name_products, refuse_other_case
from ledger.items.reference import DescribeProduct
from ledger.items.service import range_item
from ledger.kernel import checks
from ledger.kernel.errors import refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.transactions import fetch_value
from ledger.ordering.supplier_terms import terms_of
from ledger.pricing.plausibility import require_plausible_policy

# A till may have sold an item at an unknown location. That item can be ranged there too.
_IS_SOLD: Final = "SELECT EXISTS (SELECT FROM retail.sale_line WHERE inv_key = %s)"


class NewItem(NamedTuple):
    """An item to range, which means: to give a policy at a location.

    With `name` "" no product is added. `opening_units` are the units of the opening count. With
    None, the item's stock is unknown, and store staff get a task to count the item.
    """

    location: str
    sku: str
    policy: Mapping[str, object]
    name: str = ""
    opening_units: int | None = 0


@dataclass(frozen=True, slots=True)
class _Ranged:
    """The stored result of the command: the key of the new item."""

    inv_key: str


def range_new_item(
    *, item: NewItem, actor: str, is_confirmed: bool = True, command_id: UUID | None = None
) -> str:
    """Write an item's policy at a location (range it); return its `inv_key`.

    If the product is new and `item.name` isn't empty, add the product too.

    Raises:
        ServiceError: unknown location or supplier, a policy that breaks a limit, or a new SKU that
            differs from a known one only in upper and lower case.
        ImplausiblePrice: without `is_confirmed`, a cost or price far from those of other locations.
        Conflict: the item is ranged there already.
    """
    inv_key = checks.key(item.location, item.sku)

    def work() -> _Ranged:
        _check(item, inv_key)
        if not is_confirmed:
            require_plausible_policy(item.sku, inv_key, item.policy)
        # A known product keeps its name, which an import may have written.
        if item.name and name_products(names={item.sku: item.name}):
            DescribeProduct(item.sku, item.name).check()
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
    if not fetch_value(_IS_SOLD, inv_key):
        check_location(item.location)
    refuse_other_case("sku", item.sku)
    _refuse_unknown_supplier(item.policy.get("supplier"))


def _refuse_unknown_supplier(code: object) -> None:
    if code is not None and not terms_of({str(code)})[str(code)].is_named:
        refuse("supplier", code, "no such supplier: add the supplier first, or check the code")
