"""A search in the bytes of a level, without parsing, for the few facts that a restore needs.

Parsing all levels would take most of the time of a restore, and most levels are not needed soon.
The bytes are canonical JSON (`cdc.contracts.state`) with sorted names, so the names before and
after each value are known. Bytes of any other form are parsed instead.
"""

from typing import Final

import orjson

from cdc.contracts.state import decode_level
from cdc.contracts.state_documents import SCHEMA
from inventory.model.ids import InvKey
from inventory.model.value import value
from inventory.revision import LOGIC_REVISION
from streams.engine.level_rows import ROWS, ROWS_END
from streams.engine.store import has_open

_KEY: Final = b',"inv_key":"'
_REVISION: Final = b'","logic_revision":%d,"order_up_to_units":' % LOGIC_REVISION
_SCHEMA: Final = b',"schema":%d,"stock":{' % SCHEMA
_STATE: Final = b',"state":"'
_STATE_END: Final = b'","until_us":'
_PRICE: Final = b'"price_episode":{"blocked_until_us":'
_ID: Final = b',"id":'
_START: Final = b'"start_us":'


@value
class LevelFacts:
    """The facts that a restore needs of a level, the changelog's record of a key's state.

    `is_open` is True if the key has an open need or price proposal. `rows_in_level` is the
    number of its window rows.
    """

    key: InvKey
    is_open: bool
    rows_in_level: int


def scan_level(content: bytes) -> LevelFacts:
    """Return the facts of `content`, one level.

    Raises:
        UnknownVersion: another version of this code wrote `content`.
        UnreadableRecord: `content` is no level of this version.
    """
    return _scanned(content) or _parsed(content)


def _parsed(content: bytes) -> LevelFacts:
    state, _dropped = decode_level(content)
    return LevelFacts(state.key, has_open(state), len(state.windows))


def _scanned(content: bytes) -> LevelFacts | None:
    """Return the facts without parsing, or None if the bytes don't have the expected form."""
    # Each search begins where the last one found its text. If that text is missing (-1), the search
    # begins at the last byte and returns -1, too.
    state_end = content.find(_STATE_END)
    revision = content.find(_REVISION, state_end)
    price = content.find(_PRICE, revision)
    proposal = content.find(_ID, price)
    rows = content.find(ROWS, proposal)
    end = content.find(ROWS_END, rows)
    if content.find(_SCHEMA, end) < 0 or not content.startswith(b"{") or content[-1:] != b"}":
        return None
    key = content.rfind(_KEY, state_end, revision)
    state = content.rfind(_STATE, 0, state_end)
    if key < 0 or state < 0:
        return None
    is_proposed = not content.startswith(b"null", proposal + len(_ID))
    is_open = is_proposed or content[state + len(_STATE) : state_end] == b"open"
    name = orjson.loads(content[key + len(_KEY) - 1 : revision + 1])
    return LevelFacts(InvKey(name), is_open, content.count(_START, rows, end))
