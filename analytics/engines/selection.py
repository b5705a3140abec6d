"""The keys that a run computes: all, or those of some stores, items, keys or suppliers.

A run of some keys answers questions about them. Such a run can't be published, because workers
need the states of all keys.
"""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Final

from analytics.archive.rows import ArchiveRow
from cdc.contracts.decode import Malformed, decode
from inventory.tables.item_location import TABLE


@dataclass(frozen=True, slots=True)
class Selection:
    """Keys that match at least one value of each field. An empty field matches every key.

    A key matches a supplier if any of its archived policy rows names that supplier.
    """

    keys: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    suppliers: tuple[str, ...] = ()

    @property
    def is_all(self) -> bool:
        """Return True if every key is selected."""
        return self == EVERYTHING

    def has_key(self, key: bytes | None) -> bool:
        """Return True if the key matches `keys`, `stores` and `items`. Ignore `suppliers`."""
        text = "" if key is None else key.decode("utf-8", "replace")
        store, _, item = text.partition("|")
        wanted = ((self.keys, text), (self.stores, store), (self.items, item))
        return all(not chosen or found in chosen for chosen, found in wanted)

    def has_supplier(self, row: ArchiveRow) -> bool:
        """Return True if the record is a policy row of one of the suppliers."""
        if row.table != TABLE.name:
            return False
        try:
            image = decode(row.key, row.value, offset=row.offset).after
        except Malformed:
            return False
        return isinstance(image, dict) and image.get("supplier") in self.suppliers

    def text(self) -> str:
        """Return the selection in one line, `all keys` if it has no condition."""
        names = ("key", "store", "item", "supplier")
        parts = [
            f"{name} {' or '.join(chosen)}"
            for name, chosen in zip(names, astuple(self), strict=True)
            if chosen
        ]
        return ", ".join(parts) or "all keys"


EVERYTHING: Final = Selection()


def keys_of_suppliers(selection: Selection, rows: Iterable[ArchiveRow]) -> frozenset[bytes]:
    """Return the keys of `rows` that match the selection and one of its suppliers."""
    return frozenset(
        row.key
        for row in rows
        if row.key is not None and selection.has_key(row.key) and selection.has_supplier(row)
    )
