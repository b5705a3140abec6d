"""A search for the few facts that a restore needs in a level's bytes, without parsing them.

Parsing all levels would take most of the time of a restore, and most levels are not needed soon.
The bytes are canonical JSON (`cdc.contracts.state`) with sorted names, so the names before and
after each value are known. Bytes of any other form are parsed instead.
"""

import re
from typing import Final

import orjson

from cdc.contracts.state import decode_level
from cdc.contracts.state_documents import SCHEMA
from inventory.model.ids import InvKey
from inventory.model.value import value
from inventory.revision import LOGIC_REVISION
from streams.engine.store import has_open

_KEY: Final = b',"inv_key":"'
_REVISION: Final = b'","logic_revision":%d,"order_up_to_units":' % LOGIC_REVISION
_SCHEMA: Final = b',"schema":%d,"stock":{' % SCHEMA
_STATE: Final = b',"state":"'
_STATE_END: Final = b'","until_us":'
_PRICE: Final = b'"price_episode":{"blocked_until_us":'
_ID: Final = b',"id":'
_ROWS: Final = b',"rows":['
_ROWS_END: Final = b'],"safety_stock_units":'
_START: Final = re.compile(rb'"start_us":(-?\d+)')


@value
class LevelFacts:
    """The facts of a level: its key and the starts of the window rows that it contains.

    `is_open` is True if the key has an open need or price proposal.
    """

    key: InvKey
    is_open: bool
    carried: tuple[int, ...]


def scan_level(content: bytes) -> LevelFacts:
    """Return the facts of `content`, one level.

    Raises:
        UnknownVersion: another version of this code wrote `content`.
        UnreadableRecord: `content` is no level of this version.
    """
    return _scanned(content) or _parsed(content)


def _parsed(content: bytes) -> LevelFacts:
    state, _dropped = decode_level(content)
    return LevelFacts(state.key, has_open(state), tuple(sorted(state.windows)))


def _scanned(content: bytes) -> LevelFacts | None:
    """Return the facts without parsing, or None if the bytes don't have the expected form."""
    revision = content.find(_REVISION)
    key = content.rfind(_KEY, 0, revision)
    rows = content.find(_ROWS, revision)
    end = content.find(_ROWS_END, rows)
    is_whole = content.startswith(b"{") and content.endswith(b"}") and _SCHEMA in content[end:]
    is_open = _is_open(content)
    if min(revision, key, rows, end) < 0 or not is_whole or is_open is None:
        return None
    name = orjson.loads(content[key + len(_KEY) - 1 : revision + 1])
    starts = _START.findall(content, rows, end)
    return LevelFacts(InvKey(name), is_open, tuple(map(int, starts)))


def _is_open(content: bytes) -> bool | None:
    end = content.find(_STATE_END)
    state = content.rfind(_STATE, 0, end)
    price = content.find(_PRICE, end)
    proposal = content.find(_ID, price)
    if min(end, state, price, proposal) < 0:
        return None
    is_proposed = not content.startswith(b"null", proposal + len(_ID))
    return is_proposed or content[state + len(_STATE) : end] == b"open"
