"""Refusals of services on pages: in the person's language, with names instead of codes.

Services name stores, suppliers and items by code, for programs and the API. Pages show names. So
this module replaces codes by names, in the values of a `Message` and in the refused value of a
field. The keys of `_NAMES` name the values and fields that contain codes. An unknown code stays as
it is.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from ledger.kernel.errors import Conflict, ServiceError
from ledger.messages import Message
from webui.readmodel.names import item_at_store, store_name, supplier_name
from webui.translation import refusals
from webui.translation.messages import translate


def _item_name(inv_key: str) -> str:
    location, _, sku = inv_key.partition("|")
    return item_at_store(sku, location) if sku else inv_key


_NAMES: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType(
    {
        "location": store_name,
        "source": store_name,
        "destination": store_name,
        "supplier": supplier_name,
        "inv_key": _item_name,
    }
)


def named(text: str) -> str:
    """Return a service's text with the names of stores, suppliers and items instead of codes."""
    return text.with_values(_named_value) if isinstance(text, Message) else text


def _named_value(name: str, value: object) -> object:
    name_of = _NAMES.get(name)
    return name_of(value) if name_of and value and isinstance(value, str) else value


def refused_text(error: ServiceError) -> str:
    """Return the sentence that explains a refused value to a person."""
    value = _named_value(error.field, error.value)
    return refusals.refused_text(ServiceError(error.field, value, named(error.rule)))


def conflict_text(conflict: Conflict) -> str:
    """Return the sentences that explain a conflict to a person."""
    return type(conflict)(named(conflict.what_changed)).said(translate)
