"""Products with codes: a mug with an EAN-13, a case of 12 and a supplier's code, and a lamp."""

import psycopg
import pytest

from ledger import services
from ledger.services import (
    DescribeGtin,
    DescribeProduct,
    DescribeSupplier,
    DescribeSupplierCode,
)

EAN = "4006381333931"
UNIT = f"0{EAN}"
CASE = "14006381333938"
OLD = "00000096385074"
NUMBER = "AC-4711"


@pytest.fixture
def coded(ledger: psycopg.Connection) -> psycopg.Connection:
    """Write the codes. `OLD` is a deactivated code of the lamp."""
    for command in (
        DescribeProduct("MUG", "Mug", "Kitchen"),
        DescribeProduct("LAMP", "Lamp", "Light"),
        DescribeSupplier("ACME", "Acme"),
        DescribeSupplier("BOLT", "Bolt"),
        DescribeGtin(UNIT, "MUG"),
        DescribeGtin(CASE, "MUG", 12),
        DescribeGtin(OLD, "LAMP", is_active=False),
        DescribeSupplierCode(f"ACME|{NUMBER}", "ACME", NUMBER, "MUG"),
    ):
        services.add_reference(command)
    ledger.execute("DELETE FROM app.action_chain; DELETE FROM app.action_log")
    return ledger
