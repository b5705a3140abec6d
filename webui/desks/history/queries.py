"""Queries of the desk History: differences, proofs, and switches of the deciding revision."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cdc.deciding import is_reversible
from ledger.kernel.rows import select, select_value
from webui.desks.history.wording import CLASSES, REORDER, column_title

PAGE_ROWS: Final = 50
MOST_PROOFS: Final = 60

# The groups of `backfill diff` have the value `-` for differences without a supplier or reason.
_FITS: Final = """
WHERE d.request = %(request)s AND d.kind = %(kind)s
  AND (%(how)s = '' OR d.how = %(how)s)
  AND (%(store)s = '' OR d.store = %(store)s)
  AND (%(supplier)s = '' OR coalesce(nullif(d.supplier, ''), '-') = %(supplier)s)
  AND (%(reason)s = '' OR coalesce(nullif(d.reason, ''), '-') = %(reason)s)
  AND (%(week)s = '' OR d.week = %(week)s)
  AND (%(key)s = '' OR d.inv_key = %(key)s)
"""
_ROWS: Final = f"""
SELECT d.rank, d.kind, d.how, d.inv_key, d.store, d.supplier, d.reason, d.week, d.delta_minor,
       d.detail
FROM app.history_difference d {_FITS} ORDER BY d.rank LIMIT %(most)s OFFSET %(behind)s
"""  # noqa: S608 -- constants of this module
_COUNT: Final = f"SELECT count(*) FROM app.history_difference d {_FITS}"  # noqa: S608 -- constants of this module
_PROOFS: Final = """
SELECT p.finished_at, p.run, p.base, p.logic_revision, p.keys_compared, p.keys_differing,
       p.decisions_compared, p.decisions_differing, p.seconds, p.digest,
       ARRAY(SELECT coalesce(d->>'key', d->>'id')
             FROM jsonb_array_elements(p.differences) d) AS named
FROM app.proof p ORDER BY p.id DESC LIMIT %(most)s
"""
_SWITCHES: Final = """
SELECT s.revision, s.former, s.comparison ? 'rollback' AS is_rollback, s.switched_by, s.switched_at
FROM app.revision_switch s ORDER BY s.id DESC LIMIT 2
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One difference of a comparison. `detail` has all its columns, named as in `backfill diff`.

    Columns of run A begin with `a_`, and columns of run B with `b_`. If a run didn't make
    the decision, the columns of this run are absent.
    """

    rank: int
    kind: str
    how: str
    inv_key: str
    store: str
    supplier: str
    reason: str
    week: str
    delta_minor: int
    detail: Mapping[str, Any]

    @property
    def sku(self) -> str:
        """Return the SKU."""
        return self.inv_key.partition("|")[2]

    @property
    def a_amount(self) -> int | None:
        """Return A's quantity in units, or A's price in minor units; None if A has no decision."""
        return self._amount("a")

    @property
    def b_amount(self) -> int | None:
        """Return B's quantity in units, or B's price in minor units; None if B has no decision."""
        return self._amount("b")

    def _amount(self, side: str) -> int | None:
        name = "quantity_units" if self.kind == REORDER else "new_minor"
        found: int | None = self.detail.get(f"{side}_{name}")
        return found

    @property
    def how_text(self) -> str:
        """Return the class of the difference as the page names it, for example `Only A`."""
        return CLASSES.get(self.how, self.how)

    @property
    def reason_text(self) -> str:
        """Return the name of the first input or step that differs, without the unit's suffix."""
        return column_title(self.reason)


@dataclass(frozen=True, slots=True)
class RecordedProof:
    """One proof: a comparison of the live state with a recomputation.

    `base` is None if the recomputation started at the first record. `seconds` is the duration.
    `named` lists the first keys that differed, and the first ids of decisions that differed.
    """

    finished_at: datetime
    run: str
    base: str | None
    logic_revision: int
    keys_compared: int
    keys_differing: int
    decisions_compared: int
    decisions_differing: int
    seconds: int
    digest: str
    named: list[str]

    @property
    def is_equal(self) -> bool:
        """Return True if no key and no decision differed."""
        return not self.keys_differing and not self.decisions_differing


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch to another deciding logic revision.

    `former` is the revision that decided before; None for the first switch.
    """

    revision: int
    former: int | None
    is_rollback: bool
    switched_by: str
    switched_at: datetime

    @property
    def may_be_reversed(self) -> bool:
        """Return True if a rollback may follow: this is neither the first switch nor a rollback."""
        return is_reversible(self.former, is_rollback=self.is_rollback)


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters for the differences of a comparison; an empty text filters nothing."""

    kind: str
    how: str = ""
    store: str = ""
    supplier: str = ""
    reason: str = ""
    week: str = ""
    key: str = ""

    def parameters(self, request: int) -> dict[str, object]:
        """Return the SQL parameters: the number of the request, and the filters by name."""
        return {"request": request} | {name: getattr(self, name) for name in self.__slots__}


def difference_rows(request: int, wanted: Filters, *, behind: int = 0) -> list[Row]:
    """Return up to 50 differences, the largest amount of money first; skip the first `behind`."""
    given = wanted.parameters(request) | {"most": PAGE_ROWS, "behind": behind}
    return select(_ROWS, given, Row)


def difference_count(request: int, wanted: Filters) -> int:
    """Return the number of differences that fit the filters."""
    return int(select_value(_COUNT, wanted.parameters(request)))


def recorded_proofs() -> list[RecordedProof]:
    """Return the newest 60 proofs, newest first."""
    return select(_PROOFS, {"most": MOST_PROOFS}, RecordedProof)


def switches() -> list[Switch]:
    """Return the newest two switches of the deciding revision, newest first."""
    return select(_SWITCHES, {}, Switch)
