"""The logic revision: the version number of the rules.

The number is part of the names of the consumer group and the changelogs. From revision 2 on it is
also part of the names of all output topics. If you change the rules so that a result changes, raise
`LOGIC_REVISION` and add an entry to `CHANGES`. `tests/golden/test_results.py` fails until both are
done. A revision that only sets parameters has its entry in `inventory/parameters/chosen.py`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from inventory.parameters import chosen

LOGIC_REVISION: Final = 2

CHANGES: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "first rules",
        2: "rulings R1 to R9: limits of proposed prices, prior price, refused records,"
        " negative windows",
    }
    | ({LOGIC_REVISION: chosen.CHANGE} if chosen.CHANGE else {})
)
