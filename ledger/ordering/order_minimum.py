"""Comparison of orders with the suppliers' minimum order values."""

from collections.abc import Mapping

from inventory.explain.formatting import money_text
from ledger.kernel.amounts import amount_text
from ledger.kernel.errors import ServiceError
from ledger.messages import Message
from ledger.ordering.supplier_terms import Terms


def below_minimum(
    worth: Mapping[tuple[str, str], int], terms: Mapping[str, Terms]
) -> dict[tuple[str, str], ServiceError]:
    """Return a refusal for each order whose value is below its supplier's minimum.

    `worth` has the value of each order at cost, in minor units. Keys of `worth` and of the result
    are (supplier, location).
    """
    refused = {}
    for (code, location), value in worth.items():
        least, name = terms[code].minimum_order_minor, terms[code].name
        if value < least:
            rule = Message(
                "The order for %(location)s is worth %(value)s. The minimum of %(name)s is "
                "%(least)s. Pick more needs, allow orders below the minimum, or approve without "
                "sending",
                location=location,
                value=amount_text(value),
                name=name,
                least=amount_text(least),
            )
            refused[code, location] = ServiceError("order", money_text(value), rule)
    return refused
